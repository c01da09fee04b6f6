#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The kernel's style checker finds nothing in modules, library, tool and guest cases. Debian ships it
# in linux-source only; it is taken from there once and kept in the lab's cache.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd -P)
. "$top/tests/lab/lib/common.sh"

cache=$VPEER_LAB_DIR/cache/checkpatch

# The interface's header cannot use kernel macros, compat code needs typedefs, and tables of comments
# are wide. User space has no kernel helpers to prefer.
ignored=BIT_MACRO,FILE_PATH_CHANGES,LONG_LINE_COMMENT,MACRO_ARG_REUSE,NEW_TYPEDEFS,OPEN_ENDED_LINE
userspace=$ignored,AVOID_BUG,AVOID_EXTERNS,CAMELCASE,COMPARISON_TO_NULL,COMPLEX_MACRO
userspace=$userspace,EMBEDDED_FUNCTION_NAME,LINE_SPACING,MACRO_WITH_FLOW_CONTROL,NAKED_SSCANF
userspace=$userspace,PREFER_DEFINED_ATTRIBUTE_MACRO,QUOTED_WHITESPACE_BEFORE_NEWLINE,SPLIT_STRING
userspace=$userspace,SSCANF_TO_KSTRTO,VOLATILE,PREFER_KERNEL_TYPES,STRCPY,ARRAY_SIZE
userspace=$userspace,MACRO_ARG_PRECEDENCE,ENOSYS

# usage: download DIR [update]
download() {
	[ "${2-}" != update ] || apt-get --quiet update
	cd "$1"
	apt-get --option APT::Sandbox::User=root download linux-source-6.12 ||
		apt-get --option APT::Sandbox::User=root download linux-source-6.1
}

fetch() {
	local work=$cache.new

	rm -rf "$work"
	mkdir -p "$work"
	(download "$work") || (download "$work" update)
	"$top/tests/static/in-tree" --bind-to "$top" "$top" --bind-to "$work" /made -- sh -ec '
		cd /made
		dpkg-deb --fsys-tarfile linux-source*.deb |
			tar -xf - --wildcards -O "./usr/src/linux-source-*.tar.xz" |
			tar -xJf - --wildcards --strip-components=2 "*/scripts/checkpatch.pl" \
				"*/scripts/spelling.txt" "*/scripts/const_structs.checkpatch"
		rm linux-source*.deb
		test -f checkpatch.pl'
	# It wants to look for names there.
	mkdir "$work/include"
	mv -T "$work" "$cache"
}

files() {
	git ls-files --cached --others --exclude-standard "$@" | grep -E '\.[ch]$'
}

check() {
	local ignore=$1

	shift
	# It leaves a cache in the directory that it runs in.
	"$top/tests/static/in-tree" --bind-to "$top" "$top" --bind-to "$cache" /checkpatch -- \
		sh -c 'cd /tmp && printf "$0/%s\n" "$@" | xargs -P "$(nproc)" -n 8 \
			perl /checkpatch/checkpatch.pl --no-tree --root=/checkpatch --strict --terse --no-summary \
			--show-types --max-line-length=100 --ignore '"$ignore"' -f' "$top" "$@"
}

cd "$top"
[ -d "$cache/include" ] || fetch
mapfile -t kernel < <(files kmod tests/neighbour tests/fail_alloc ':(glob)tests/hca/*' tests/hca/compat |
	grep -v '^kmod/trace.h$')
mapfile -t user < <(files lib tools tests | grep -Ev '^tests/((neighbour|fail_alloc)/|hca/compat/|hca/[^/]+$)')
if [ ${#kernel[@]} -lt 15 ] || [ ${#user[@]} -lt 30 ]; then
	echo "too few files found"
	exit 1
fi
status=0
check "$ignored" "${kernel[@]}" || status=1
check "$userspace" "${user[@]}" || status=1
exit $status
