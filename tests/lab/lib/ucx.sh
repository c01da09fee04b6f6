# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# UCX, as the tree's suite has it, for a comparison: unpacked beside the tree, not installed, since its
# -dev package depends on a whole compiler for another maker's accelerators.

ucx_dir=$VPEER_LAB_DIR/ucx

# A mirror has one version of a suite's package, and may have a newer one; it is fetched once.
ucx_hash() {
	{ echo "$lab_suite"; cat "$lab_lib/ucx-packages"; } | lab_hash
}

ucx_make() {
	local made=$1 sources=$VPEER_LAB_DIR/cache/ucx.list

	apt_prepare_machine
	mkdir -p "$made"
	apt_sources "$lab_suite" >"$sources"
	"$lab_lib/enter" --layer "$tree_dir" --bind-to "$lab_lib" /.lab --bind-to "$made" /made \
		--bind-to "$sources" /etc/apt/sources.list --bind /etc/resolv.conf -- \
		/.lab/ucx-packages /made
}

ucx_setup() {
	lab_make_once ucx "$ucx_dir" "$(ucx_hash)" "UCX" ucx_make
}
