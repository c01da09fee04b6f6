#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What lies where: agreed entries at the top, a README of readable length, no path of some machine
# and no registry's host in any file, no leftovers.
set -eu

cd "$(dirname "$0")/../.."
status=0

complain() {
	echo "$*"
	status=1
}

tracked() {
	git ls-files --cached --others --exclude-standard
}

for entry in $(tracked | cut -d/ -f1 | sort -u); do
	case $entry in
	.* | Kbuild | Makefile | dkms.conf | README.md | LICENSES) ;;
	kmod | lib | tools | tests | debian) ;;
	*) complain "$entry: not one of the entries agreed on for the top level" ;;
	esac
done

for file in README.md .clang-format .gitignore dkms.conf; do
	[ -f "$file" ] || complain "$file is missing"
done
[ ! -f README.md ] || [ "$(wc -l <README.md)" -lt 200 ] || complain "README.md has 200 lines or more"

# usage: none PATTERN WHAT [PATHSPEC]... (this file holds the patterns)
none() {
	local pattern=$1 what=$2 found

	shift 2
	found=$(git grep -nIE --untracked -e "$pattern" -- "$@" ':!tests/static/tree.sh' || :)
	[ -z "$found" ] || complain "$what:
$found"
}

none '/(home|Users)/[a-z]|/work/|/mnt/data' "path of some machine"
none 'deb\.debian\.org|debian\.org/debian|pypi\.org|registry\.npmjs|proxy\.golang|crates\.io' \
	"host of a registry"
none '\<(TODO|FIXME|XXX|HACK)\>' "unfinished work"
none '[[:space:]]+$' "white space at the end of a line" ':!*.md' ':!*.patch'
none '^(<<<<<<<|>>>>>>>)' "merge conflict"

large=$(tracked | while read -r file; do
	[ ! -f "$file" ] || [ "$(stat -c %s "$file")" -lt 131072 ] || echo "$file"
done)
[ -z "$large" ] || complain "files of 128 KiB or more: $large"
exit $status
