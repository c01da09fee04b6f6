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
. "$lab_top/tests/guest/harness/check.sh"
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

# What becomes of a case in the counts. usage: comes passed|failed|'' CASE-RESULT WHAT-A-CASE-TOLD [OPTIONS]
# shellcheck disable=SC2034,SC2317 # read and called by harness/matrix.sh
comes() {
	local check_dir=$changed.d phase=boot plan=(matrix.pages) options=(--iommu none) long=no kernel='' came=''

	check_failed() {
		came+=failed
	}
	check_passed() {
		came+=passed
	}
	[ $# -eq 3 ] || read -ra options <<<"$4"
	mkdir -p "$check_dir/boot/cases"
	printf 'before\n%s\n' "$3" >"$check_dir/boot/cases/matrix.pages.log"
	[ "$2" = 'not ok' ] || matrix_hold 'matrix.pages (3 ms)'
	matrix_compare 6.12 >"$check_dir/told"
	[ "$came" = "$1" ] || complain "a case that was $2 and told '$3' counts as '$came' instead of '$1'"
	[ "$came" != failed ] || [ $# -eq 4 ] ||
		grep -qF "again: tests/run-check --only 'boot matrix.pages'" "$check_dir/told" ||
		complain "how to run it again is not told: $(cat "$check_dir/told")"
	rm -r "$check_dir"
}

matrix_read tests/lab/matrix
comes passed ok 'cell 6.12 none - pages one pass'
comes failed ok 'cell 6.12 none - pages one refuse EIO'
comes failed ok 'cell 6.12 none - pages one absent'
comes failed ok 'cell 7.3 none - pages one pass'
comes failed ok ''
comes '' 'not ok' ''
comes '' 'not ok' 'cell 6.12 none - pages one pass'
comes failed ok 'cell 6.12 intel-strict - pages one pass' '--iommu intel'
comes passed ok 'cell 6.12 intel-strict - pages one pass' '--iommu intel --strict'

# Which boots of cells a run has whose other boots have those of 6.12 intel-strict. usage: plans EXPECTED LONG KERNEL
# [PATTERN]...
# shellcheck disable=SC2034,SC2317 # read and called by harness/matrix.sh
plans() (
	expected=$1 long=$2 kernel=$3 only=("${@:4}")
	matrix_expand
	matrix_planned['6.12 intel-strict one']=yes
	check_phase() {
		echo "$phase:${#plan[@]}"
	}
	beside_later() {
		check_phase
	}
	planned=$(check_matrix | paste -sd ' ')
	[ "$planned" = "$expected" ] ||
		complain "boots of cells for '${*:4}' (long $long, kernel ${kernel:-any}): '$planned', not '$expected'"
	exit "$status"
)

plans 'matrix-none:4 matrix-intel-strict-6.1:4 matrix-amd-lazy-7.3:4' no '' || status=1
plans 'matrix-none:1 matrix-intel-strict-6.1:1 matrix-amd-lazy-7.3:1' no '' matrix.pages || status=1
plans 'matrix-intel-strict:4' no '' matrix-intel-strict || status=1
plans 'matrix-intel-strict:4' no 6.12 matrix-intel-strict || status=1
plans 'matrix-intel-strict-7.3:4' no 7.3 matrix-intel-strict || status=1
plans 'matrix-intel-strict-6.1:4' no '' matrix-intel-strict-6.1 || status=1
plans 'matrix-virtio-lazy:1' no '' 'matrix-virtio-lazy-6.12 matrix.*pinned' || status=1
plans '' no '' matrix-none-7.3-on-amd || status=1
plans 'matrix-none-on-amd-7.3:4' no '' matrix-none-on-amd-7.3 || status=1
plans 'matrix-none:4 matrix-intel-pt:1' no '' matrix-none 'matrix-intel-pt matrix.pages' || status=1
plans '' no '' matrix-virtio-pt-6.1 || status=1
plans '' no 6.1 matrix-virtio-pt || status=1
plans 'matrix-intel-strict-6.1:4 matrix-intel-strict:4 matrix-intel-strict-7.3:4' yes '' matrix-intel-strict || status=1
plans 'matrix-virtio-pt:4 matrix-virtio-pt-7.3:4' yes '' matrix-virtio-pt || status=1
exit "$status"
