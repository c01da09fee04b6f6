#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is said when there is no module for a kernel: one line that names kernel, cause and remedy or
# log. Each case has a fresh tree. Headers are spoilt for real: the compiler and DKMS judge them.
. "$(dirname "$0")/tree.sh"

for name in headers_missing too_old renamed_field option_missing broken_source symbol_missing; do
	deadline $name 400
done

headers=/usr/src/linux-headers

# usage: said KERNEL PATTERN LOG (the only line of the package's in LOG; apt's terminal ends lines by CR)
said() {
	sed -n 's/\r$//; /^vpeer-dkms: /p' "$3" >/tmp/lines
	[ "$(wc -l </tmp/lines)" = 1 ] || fail "not one line: $(cat /tmp/lines)"
	expect_line "^vpeer-dkms: no module for ${1//+/\\+}: $2$" /tmp/lines
}

has_module() {
	dkms status -m vpeer -v "$version" -k "$1" | grep installed
}

newest() {
	kernels | tail -n 1
}

rename_field() {
	local file

	for file in "$headers"-*/include/linux/memremap.h; do
		sed -i 's/vmemmap_shift/vmemmap_other/' "$file"
	done
}

# A kernel whose headers are those of the newest, but for its release name.
add_kernel() {
	mkdir -p "/lib/modules/$1/kernel"
	cp -a "$(readlink -f "/lib/modules/$(newest)/build")" "$headers-$1"
	ln -s "$headers-$1" "/lib/modules/$1/build"
}

# No failure, and DKMS builds when the headers come.
case_headers_missing() {
	local kernel

	kernel=$(newest)
	for other in $(kernels | grep -vxF "$kernel"); do
		rm "/lib/modules/$other/build"
	done
	mv "/lib/modules/$kernel/build" /state/build
	expect_output /tmp/said 0 install_debs /debs
	expect_line "^vpeer-dkms: no module for ${kernel//+/\\+}: its headers are missing; install linux-headers-" \
		/tmp/said
	[ "$(grep -c "^vpeer-dkms: .*${kernel}" /tmp/said)" = 1 ]
	mv /state/build "/lib/modules/$kernel/build"
	dkms autoinstall -k "$kernel"
	has_module "$kernel"
}

# Skipped, and the other kernels have their module.
case_too_old() {
	local real

	real=$(newest)
	add_kernel 5.10.0-99-amd64
	expect_output /tmp/said 0 install_debs /debs
	said 5.10.0-99-amd64 'it is older than 5\.17' /tmp/said
	has_module "$real"
	! has_module 5.10.0-99-amd64 || fail "it was built"
}

# A PREEMPT_RT kernel is one without huge pages.
case_option_missing() {
	local kernel

	kernel=$(newest)-without
	add_kernel "$kernel"
	sed -i '/CONFIG_TRANSPARENT_HUGEPAGE=/d' "$headers-$kernel/.config" \
		"$headers-$kernel/include/config/auto.conf"
	expect_output /tmp/said 0 install_debs /debs
	said "$kernel" 'it needs CONFIG_TRANSPARENT_HUGEPAGE' /tmp/said
	! has_module "$kernel" || fail "it was built"
}

# DKMS does not build for another architecture than x86-64.
case_other_architecture() {
	mkdir -p "/usr/src/vpeer-$version"
	(cd "$VPEER_TOP" && cp -r Kbuild Makefile dkms.conf kmod "/usr/src/vpeer-$version")
	expect_output /tmp/said 77 dkms build -m vpeer -v "$version" -k "$(newest)" -a aarch64
	expect_line 'BUILD_EXCLUSIVE' /tmp/said
}

case_renamed_field() {
	local log=/var/lib/dkms/vpeer/$version/build/make.log

	rename_field
	expect_output /tmp/said 100 install_debs /debs
	said "$(kernels | head -n 1)" \
		"this kernel cannot be served: .* \(no dev_pagemap\.vmemmap_shift\); see $log" /tmp/said
	expect_line '^vpeer: this kernel cannot be served' "$log"
}

case_broken_source() {
	local log=/var/lib/dkms/vpeer/$version/build/make.log

	expect_output /tmp/said 100 install_debs /state/broken
	said "$(kernels | head -n 1)" ".*kmod/main\.c:.*broken on purpose.*; see $log" /tmp/said
	[ -f "$log" ]
}

# A symbol that the kernel does not export is found by modpost only.
case_symbol_missing() {
	local log=/var/lib/dkms/vpeer/$version/build/make.log kernel

	for kernel in $(kernels); do
		sed -i '/\tvmf_insert_pfn_pmd\t/d; /\tmemremap_pages\t/d' \
			"/lib/modules/$kernel/build/Module.symvers"
	done
	expect_output /tmp/said 100 install_debs /debs
	said "$(kernels | head -n 1)" "ERROR: modpost: .* undefined!; see $log" /tmp/said
}

# usage: make_says PATTERN MAKE-ARGUMENT... (without make's own line about its failure)
make_says() {
	local pattern=$1

	shift
	rm -rf /tmp/sources
	mkdir /tmp/sources
	(cd "$VPEER_TOP" && cp -r Kbuild Makefile kmod /tmp/sources)
	expect_output /tmp/said 2 make -C /tmp/sources --no-print-directory "$@"
	grep -v '^make: \*\*\*' /tmp/said >/tmp/words
	[ "$(wc -l </tmp/words)" = 1 ] || fail "$(wc -l </tmp/words) lines: $(head -n 3 /tmp/words)"
	expect_line "$pattern" /tmp/words
}

case_make_without_headers() {
	make_says '^vpeer: no kernel headers in /nowhere: install linux-headers-' KDIR=/nowhere
}

case_make_renamed_field() {
	rename_field
	make_says '^vpeer: this kernel cannot be served: it is older than 5\.17 \(no dev_pagemap' \
		KDIR="/lib/modules/$(newest)/build"
}

case_make_other_architecture() {
	local kdir

	kdir=/lib/modules/$(newest)/build
	sed -i '/CONFIG_X86_64 /d' "$kdir/include/generated/autoconf.h"
	make_says '^vpeer: this kernel cannot be served: only x86-64 ' KDIR="$kdir"
}

run_cases "$@"
