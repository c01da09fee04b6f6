#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every guest case belongs to a boot, and every boot names groups that exist.
set -eu

cd "$(dirname "$0")/../guest"
status=0

# Boots ask which kernels they run on.
# shellcheck disable=SC2317 # called by them
check_kernels_passed() {
	echo "$1"
}

named() {
	local boot groups

	for boot in boots/*; do
		groups=()
		# shellcheck disable=SC1090 # one of tests/guest/boots
		. "./$boot"
		printf '%s\n' "${groups[@]}"
	done | sort -u
}

there() {
	printf '%s\n' ./*.c ./*.sh | sed 's#^\./##; s/\.[^.]*$//' | sort -u
}

for group in $(comm -23 <(there) <(named)); do
	echo "tests/guest/$group is part of no boot"
	status=1
done
for group in $(comm -13 <(there) <(named)); do
	echo "a boot names $group, which is not in tests/guest"
	status=1
done
for file in *.c; do
	if ! grep -q '^TEST(' "$file"; then
		echo "$file holds no case"
		status=1
	fi
done
exit $status
