#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make install-user puts the command, the library and each manual page in place, a function's page
# under the function's name too, and the examples; make uninstall-user takes away just that.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)

# shellcheck disable=SC2016 # for the tree's shell
"$top/tests/static/in-tree" -- bash -euc '
	mkdir -p /tmp/project /tmp/out/usr/include/vpeer /tmp/out/usr/bin
	cp -r Makefile dkms.conf kmod lib tools /tmp/project
	cd /tmp/project
	rm -rf lib/build tools/build
	make user CFLAGS=-O0 LDFLAGS= -j"$(nproc)" >/dev/null
	touch /tmp/out/usr/include/vpeer/other.h /tmp/out/usr/bin/other
	make install-user CFLAGS=-O0 DESTDIR=/tmp/out PREFIX=/usr >/dev/null
	cd /tmp/out/usr

	for file in bin/vpeer include/vpeer/{vpeer,vpeer_reg,vpeer_ioctl}.h lib/sysusers.d/vpeer.conf \
		lib/*/libvpeer.so lib/*/libvpeer.so.1 lib/*/libvpeer.a lib/*/vpeer/libvpeer-preload.so lib/*/pkgconfig/vpeer.pc \
		lib/udev/rules.d/60-vpeer.rules share/bash-completion/completions/vpeer; do
		[ -s "$file" ] || { echo "$file is not installed"; exit 1; }
	done
	for example in "$OLDPWD"/lib/examples/*; do
		cmp "$example" "share/doc/libvpeer-dev/examples/${example##*/}" || exit
	done
	[ "$(PKG_CONFIG_PATH=$(echo lib/*/pkgconfig) pkg-config --define-variable=prefix=/else --variable=includedir vpeer)" = /else/include ] ||
		{ echo "vpeer.pc: includedir is not of the prefix"; exit 1; }
	for page in "$OLDPWD"/lib/build/man/*.3 "$OLDPWD"/tools/man/*.[1-8]; do
		file=share/man/man${page##*.}/${page##*/}
		[ -s "$file" ] || { echo "$file is not installed"; exit 1; }
	done
	for name in $(sed -n "s/^\t\t\(vpeer_[a-z_]*\);$/\1/p" "$OLDPWD/lib/libvpeer.map"); do
		grep -q "^\.Nm $name\>" "share/man/man3/$name.3" ||
			{ echo "share/man/man3/$name.3 is not of $name"; exit 1; }
	done

	make -C "$OLDPWD" uninstall-user DESTDIR=/tmp/out PREFIX=/usr >/dev/null
	left=$(find . ! -type d | sort | paste -sd " ")
	[ "$left" = "./bin/other ./include/vpeer/other.h" ] || { echo "after uninstall there is: $left"; exit 1; }
'
