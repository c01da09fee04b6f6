# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash source-path=SCRIPTDIR/../lab/lib
# Debian packages of this project, and the systems that they are installed on: each is a layer over a
# minimal Debian tree. What a test changes goes to a layer of its own, so that all of it can be kept.

. "$lab_lib/apt.sh"
. "$lab_lib/packages.sh"
. "$lab_lib/tree.sh"
. "$lab_lib/pristine.sh"

packages_dir=$VPEER_LAB_DIR/packages
packages_here=$lab_top/tests/packages
packages_keep=6

packages_version() {
	sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$lab_top/dkms.conf"
}

packages_next_version() {
	packages_version | awk -F. '{ print $1 "." $2 "." $3 + 1 }'
}

# usage: packages_make_layer SUITE MADE [LAYER]... -- SCRIPT ARGUMENT... (a script of this directory)
packages_make_layer() {
	local suite=$1 made=$2 layers=()

	shift 2
	mkdir -p "$made"
	while [ "$1" != -- ]; do
		layers+=(--layer "$1")
		shift
	done
	shift
	"$lab_lib/enter" "${layers[@]}" --layer "$(pristine_dir "$suite")" --upper "$made/layer" \
		--bind-to "$packages_here" /packages --bind-to "$lab_top/debian" /tmp/source/debian \
		--bind /etc/resolv.conf -- "/packages/$1" "${@:2}" || return
	rm -rf "$made/layer.work"
}

# Makes $packages_dir/NAME by COMMAND DIR unless it is there, and keeps it from being replaced as long
# as this shell lives. COMMAND runs without set -e. usage: packages_setup NAME HASH COMMAND...
packages_setup() {
	local name=$1 hash=$2

	shift 2
	lab_lock_to_make "packages-$name" "$packages_dir/$name" "$hash" || return 0
	(lab_make "$packages_dir/$name" "$hash" "packages $name" "$@") || return
	lab_lock_made "packages-$name"
}

# A system that builds: the minimal tree and what Build-Depends names.
builder_hash() {
	{
		pristine_hash "$1"
		cat "$packages_here/build-depends"
		sed -n '/^Build-Depends:/,/^[^ ]/p' "$lab_top/debian/control"
	} | lab_hash
}

builder_make() {
	packages_make_layer "$1" "$2" -- build-depends
}

builder_setup() {
	pristine_setup "$1" &&
		packages_setup "builder-$1" "$(builder_hash "$1")" builder_make "$1"
}

# What goes into the packages.
debs_files() {
	project_files | grep -E '^(debian|kmod|lib|tools|tests/unit)/|^tests/static/version.sh$|^[^./][^/]*$'
}

debs_hash() {
	{
		echo "$*"
		builder_hash "$1"
		debs_files | (cd "$lab_top" && xargs -d '\n' sha256sum)
	} | lab_hash
}

# usage: debs_make SUITE VERSION DIR (another version than dkms.conf's is written into the sources)
debs_make() {
	local suite=$1 version=$2 made=$3 old

	old=$(packages_version)
	mkdir -p "$made/vpeer"
	project_copy "$made/vpeer" || return
	(cd "$made/vpeer" && sed -i "s/\\b${old//./\\.}\\b/$version/" \
		dkms.conf kmod/vpeer.h tools/commands.h debian/changelog) || return
	"$lab_lib/enter" --layer "$packages_dir/builder-$suite/layer" --layer "$(pristine_dir "$suite")" \
		--bind-to "$made" /build --cwd /build/vpeer -- dpkg-buildpackage -us -uc || return
	rm -rf "$made/vpeer"
}

# usage: debs_setup SUITE VERSION (prints the directory of the packages)
debs_setup() {
	local hash name

	hash=$(debs_hash "$@")
	name=debs-$1-$2-$hash
	builder_setup "$1" && packages_setup "$name" "$hash" debs_make "$1" "$2" || return
	touch "$packages_dir/$name"
	debs_prune
	printf '%s\n' "$packages_dir/$name"
}

debs_prune() {
	find "$packages_dir" -mindepth 1 -maxdepth 1 -type d -name 'debs-*' -printf '%T@ %p\n' |
		sort -rn | tail -n +$((packages_keep + 1)) | cut -d' ' -f2- |
		while read -r old; do
			rm -rf --one-file-system "$old" "$VPEER_LAB_DIR/lock.packages-${old##*/}"{,.make}
		done
}

# What other packages must be there, as the packages themselves say.
debs_depends() {
	local deb

	for deb in "$1"/*.deb; do
		dpkg-deb --field "$deb" Depends
	done | tr ',' '\n' | sed 's/^ *//' | grep -v vpeer | sort -u | paste -sd,
}

# A system that the packages are installed on: kernel, headers, and what the packages depend on.
# usage: machine_hash SUITE DEPENDS [backports]
machine_hash() {
	{
		echo "$*"
		pristine_hash "$1"
		cat "$packages_here/machine-packages" "$lab_lib/initramfs" "$lab_lib/initramfs-init"
	} | lab_hash
}

machine_make() {
	local suite=$1 depends=$2 made=$3

	packages_make_layer "$suite" "$made" -- machine-packages "$suite" '' "$depends" &&
		machine_boot "$suite" "$made"
}

machine_make_backports() {
	local suite=$1 below=$2 made=$3

	packages_make_layer "$suite" "$made" "$below/layer" -- machine-packages "$suite" \
		"$(apt_mirror)" &&
		machine_boot "$suite" "$made" "$below/layer"
}

# Kernel image and initramfs, for a guest whose root the machine is.
machine_boot() {
	local suite=$1 made=$2 release layers=(--layer "$2/layer")

	[ -z "${3-}" ] || layers+=(--layer "$3")
	for release in "$made"/layer/usr/lib/modules/*; do
		release=${release##*/}
		[ -d "$made/layer/usr/lib/modules/$release/kernel" ] || continue
		mkdir -p "$made/boot/$release"
		"$lab_lib/enter" "${layers[@]}" --layer "$(pristine_dir "$suite")" \
			--bind-to "$lab_lib" /.lab --bind-to "$made/boot/$release" /made -- \
			/.lab/initramfs "$(cut -d. -f1-2 <<<"$release")" /made || return
	done
}

# usage: machine_setup SUITE DEPENDS yes|no (with the kernels of backports); sets machine_layers, topmost
# first, and machine_kernels, the directories of the kernels to boot
machine_setup() {
	local suite=$1 depends=$2 place=$packages_dir/machine-$1

	pristine_setup "$suite" && packages_setup "machine-$suite" "$(machine_hash "$suite" "$depends")" \
		machine_make "$suite" "$depends" || return
	machine_layers=("$place/layer" "$(pristine_dir "$suite")")
	machine_kernels=("$place"/boot/*)
	[ "$3" = yes ] || return 0
	packages_setup "machine-$suite-backports" "$(machine_hash "$suite" "$depends" backports)" \
		machine_make_backports "$suite" "$place" || return
	machine_layers=("$place-backports/layer" "${machine_layers[@]}")
	machine_kernels+=("$place-backports"/boot/*)
}
