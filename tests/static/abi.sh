#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The library has the ABI that is recorded in lib/abi: functions, their types, and constants of the
# headers. Changes that break programs, and only those and additions, are told.
# usage: abi.sh [--record] (writes what the library has now; "make abi")
set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)

# shellcheck disable=SC2016 # for the tree's shell
"$top/tests/static/in-tree" -- bash -euc '
	project=$PWD
	recorded=$project/lib/abi/libvpeer.abi
	options=(--headers-dir /tmp/headers --drop-private-types --suppressions "$project/lib/abi/ignore"
		--exported-interfaces-only --no-load-undefined-interfaces --drop-undefined-syms
		--no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed --no-write-default-sizes)

	# usage: copy DIR
	copy() {
		mkdir "$1"
		cp -r dkms.conf kmod lib "$1"
		rm -rf "$1/lib/build"
	}

	# usage: describe DIR FILE (the ABI of the library that is built in DIR)
	describe() {
		rm -rf /tmp/headers
		mkdir /tmp/headers
		cp "$1/lib/vpeer.h" "$1/lib/vpeer_reg.h" "$1/kmod/uapi/vpeer_ioctl.h" /tmp/headers
		make -C "$1/lib" CFLAGS="-Og -g" -j"$(nproc)" build/libvpeer.so.1 >/tmp/log 2>&1 ||
			{ tail /tmp/log; exit 1; }
		abidw "${options[@]}" --out-file "$2" "$1/lib/build/libvpeer.so.1"
	}

	# usage: constants DIR
	constants() {
		lib/abi/constants "$1/lib/vpeer.h" "$1/lib/vpeer_reg.h" "$1/kmod/uapi/vpeer_ioctl.h"
	}

	copy /tmp/now
	describe /tmp/now /tmp/now.abi
	constants /tmp/now >/tmp/now.constants
	if [ "$1" = --record ]; then
		licence="SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause"
		sed "1a <!-- $licence -->" /tmp/now.abi >"$recorded"
		{ echo "# $licence"; cat /tmp/now.constants; } >lib/abi/libvpeer.constants
		exit
	fi

	status=0
	abidiff "$recorded" /tmp/now.abi || status=1
	diff <(sed "/^#/d" lib/abi/libvpeer.constants) /tmp/now.constants || status=1
	[ $status -eq 0 ] ||
		echo "lib/abi is of another library; if programs that were built with that run with this" \
			"one, record it by \"make abi\""

	complain() {
		echo "$*"
		status=1
	}

	# usage: tells WORDS SED-EXPRESSION FILE... (the difference once the files are changed so)
	tells() {
		local words=$1 change=$2 said

		shift 2
		rm -rf /tmp/other
		cp -r /tmp/now /tmp/other
		(cd /tmp/other && sed -i "$change" "$@")
		describe /tmp/other /tmp/other.abi
		! said=$(abidiff "$recorded" /tmp/other.abi) || complain "nothing is told of: $change"
		grep -q "$words" <<<"$said" || complain "not told: $words"
	}

	tells "\[D\].*vpeer_fd" "/^\t\tvpeer_fd;/d" lib/libvpeer.map
	tells "struct vpeer_memory_info" "/^struct vpeer_memory_info/,/^}/s/reserved\[4\]/reserved[5]/" lib/vpeer_reg.h
	tells "vpeer_window_unmap" "s/\(vpeer_window_unmap(void \*address,\) size_t/\1 unsigned int/" \
		lib/vpeer.h lib/window.c
	rm -rf /tmp/other
	cp -r /tmp/now /tmp/other
	sed -i "s/^\tbool threaded;/\tbool threaded, more;/" /tmp/other/lib/context.h
	describe /tmp/other /tmp/other.abi
	abidiff /tmp/now.abi /tmp/other.abi || complain "^ told of a structure that programs do not see"
	sed -i "s/\(VPEER_ROUTE_STAGING\) = 4/\1 = 5/" /tmp/other/lib/vpeer_reg.h
	[ "$(constants /tmp/other | diff /tmp/now.constants - | grep -c "VPEER_ROUTE_STAGING [45]")" -eq 2 ] ||
		complain "nothing is told of a constant that is another number"
	exit $status
' bash "${1-}"
