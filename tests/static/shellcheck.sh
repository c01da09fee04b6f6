#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every shell script passes shellcheck.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd -P)
cd "$top"

scripts() {
	git ls-files --cached --others --exclude-standard | while read -r file; do
		[ -f "$file" ] || continue
		case $file in
		*.sh | tests/guest/boots/*) echo "$file" ;;
		*) ! head -c 64 "$file" | head -n 1 | grep -aq '^#!.*sh$' || echo "$file" ;;
		esac
	done
}

mapfile -t files < <(scripts)
[ ${#files[@]} -gt 20 ] || { echo "only ${#files[@]} scripts found"; exit 1; }
"$top/tests/static/in-tree" -- shellcheck -x "${files[@]}"
