#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every file names its licence, and the text of each licence that is named lies in LICENSES.
set -eu

cd "$(dirname "$0")/../.."
status=0

# Files that cannot hold a comment, or are the texts themselves.
exempt() {
	case $1 in
	LICENSES/* | README.md | *.expected | *.json | .gitignore | */.gitignore) return 0 ;;
	debian/changelog | debian/copyright | debian/source/format) return 0 ;;
	debian/*.dkms | debian/*.docs | debian/*.examples | debian/*.install) return 0 ;;
	esac
	return 1
}

while read -r file; do
	if [ ! -f "$file" ] || exempt "$file"; then
		continue
	fi
	if ! head -n 5 "$file" | grep -aq 'SPDX-License-Identifier: '; then
		echo "$file: no SPDX-License-Identifier in its first lines"
		status=1
	fi
done < <(git ls-files --cached --others --exclude-standard)

names() {
	git grep -hoE 'SPDX-License-Identifier: [^*"]*' | sed 's/SPDX-License-Identifier: //; s/[()]//g' |
		sed -E 's/ (OR|AND|WITH) /\n/g; s/ *$//' | grep -E '^[A-Za-z0-9.-]+$' | sort -u
}

for name in $(names); do
	if [ ! -f "LICENSES/$name" ] && [ ! -f "LICENSES/$name.txt" ]; then
		echo "LICENSES/$name.txt is missing"
		status=1
	fi
done
exit $status
