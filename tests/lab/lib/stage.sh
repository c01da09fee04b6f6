# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Builds the project for one kernel and keeps the outcome as a stage: the files that an installation
# adds to the tree (root), and the sources with what was built from them (project).

stage_keep=6
stage_seeds="lib tools tests/guest tests/interop tests/sim tests/hca/provider"
stage_pieces="Kbuild Makefile dkms.conf kmod lib tools tests LICENSES"

stage_list_sources() {
	local pieces=() piece

	for piece in $stage_pieces; do
		[ ! -e "$lab_top/$piece" ] || pieces+=("$piece")
	done
	git -C "$lab_top" ls-files -z --cached --others --exclude-standard -- "${pieces[@]}" |
		tr '\0' '\n' | while read -r file; do
			[ ! -f "$lab_top/$file" ] || printf '%s\n' "$file"
		done | grep -v '^tests/lab/' | sort -u
}

# What does not depend on the kernel is not built again for another one: programs and libraries with
# their objects are taken from a build that is there.
stage_seed() {
	local build=$1 other piece

	[ ! -e "$build.sources" ] || return 0
	for other in "$VPEER_LAB_DIR"/build/*.sources; do
		other=${other%.sources}
		[ -d "$other" ] || continue
		exec 8>>"$other.lock"
		flock --exclusive 8
		for piece in $stage_seeds; do
			[ ! -d "$other/$piece" ] || {
				mkdir -p "$build/$piece" && cp -a "$other/$piece/." "$build/$piece"
			} || return
		done
		cp "$other.sources" "$build.sources"
		exec 8>&-
		return
	done
}

# Copies only what differs, so that make rebuilds only what changed.
stage_copy_sources() {
	local build=$1 list=$1.sources file

	stage_list_sources >"$list.new" || return 1
	if [ -f "$list" ]; then
		comm -23 "$list" "$list.new" | while read -r file; do
			rm -f "$build/$file"
		done
	fi
	while read -r file; do
		cmp --quiet "$lab_top/$file" "$build/$file" && continue
		mkdir -p "$build/$(dirname "$file")"
		cp --preserve=mode "$lab_top/$file" "$build/$file"
	done <"$list.new"
	mv "$list.new" "$list"
}

stage_hash() {
	local build=$1 kernel=$2

	{
		cat "$(kernel_dir "$kernel")/.lab-stamp" "$verbs_dir/.lab-stamp" "$interop_dir/.lab-stamp" \
			"$lab_lib/build-steps"
		(cd "$build" && xargs -r -d '\n' sha256sum <"$build.sources")
	} | lab_hash
}

stage_make() {
	local kernel=$1 build=$2 made=$3 layers=() layer

	mkdir -p "$made/root"
	while read -r layer; do
		layers+=(--layer "$layer")
	done < <(kernel_layers "$kernel")
	"$lab_lib/enter" "${layers[@]}" --upper "$made/root" --bind-to "$build" "$lab_top" \
		--bind-to "$lab_lib" /.lab --bind-to "$verbs_dir" /.verbs --cwd "$lab_top" -- \
		/.lab/build-steps "$(kernel_release "$kernel")"
	rm -rf "$made/root.work" "$made/root/.lab" "$made/root/.verbs" "$made/root/tmp" "$made/root/run"
	cp -a "$build" "$made/project"
}

# A stage that a guest runs on is locked shared by that guest.
stage_prune() {
	local old

	find "$VPEER_LAB_DIR/stage" -mindepth 1 -maxdepth 1 -type d ! -name 'tmp.*' -printf '%T@ %p\n' |
		sort -rn | tail -n +$((stage_keep + 1)) | cut -d' ' -f2- |
		while read -r old; do
			flock --nonblock --exclusive "$old" rm -rf "$old"
		done
}

# Prints the directory of the stage.
stage_setup() {
	local kernel=$1 build hash place

	build=$VPEER_LAB_DIR/build/$(kernel_release "$kernel")
	mkdir -p "$build" "$VPEER_LAB_DIR/stage"
	exec 9>>"$build.lock"
	flock --exclusive 9
	stage_seed "$build" || lab_die "cannot copy what was built to $build"
	stage_copy_sources "$build" || lab_die "cannot copy the sources to $build"
	hash=$(stage_hash "$build" "$kernel")
	place=$VPEER_LAB_DIR/stage/$kernel-$hash
	rm -rf --one-file-system "$VPEER_LAB_DIR/stage/tmp.$kernel"-*
	lab_make "$place" "$hash" "build for $kernel" stage_make "$kernel" "$build"
	touch "$place"
	stage_prune
	printf '%s\n' "$place"
}
