#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the packages of /debs are like. What a check must find is there too, as a package spoilt on
# purpose.
. "$(dirname "$0")/tree.sh"

deadline lintian 200
deadline lintian_finds 200

case_versions() {
	local deb

	for deb in /debs/*.deb; do
		[ "$(dpkg-deb --field "$deb" Version)" = "$version" ] || fail "$deb"
	done
	[ "$(find /debs -name '*.deb' ! -name '*-dbgsym_*' | wc -l)" = 4 ]
}

lint() {
	lintian --allow-root --fail-on error,warning --display-info --pedantic "$@"
}

# Tags that lintian only informs of count too.
case_lintian() {
	expect_output /tmp/said 0 lint /debs/*.changes
	expect_no_line '^[EWIP]: ' /tmp/said
}

# usage: spoil DEB COMMAND... (in the unpacked package; prints the new package)
spoil() {
	local deb=$1

	shift
	rm -rf /tmp/spoilt
	dpkg-deb --raw-extract "$deb" /tmp/spoilt
	(cd /tmp/spoilt && "$@")
	dpkg-deb --root-owner-group --build /tmp/spoilt "/tmp/${deb##*/}" >/dev/null
	echo "/tmp/${deb##*/}"
}

case_lintian_finds() {
	local deb

	deb=$(spoil /debs/vpeer-tools_*.deb rm usr/share/man/man1/vpeer.1.gz)
	expect_output /tmp/said 2 lint "$deb"
	expect_line 'no-manual-page' /tmp/said
}

man_words() {
	# shellcheck disable=SC2069 # only what it warns of is wanted
	LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 \
		man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null
}

case_man_pages() {
	local page count=0

	for deb in /debs/*.deb; do
		dpkg-deb --extract "$deb" /tmp/pages
	done
	while read -r page; do
		count=$((count + 1))
		[ -z "$(man_words "$page")" ] || fail "$page: $(man_words "$page" | head -n 3)"
	done < <(find /tmp/pages/usr/share/man -type f)
	[ $count -ge 10 ] || fail "$count pages"
}

case_man_pages_finds() {
	printf '.Dd today\n.Dt X 1\n.Os\n.NoSuchMacro\n' >/tmp/bad.1
	man_words /tmp/bad.1 | grep NoSuchMacro
}

case_examples() {
	dpkg-deb --extract /debs/libvpeer-dev_*.deb /tmp/examples
	diff -r --exclude build "$VPEER_TOP/lib/examples" /tmp/examples/usr/share/doc/libvpeer-dev/examples
}

# Each exported symbol is in the library and has a version in the symbols file.
case_symbols() {
	dpkg-deb --extract /debs/libvpeer1_*.deb /tmp/library
	dpkg-deb --control /debs/libvpeer1_*.deb /tmp/control
	sed -n 's/^\t\t\(vpeer_[a-z0-9_]*\);$/\1/p' "$VPEER_TOP/lib/libvpeer.map" | sort >/tmp/wanted
	[ "$(wc -l </tmp/wanted)" -gt 20 ]
	sed -n 's/^ \(vpeer_[a-z0-9_]*\)@.*/\1/p' /tmp/control/symbols | sort | diff /tmp/wanted -
	nm -D --defined-only /tmp/library/usr/lib/*/libvpeer.so.1 |
		sed -n 's/.* T \(vpeer_[a-z0-9_]*\)@.*/\1/p' | sort | diff /tmp/wanted -
}

run_cases "$@"
