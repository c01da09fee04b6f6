#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each function that the library exports has a manual page with its prototype, and no page describes
# one that it does not export.
set -eu

cd "$(dirname "$0")/../.."
status=0

complain() {
	echo "$*"
	status=1
}

exported() {
	sed -n 's/^\t\t\(vpeer_[a-z_]*\);$/\1/p' lib/libvpeer.map | sort -u
}

# usage: section NAME FILE
section() {
	sed -n "/^\.Sh $1\$/,/^\.Sh /p" "$2"
}

described() {
	local page

	for page in lib/man/*.3; do
		section NAME "$page" | sed -n 's/^\.Nm \([a-z_]*\).*/\1/p'
	done
}

[ "$(exported | wc -l)" -gt 20 ] || complain "lib/libvpeer.map: functions not found"
for name in $(comm -23 <(exported) <(described | sort)); do
	complain "$name: exported by lib/libvpeer.map, but no .Nm of a page in lib/man"
done
for name in $(comm -13 <(exported) <(described | sort -u)); do
	[ "$name" = libvpeer ] || complain "$name: in lib/man, but not exported by lib/libvpeer.map"
done
for name in $(described | sort | uniq -d); do
	complain "$name: in more than one page of lib/man"
done

grep -qx usr/share/man/man3 debian/libvpeer-dev.install ||
	complain "debian/libvpeer-dev.install: has no usr/share/man/man3"

# usage: words TEXT (of a declaration, without what differs between header and page)
words() {
	tr -s ' "\t\n' ' ' <<<"$1" | sed 's/ *\([(),*]\) */\1/g; s/^ //; s/ $//'
}

prototype_in_header() {
	grep -v '^#define' lib/vpeer.h | tr '\n' ' ' | grep -o "VPEER_EXPORT [^;]*\<$1([^;]*;" |
		sed 's/^VPEER_EXPORT //; s/;$//' | tr -s '\t ' ' '
}

# usage: prototype_in_page NAME FILE (from ".Ft int" and ".Fn name "type one" "type two"")
prototype_in_page() {
	section SYNOPSIS "$2" | awk -v name="$1" '
		/^\.Ft / { type = substr($0, 5) }
		/^\.Fn / && $2 == name {
			sub(/^\.Fn [a-z_0-9]* */, "")
			gsub(/" "/, ", ")
			gsub(/"/, "")
			print type " " name "(" $0 ")"
		}'
}

for page in lib/man/*.3; do
	for name in $(section NAME "$page" | sed -n 's/^\.Nm \(vpeer_[a-z_]*\).*/\1/p'); do
		header=$(words "$(prototype_in_header "$name")")
		manual=$(words "$(prototype_in_page "$name" "$page")")
		[ "$header" = "$manual" ] || complain "$page: '$manual', but '$header' in lib/vpeer.h"
	done
done
exit $status
