#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The kernel's style checker finds nothing in module, library, tool and guest cases. Debian ships it
# in linux-source only; it is taken from there once and kept in the lab's cache.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$top/tests/lab/lib/common.sh"

cache=$VPEER_LAB_DIR/cache/checkpatch

# Style that the project has otherwise: SPDX dual licences of user space, lines up to 100, macros
# that define cases or declare by list.
ignored=LINUX_VERSION_CODE,FILE_PATH_CHANGES,SPDX_LICENSE_TAG,EMBEDDED_FILENAME
userspace=$ignored,PREFER_DEFINED_ATTRIBUTE_MACRO,MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE,VOLATILE
userspace=$userspace,PREFER_KERNEL_TYPES,AVOID_EXTERNS,NEW_TYPEDEFS,STRCPY,SSCANF_TO_KSTRTO
userspace=$userspace,CONSTANT_COMPARISON,CONST_STRUCT,ENOSYS,MSLEEP,USLEEP_RANGE,PREFER_FALLTHROUGH
userspace=$userspace,STATIC_CONST_CHAR_ARRAY,COMPLEX_MACRO,ARRAY_SIZE,CAMELCASE,LINE_SPACING
userspace=$userspace,MACRO_WITH_FLOW_CONTROL,AVOID_BUG,C99_COMMENT_TOLERANCE,PRINTK_WITHOUT_KERN_LEVEL

fetch() {
	local work=$cache.new

	rm -rf "$work"
	mkdir -p "$work"
	(
		cd "$work"
		apt-get download linux-source-6.12 || apt-get download linux-source
		dpkg-deb --fsys-tarfile linux-source*.deb |
			tar -xf - --wildcards -O './usr/src/linux-source-*.tar.xz' |
			tar -xJf - --wildcards --strip-components=2 '*/scripts/checkpatch.pl' \
				'*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
		rm -f linux-source*.deb
	)
	mv -T "$work" "$cache"
}

files() {
	git ls-files --cached --others --exclude-standard "$@" | grep -E '\.[ch]$'
}

check() {
	local ignore=$1

	shift
	"$top/tests/static/in-tree" --bind-to "$top" "$top" --bind-to "$cache" /checkpatch -- \
		perl /checkpatch/checkpatch.pl --no-tree --strict --terse --no-summary \
		--show-types --max-line-length=100 --ignore "$ignore" -f "$@"
}

cd "$top"
[ -f "$cache/checkpatch.pl" ] || fetch
mapfile -t kernel < <(files kmod | grep -v '^kmod/trace.h$')
mapfile -t user < <(files lib tools tests)
if [ ${#kernel[@]} -lt 15 ] || [ ${#user[@]} -lt 30 ]; then
	echo "too few files found"
	exit 1
fi
status=0
check "$ignored" "${kernel[@]}" || status=1
check "$userspace" "${user[@]}" || status=1
exit $status
