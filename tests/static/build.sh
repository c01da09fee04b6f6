#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The modules build without any warning at W=1, and sparse finds nothing.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)
status=0

# usage: build KERNEL MAKE-ARGUMENT... (a copy, so that nothing here is touched)
build() {
	local kernel=$1

	shift
	"$top/tests/static/in-tree" --kernel "$kernel" -- sh -c '
		mkdir /tmp/build && cp -r Kbuild kmod tests/neighbour tests/hca /tmp/build || exit
		for module in /tmp/build /tmp/build/neighbour /tmp/build/hca; do
			make -C "$VPEER_KDIR" M=$module -j"$(nproc)" "$@" modules || exit
		done' sh "$@" 2>&1
}

# usage: check KERNEL MAKE-ARGUMENT...
check() {
	local log

	echo "== kernel $*"
	if ! log=$(build "$@"); then
		printf '%s\n' "$log"
		status=1
	elif grep -E 'warning:|error:|WARNING' <<<"$log"; then
		echo "^ warnings with $*"
		status=1
	fi
}

for kernel in ${CHECK_KERNELS:-6.12}; do
	check "$kernel" W=1
	check "$kernel" C=2 CF=-Wsparse-error
done
exit $status
