# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What a libibverbs provider is built with and Debian's packages leave out: headers of rdma-core, from
# the source of the version that the tree has. A provider fits this version only.

verbs_dir=$VPEER_LAB_DIR/verbs

verbs_version() {
	# shellcheck disable=SC2016 # a field of dpkg-query's
	dpkg-query --admindir="$tree_dir/var/lib/dpkg" --showformat='${source:Version}\n' --show libibverbs1
}

verbs_hash() {
	{ verbs_version; cat "$lab_lib/verbs-headers"; } | lab_hash
}

verbs_make() {
	local made=$1 sources=$VPEER_LAB_DIR/cache/sources.list

	apt_prepare_machine
	mkdir -p "$made"
	apt_sources "$lab_suite" | sed 's/^deb /deb-src /' >"$sources"
	"$lab_lib/enter" --layer "$tree_dir" --bind-to "$lab_lib" /.lab --bind-to "$made" /made \
		--bind-to "$sources" /etc/apt/sources.list --bind /etc/resolv.conf -- \
		/.lab/verbs-headers "$(verbs_version)" /made
}

verbs_setup() {
	lab_make_once verbs "$verbs_dir" "$(verbs_hash)" "headers of rdma-core" verbs_make
}
