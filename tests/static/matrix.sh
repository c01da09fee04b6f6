#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# tests/lab/matrix has one line for every cell, outcomes that are known, and reasons that hold of the lab's
# kernels; and what finds mistakes in it, or compares with it what guests tell, does.
set -u

. "$(dirname "$0")/../lab/lib/common.sh"
. "$lab_top/tests/lab/lib/apt.sh"
. "$lab_top/tests/lab/lib/packages.sh"
. "$lab_top/tests/lab/lib/tree.sh"
. "$lab_top/tests/lab/lib/kernel.sh"
. "$lab_top/tests/lab/lib/image.sh"
. "$lab_top/tests/lab/lib/matrix.sh"
. "$lab_top/tests/guest/harness/matrix.sh"
cd "$lab_top" || exit
status=0

complain() {
	echo "$*"
	status=1
}

# usage: in_kernel KERNEL PATH (of the layer that its packages are in)
in_kernel() {
	local layer

	while read -r layer; do
		[ ! -e "$layer/$2" ] || { echo "$layer/$2"; return; }
	done < <(kernel_layers "$1")
	return 1
}

# True when REASON is so of KERNEL. usage: holds KERNEL LEVEL REASON
holds() {
	local file release suite=${3#suite=}

	release=$(kernel_release "$1")
	case $3 in
	CONFIG_*=n)
		file=$(in_kernel "$1" "boot/config-$release") && ! grep -q "^${3%=n}=" "$file"
		;;
	no-symbol=*)
		file=$(in_kernel "$1" "usr/src/linux-headers-$release/Module.symvers") &&
			! grep -qw "${3#no-symbol=}" "$file"
		;;
	suite=*)
		[ "$2" != one ] && [ "$(kernel_suite "$1")" = "$suite" ] &&
			[ "$suite" != "$image_suite" ] && [ "$suite" != "$image_suite-backports" ]
		;;
	*) false ;;
	esac
}

# usage: check_outcome CELL OUTCOME
check_outcome() {
	local cell reason

	read -ra cell <<<"$1"
	case $2 in
	pass | 'refuse unmapped') ;;
	'refuse E'*) [[ $2 =~ ^'refuse E'[A-Z0-9]+$ ]] || complain "$1: no such outcome: $2" ;;
	'absent '*)
		for reason in ${2#absent }; do
			holds "${cell[0]}" "${cell[4]}" "$reason" || complain "$1: not so: $reason"
		done
		;;
	*) complain "$1: no such outcome: $2" ;;
	esac
}

# usage: check_table FILE
check_table() {
	local cell wrong

	matrix_read "$1"
	for wrong in "${matrix_wrong[@]}"; do
		complain "$wrong"
	done
	for cell in "${!matrix_outcome[@]}"; do
		check_outcome "$cell" "${matrix_outcome[$cell]}"
	done
}

# A changed table must be found wrong. usage: finds WHAT SED-SCRIPT
finds() {
	local found

	found=$(sed "$2" tests/lab/matrix >"$changed" && check_table "$changed")
	grep -q "$1" <<<"$found" || complain "a table with this change is not found wrong ($1): $2"
}

for kernel in $kernel_names; do
	tests/lab/setup --kernel "$kernel" || exit
done
check_table tests/lab/matrix
changed=$(mktemp)
trap 'rm -f "$changed"' EXIT
finds 'which an earlier line has' '$ { p }'
finds 'no line has' '$ d'
finds "no KERNEL is '5.15'" '$ { p; s/^[^ ]*/5.15/ }'
finds "no IOMMU is 'intle-pt'" '$ { p; s/\*/intel-pt,intle-pt/ }'
finds "no MODE is 'pined'" '$ { p; s/ - / pined / }'
finds "no ROUTE is 'page'" '$ { p; s/pages/page/ }'
finds "no LEVEL is 'two-\*'" '$ { p; s/\*  *pass/two-* pass/ }'
finds 'has no LEVEL' '$ { p; s/\*  *pass// }'
finds 'MODE dynamic does not go with ROUTE pages' '$ { p; s/ - / dynamic / }'
outcome='$ s/\(\([^ ]* *\)\{5\}\).*/\1'
finds 'no such outcome' "${outcome}perhaps/"
finds 'no such outcome' "${outcome}refuse it/"
finds 'not so: CONFIG_INFINIBAND=n' "${outcome}absent CONFIG_INFINIBAND=n/"
finds 'not so: no-symbol=ib_register_device' "${outcome}absent no-symbol=ib_register_device/"
finds 'not so: suite=bookworm' "${outcome}absent suite=bookworm/"

# usage: differs YES-OR-NO WHAT-A-CASE-TOLD
# shellcheck disable=SC2034,SC2317 # read and called by harness/matrix.sh
differs() {
	local check_dir=$changed.d phase=boot plan=(matrix.pages) options=(--iommu none) found=no

	check_failed() {
		found=yes
	}
	mkdir -p "$check_dir/boot/cases"
	printf 'before\n%s\n' "$2" >"$check_dir/boot/cases/matrix.pages.log"
	matrix_compare 6.12
	[ "$found" = "$1" ] || complain "compared with the table, '$2' differs: $found"
	rm -r "$check_dir"
}

matrix_read tests/lab/matrix
differs no 'cell 6.12 none - pages one pass'
differs yes 'cell 6.12 none - pages one refuse EIO'
differs yes 'cell 6.12 none - pages one absent'
differs yes 'cell 7.3 none - pages one pass'
differs yes ''
exit "$status"
