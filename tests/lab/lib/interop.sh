# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Communication libraries of others, as Debian builds them: a layer over the lab's tree, so that guests
# and builds have them in their own places. Packages are unpacked, not installed: what they depend on for
# AMD's GPUs is 230 MB that nothing here loads.

interop_dir=$VPEER_LAB_DIR/interop

interop_packages() {
	cat <<-'END'
		libucx0 libucx-dev libibmad5
		libfabric1 libfabric-dev libpsm2-2 libnuma1
		libopenmpi40 libopenmpi-dev openmpi-bin openmpi-common libpmix2t64 libpmix-dev libmunge2
		libhwloc15 libevent-core-2.1-7t64 libevent-pthreads-2.1-7t64
	END
}

# For the same tree as the kernels are.
interop_hash() {
	{ tree_hash; interop_packages; cat "$lab_lib/interop-packages"; } | lab_hash
}

interop_make() {
	local made=$1 sources=$VPEER_LAB_DIR/cache/sources.interop packages

	apt_prepare_machine
	mkdir -p "$made/layer"
	apt_sources "$lab_suite" >"$sources"
	mapfile -t packages < <(interop_packages | xargs -n 1)
	"$lab_lib/enter" --layer "$tree_dir" --bind-to "$lab_lib" /.lab --bind-to "$made/layer" /made \
		--bind-to "$sources" /etc/apt/sources.list --bind /etc/resolv.conf -- \
		/.lab/interop-packages /made "${packages[@]}"
}

interop_setup() {
	lab_make_once interop "$interop_dir" "$(interop_hash)" "libraries of others" interop_make
}
