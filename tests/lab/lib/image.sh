# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The system of a guest that gets its devices by VFIO: a Debian with its own kernels and headers, on
# which vpeer's packages were installed as on any machine.

# shellcheck source=tests/packages/lib.sh
. "$lab_top/tests/packages/lib.sh"

image_suite=trixie
# What image_setup finds: layers, topmost first, and the kernel's boot files.
image_layers=() image_boot=''

image_packages() {
	packages_guest | xargs -n 1 | grep -v '^linux-'
}

# usage: image_make_base DIR
image_make_base() {
	local packages

	mapfile -t packages < <(image_packages)
	image_enter "$1" "${machine_layers[@]}" --bind /etc/resolv.conf -- \
		/.lab/image-packages "${packages[@]}"
}

# usage: image_make_vpeer DEBS LAYER DIR
image_make_vpeer() {
	image_enter "$3" "$2" "${machine_layers[@]}" --bind-to "$1" /debs -- /.lab/image-vpeer &&
		image_make_boot "$3" "$3/layer" "$2" "${machine_layers[@]}"
}

# Its kernels, whose initramfs hold what a guest reads first. usage: image_make_boot DIR LAYER...
image_make_boot() {
	local made=$1 kernel boot layers=() layer

	shift
	for layer; do
		layers+=(--layer "$layer")
	done
	mkdir -p "$made/boot"
	image_preload "$made/boot" programs || return
	for kernel in "${machine_kernels[@]}"; do
		boot=$made/boot/${kernel##*/}
		mkdir -p "$boot"
		cp "$kernel"/{release,vmlinuz,initramfs} "$boot"
		image_preload "$boot" modules "${kernel##*/}" || return
		cat "$made/boot/programs" "$boot/modules" >>"$boot/initramfs"
		rm "$boot/modules"
	done
	rm "$made/boot/programs"
}

# Writes DIR/WHAT, with image_make_boot's layers. usage: image_preload DIR WHAT [RELEASE]
image_preload() {
	"$lab_lib/enter" "${layers[@]}" --bind-to "$lab_lib" /.lab --bind-to "$1" /made -- \
		/.lab/image-preload "$2" "/made/$2" "${@:3}"
}

# usage: image_enter DIR LAYER... -OPTION... (runs in the layers; what changes goes to DIR/layer)
image_enter() {
	local made=$1 layers=()

	shift
	while [[ $1 != -* ]]; do
		layers+=(--layer "$1")
		shift
	done
	mkdir -p "$made"
	"$lab_lib/enter" "${layers[@]}" --upper "$made/layer" --bind-to "$lab_lib" /.lab "$@" || return
	rm -rf "$made/layer.work"
}

# usage: image_setup KERNEL-SERIES
image_setup() {
	local debs depends base vpeer name

	debs=$(debs_setup "$image_suite" "$(packages_version)") || return
	depends=$(debs_depends "$debs")
	machine_setup "$image_suite" "$depends" yes || return
	base=$({ machine_hash "$image_suite" "$depends"; machine_hash "$image_suite" "$depends" backports
		image_packages; cat "$lab_lib/image-packages"; } | lab_hash)
	packages_setup image-base "$base" image_make_base || return
	vpeer=$({ echo "$base" "$debs"; cat "$lab_lib"/image-{vpeer,preload}; } | lab_hash)
	packages_setup image "$vpeer" image_make_vpeer "$debs" "$packages_dir/image-base/layer" || return
	# shellcheck disable=SC2034 # used by tests/lab/run
	image_layers=("$packages_dir/image/layer" "$packages_dir/image-base/layer" "${machine_layers[@]}")
	for name in "$packages_dir"/image/boot/*; do
		[[ ${name##*/} != "$1".* ]] || image_boot=$name
	done
	[ -n "$image_boot" ] || lab_die "the image has no kernel $1"
}
