# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The kernels a guest can run. Each has a directory with its release name, image and initramfs,
# and, where it is not the tree's own kernel, a layer that holds its packages.

# shellcheck source=tests/lab/lib/interop.sh
. "$lab_lib/interop.sh"

kernel_names="6.1 6.12 7.3"

kernel_check_name() {
	case " $kernel_names " in
	*" $1 "*) ;;
	*) lab_bad_usage "no kernel '$1' in this lab; take one of: $kernel_names" ;;
	esac
}

kernel_dir() {
	printf '%s\n' "$VPEER_LAB_DIR/kernel/$1"
}

kernel_suite() {
	case $1 in
	6.1) echo bookworm ;;
	7.3) echo "$lab_suite-backports" ;;
	esac
}

# Prints the layers under a guest that runs kernel $1, topmost first.
kernel_layers() {
	local layer

	layer=$(kernel_dir "$1")/layer
	[ ! -d "$layer" ] || printf '%s\n' "$layer"
	printf '%s\n' "$interop_dir/layer" "$tree_dir"
}

kernel_release() {
	cat "$(kernel_dir "$1")/release"
}

kernel_hash() {
	{ tree_hash; kernel_suite "$1"; cat "$lab_lib/initramfs" "$lab_lib/initramfs-init" \
		"$lab_lib/kernel-packages"; } | lab_hash
}

kernel_sources() {
	apt_sources "$lab_suite"
	case $1 in
	*-backports) echo "deb $(apt_mirror) $1 main" ;;
	*) apt_sources "$1" ;;
	esac
}

kernel_install() {
	local kernel=$1 made=$2 suite

	apt_prepare_machine
	suite=$(kernel_suite "$kernel")
	kernel_sources "$suite" >"$VPEER_LAB_DIR/cache/sources.list"
	"$lab_lib/enter" --layer "$tree_dir" --upper "$made/layer" --bind-to "$lab_lib" /.lab \
		--bind-to "$VPEER_LAB_DIR/cache/sources.list" /etc/apt/sources.list \
		--bind /etc/resolv.conf -- /.lab/kernel-packages "$kernel" "$suite"
	rm -rf "$made/layer.work"
}

kernel_make() {
	local kernel=$1 made=$2 layer=()

	mkdir -p "$made"
	if [ -n "$(kernel_suite "$kernel")" ]; then
		kernel_install "$kernel" "$made"
		layer=(--layer "$made/layer")
	fi
	"$lab_lib/enter" "${layer[@]}" --layer "$tree_dir" --bind-to "$lab_lib" /.lab \
		--bind-to "$made" /made -- /.lab/initramfs "$kernel" /made
}

kernel_setup() {
	lab_make_once "kernel-$1" "$(kernel_dir "$1")" "$(kernel_hash "$1")" "kernel $1" kernel_make "$1"
}
