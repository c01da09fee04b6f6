#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each function that the library exports has a manual page, which is made from its description in the
# header; a description that lacks something is refused. mandoc finds nothing in any page, and finds
# what is wrong with a broken one.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)

grep -qx usr/share/man/man3 "$top/debian/libvpeer-dev.install" ||
	{ echo "debian/libvpeer-dev.install: has no usr/share/man/man3"; exit 1; }

# shellcheck disable=SC2016 # for the tree's shell
"$top/tests/static/in-tree" -- bash -euc '
	shopt -s extglob
	status=0
	headers=(lib/vpeer.h lib/vpeer_reg.h kmod/uapi/vpeer_ioctl.h)

	complain() {
		echo "$*"
		status=1
	}

	exported() {
		sed -n "s/^\t\t\(vpeer_[a-z_0-9]*\);$/\1/p" lib/libvpeer.map | sort -u
	}

	# What "referenced manual not found" is about is looked for here: the tree holds no pages.
	lint() {
		mandoc -T lint "$@" | grep -v "referenced manual not found"
	}

	mkdir /tmp/pages
	lib/man/generate --date "November 30, 2026" /tmp/pages "${headers[@]}" || exit
	cp lib/man/libvpeer.3 /tmp/pages
	[ "$(exported | wc -l)" -gt 60 ] || complain "lib/libvpeer.map: functions not found"
	described=$(lib/man/generate --names "${headers[@]}" | sort)
	for name in $(comm -23 <(exported) <(echo "$described")); do
		complain "$name: exported by lib/libvpeer.map, but without a page"
	done
	for name in $(comm -13 <(exported) <(echo "$described")); do
		case $name in
		vpeer_reasons|vpeer_types) ;;
		*) complain "$name: has a page, but is not exported by lib/libvpeer.map" ;;
		esac
	done
	for name in $described; do
		grep -qx "\.Nm $name" "/tmp/pages/$name.3" || complain "$name.3: is not of $name"
	done
	for name in $(sed -n "s/^\.\(Pf [(\"]* \)*Xr \(l*i*b*vpeer[a-z_0-9]*\) 3.*/\2/p" /tmp/pages/*.3 lib/man/*.7 tools/man/*.[178] |
		sort -u); do
		[ -f "/tmp/pages/$name.3" ] || complain "$name(3): is referred to, but is not there"
	done

	! lint /tmp/pages/*.3 || complain "^ what mandoc finds in pages of lib/man"
	! lint -W warning tools/man/*.[178] lib/man/*.7 || complain "^ what mandoc finds in pages of section 7, or of tools/man"
	sed "s/^\.El$//" /tmp/pages/vpeer_open.3 >/tmp/vpeer_open.3
	lint -W warning /tmp/vpeer_open.3 >/dev/null || complain "mandoc finds nothing in a broken page"

	# usage: refused SED-EXPRESSION WORDS (about lib/vpeer.h once it is changed so)
	refused() {
		local said

		sed "$1" lib/vpeer.h >/tmp/vpeer.h
		! said=$(lib/man/generate --names /tmp/vpeer.h "${headers[@]:1}" 2>&1 >/dev/null) ||
			complain "not refused: $1"
		[ "$said" = "$2" ] || complain "$1 gives: $said"
	}

	begin="/^ \* vpeer_open() - /,/^VPEER_EXPORT/"
	refused "$begin{/^ \* @error/d}" "vpeer_open(): @error is not described"
	refused "$begin{s/@name:/@names:/}" "vpeer_open(): has no @names, which is described
vpeer_open(): @name is not described"
	refused "$begin{s/Return:/Gives:/}" "vpeer_open(): what it returns is not described"
	refused "/^ \* vpeer_fd() - /s/ - .*//" "vpeer_fd(): is described as: vpeer_fd()"
	refused "s/^VPEER_EXPORT int vpeer_fd(/VPEER_EXPORT int vpeer_one(void);\n&/" "vpeer_one(): is described as: vpeer_fd() - descriptor of an open aperture, to pass on or to poll
vpeer_one(): has no @aperture, which is described
vpeer_fd(): is not described"
	refused "/^ \* @granule:/d" "struct vpeer_entry: @granule is not described"
	exit $status
'
