# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# tests/run-check: the cells of tests/lab/matrix. Each boot with the group matrix runs those of its guest; what no
# boot of tests/guest/boots has gets one that is made here.

# By KERNEL IOMMU LEVEL: a boot runs them; --only names the boot for them. By cell: what was seen. By case: its line, when it passed.
declare -A matrix_planned=() matrix_named=() matrix_seen=() matrix_held=()
# What short runs add: a kernel and an IOMMU each that their boots do not have.
matrix_short="6.1:intel-strict:one 6.12:none:one 7.3:amd-lazy:one"

matrix_begin() {
	matrix_read "$lab_top/tests/lab/matrix"
	[ ${#matrix_wrong[@]} -eq 0 ] ||
		lab_die "tests/lab/matrix is wrong: ${matrix_wrong[0]} (tests/static/matrix.sh tells all)"
	matrix_expand
}

# Names of a boot, of which a full one always has the kernel. usage: matrix_name KERNEL IOMMU LEVEL (in matrix_phase
# and matrix_full)
matrix_name() {
	matrix_phase=matrix-$2
	[ "$3" = one ] || matrix_phase+=-$3
	matrix_full=$matrix_phase-$1
	[ "$1" = 6.12 ] || matrix_phase=$matrix_full
}

# Prints KERNEL IOMMU LEVEL of the boots that PATTERN names; with the run's kernels, if it names none.
matrix_guests_of() {
	local word=${1%% *} kernels guest

	[[ $word == matrix-* ]] || return 0
	kernels=" $(check_kernels | tr '\n' ' ') "
	while read -ra guest; do
		matrix_name "${guest[@]}"
		if [ "$word" = "$matrix_full" ] ||
			[[ "$word-${guest[0]}" == "$matrix_full" && $kernels == *" ${guest[0]} "* ]]; then
			echo "${guest[*]}"
		fi
	done < <(matrix_all_guests)
}

# Boots that --only names are run though the run would have them with other kernels, in another boot or not at all.
matrix_expand() {
	local pattern guest expanded=() before

	for pattern in "${only[@]}"; do
		before=${#expanded[@]}
		while read -ra guest; do
			matrix_can "${guest[@]}" || continue
			matrix_name "${guest[@]}"
			matrix_named[${guest[*]}]=yes
			expanded+=("$matrix_full${pattern#"${pattern%% *}"}")
		done < <(matrix_guests_of "$pattern")
		[ ${#expanded[@]} -gt "$before" ] || expanded+=("$pattern")
	done
	only=("${expanded[@]}")
}

# Prints why nothing can run in the boot that PATTERN names.
matrix_why_not() {
	local guest

	while read -ra guest; do
		echo "tests/lab/matrix has ${guest[*]} as $(matrix_absent "${guest[@]}")"
		return
	done < <(matrix_guests_of "$1")
}

# True if the plan has cells.
matrix_in_plan() {
	[[ " ${plan[*]} " == *' matrix.'* ]]
}

# Notes what the boot runs, by its options and guest_kernel.
matrix_plan() {
	matrix_in_plan && matrix_of_options "${options[@]}" || return 0
	matrix_planned["$guest_kernel $matrix_iommu $matrix_level"]=yes
}

# Notes a case that passed, until matrix_compare can tell what it saw. usage: matrix_hold "matrix.NAME (3 ms)"
matrix_hold() {
	matrix_held[${1%%[: ]*}]=$1
}

# Tells the cases that passed: they do if they saw what the table says. usage: matrix_compare KERNEL
matrix_compare() {
	local way cell name

	matrix_in_plan || return 0
	if matrix_of_options "${options[@]}"; then
		for way in "${!matrix_cases[@]}"; do
			name=matrix.${matrix_cases[$way]} cell="$1 $matrix_iommu $way $matrix_level"
			[[ " ${plan[*]} " != *" $name "* ]] || matrix_compare_cell
		done
	else
		for name in "${!matrix_held[@]}"; do
			check_failed "$name: no cell is meant: the boot has neither --strict nor --lazy" "$check_dir"
		done
	fi
	matrix_held=()
}

# Of name and cell. A case that failed has been told.
matrix_compare_cell() {
	local log=$check_dir/$phase/cases/$name.log said

	said=$(sed -n "s/^cell $cell //p" "$log" 2>/dev/null | tail -n 1)
	if [ -z "${matrix_held[$name]-}" ]; then
		matrix_seen[$cell]=failure
		return
	fi
	matrix_seen[$cell]=${said:-nothing}
	if matrix_differs "${said:-nothing}" "${matrix_outcome[$cell]}"; then
		check_failed "$name: cell $cell: the table says ${matrix_outcome[$cell]}, seen was ${said:-nothing}" "$log"
		echo "    again: $(check_again "$name")"
	else
		check_passed "${matrix_held[$name]}"
	fi
}

# usage: matrix_differs SEEN EXPECTED
matrix_differs() {
	[ "$1" != "$2" ] && [[ $1:$2 != 'absent:absent '* ]]
}

# Prints KERNEL IOMMU LEVEL of the boots that are to be made.
matrix_boots() {
	local guest

	while read -r guest; do
		[[ $long == yes || " $matrix_short " == *" ${guest// /:} "* || -n ${matrix_named[$guest]-} ]] &&
			[[ -z $kernel || ${guest%% *} == "$kernel" ]] && echo "$guest"
	done < <(matrix_all_guests)
}

check_matrix() {
	local guests guest

	mapfile -t guests < <(matrix_boots)
	for guest in "${guests[@]}"; do
		# shellcheck disable=SC2086 # words
		matrix_boot $guest
	done
}

# usage: matrix_boot KERNEL IOMMU LEVEL
# shellcheck disable=SC2034 # check.sh and beside.sh read them
matrix_boot() {
	local options=() groups=(matrix) only_cases=() not_cases=() environment=() pair=no ready=''
	local about="cells of tests/lab/matrix: IOMMU $2" seconds=200 budget=35 guest_kernel=$1

	matrix_can "$1" "$2" "$3" && [ -z "${matrix_planned[$1 $2 $3]-}" ] || [ -n "${matrix_named[$1 $2 $3]-}" ] ||
		return 0
	matrix_options "$2" "$3"
	[ "$3" = one ] || { about+=", level $3" budget=110 seconds=300; }
	matrix_name "$1" "$2" "$3"
	phase=$matrix_phase
	check_plan
	[ ${#plan[@]} -gt 0 ] || return 0
	matrix_plan
	if [ "$3" = one ]; then
		check_phase "$phase" "$budget" check_guest "$1" check_run_guest
	else
		beside_later
	fi
}

# At the end: how many cells were seen. In a whole long run every one must be that is not absent.
matrix_end() {
	local cell seen=0 absent=0 missing=0 cells=${#matrix_outcome[@]}

	[ ${#matrix_seen[@]} -gt 0 ] || [ "$long:${#only[@]}" = yes:0 ] || return 0
	phase=matrix
	while read -r cell; do
		if [ "${matrix_seen[$cell]-nothing}" != nothing ]; then
			seen=$((seen + 1))
		elif [[ ${matrix_outcome[$cell]} == absent* ]]; then
			absent=$((absent + 1))
		else
			missing=$((missing + 1))
			[ "$long:${#only[@]}$kernel" != yes:0 ] ||
				check_failed "cell $cell never ran; the table says ${matrix_outcome[$cell]}" "$check_dir"
		fi
	done < <(matrix_all_cells)
	echo "check: matrix: $seen of $cells cells ran, $absent are absent, $missing are for other runs"
}
