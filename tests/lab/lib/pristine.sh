# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Minimal Debian trees, and the project as it is in the work tree, for what must not depend on the lab.

pristine_dir() {
	printf '%s\n' "$VPEER_LAB_DIR/fresh/$1"
}

pristine_make() {
	apt_sources "$1" | apt_make_tree \
		--aptopt='APT::Install-Recommends "false"' --include=git,make,ca-certificates \
		"$1" "$2" -
}

pristine_hash() {
	{ echo "$1"; declare -f pristine_make; } | lab_hash
}

pristine_setup() (
	place=$(pristine_dir "$1") hash=$(pristine_hash "$1")
	exec 9>>"$VPEER_LAB_DIR/fresh.lock"
	flock 9
	lab_is_current "$place" "$hash" && return
	apt_prepare_machine
	lab_make "$place" "$hash" "minimal $1 tree" pristine_make "$1"
)

# Prints the project's files: tracked ones, and new ones that are not ignored.
project_files() {
	git -C "$lab_top" ls-files -z --cached --others --exclude-standard | tr '\0' '\n' |
		while read -r file; do
			[ ! -f "$lab_top/$file" ] || printf '%s\n' "$file"
		done
}

# usage: project_copy DIR
project_copy() {
	project_files | tar -C "$lab_top" -cf - -T - | tar -C "$1" -xf -
}
