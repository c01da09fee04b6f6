#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The examples of the library build without warnings against what is installed, as C and by pkg-config
# alone, with the shared and the static library, and say what is wrong when there is no device. The
# header is fit for C++ too.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)

# shellcheck disable=SC2016 # for the tree's shell
"$top/tests/static/in-tree" -- bash -euc '
	mkdir /tmp/project
	cp -r Makefile dkms.conf kmod lib /tmp/project
	cd /tmp/project
	rm -rf lib/build lib/examples/build
	make -C lib install CFLAGS=-O0 LDFLAGS= DESTDIR=/tmp/out PREFIX=/usr -j"$(nproc)" >/dev/null
	pkgconfig=$(echo /tmp/out/usr/lib/*/pkgconfig)
	export PKG_CONFIG_PATH=$pkgconfig PKG_CONFIG_SYSROOT_DIR=/tmp/out LD_LIBRARY_PATH=${pkgconfig%/*}

	# Those for MPI are built and run where there is one, by cases of guests.
	mapfile -t examples < <(grep -L "<mpi.h>" lib/examples/*.c)
	[ ${#examples[@]} -ge 6 ] || { echo "only ${#examples[@]} examples"; exit 1; }
	# What is not installed is not at hand.
	cp -r lib/examples /tmp/examples
	make -C /tmp/examples BUILD=/tmp/shared CFLAGS="-O2 -std=gnu11 -Wall -Wextra -Wpedantic -Werror" >/dev/null
	for example in "${examples[@]}"; do
		name=${example##*/}
		name=${name%.c}
		[ -x "/tmp/shared/$name" ] || { echo "$name: is not built by the Makefile"; exit 1; }
		read -ra flags < <(pkg-config --cflags vpeer libibverbs)
		gcc -o "/tmp/static-$name" -Werror "${flags[@]}" "/tmp/examples/$name.c" "${pkgconfig%/*}/libvpeer.a" -libverbs
		for program in "/tmp/shared/$name" "/tmp/static-$name"; do
			status=0
			"$program" >/tmp/said 2>&1 || status=$?
			[ $status -eq 2 ] && grep -q "usage: $name" /tmp/said ||
				{ echo "$program: status $status"; cat /tmp/said; exit 1; }
		done
	done

	! /tmp/shared/register nosuch >/tmp/said 2>&1 || { echo "register: no device, but status 0"; exit 1; }
	grep -q "nosuch: no such RDMA device" /tmp/said
	! /tmp/shared/nearest ffff:ff:1f.7 >/tmp/said 2>&1 || { echo "nearest: no function, but status 0"; exit 1; }
	grep -q "ffff:ff:1f.7: .*there is no PCI function" /tmp/said
	grep -q "to be mended by the administrator of this machine: " /tmp/said

	# A program that needs what is not installed does not build.
	sed "s/vpeer_reg(/vpeer_no_such(/" /tmp/examples/register.c >/tmp/examples/broken.c
	! gcc -o /tmp/broken -Werror "${flags[@]}" /tmp/examples/broken.c -lvpeer -libverbs 2>/tmp/said ||
		{ echo "a call of nothing builds"; exit 1; }
	grep -q vpeer_no_such /tmp/said

	if command -v g++ >/dev/null; then
		echo "#include <vpeer/vpeer.h>" >/tmp/header.cc
		g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only "${flags[@]}" /tmp/header.cc
	fi
'
