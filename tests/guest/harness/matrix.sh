# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# tests/run-check: the cells of tests/lab/matrix. Each boot with the group matrix runs those of its guest; what no
# boot of tests/guest/boots has gets one that is made here.

# By KERNEL IOMMU LEVEL: a boot runs them. By cell: what was seen.
declare -A matrix_planned=() matrix_seen=()
# What short runs add: a kernel and an IOMMU each that their boots do not have.
matrix_short="6.1:intel-strict:one 6.12:none:one 7.3:amd-lazy:one"

matrix_begin() {
	matrix_read "$lab_top/tests/lab/matrix"
	[ ${#matrix_wrong[@]} -eq 0 ] ||
		lab_die "tests/lab/matrix is wrong: ${matrix_wrong[0]} (tests/static/matrix.sh tells all)"
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

# Compares what the planned cases told with the table. usage: matrix_compare KERNEL
matrix_compare() {
	local way cell said name

	matrix_in_plan || return 0
	matrix_of_options "${options[@]}" || {
		check_failed "matrix: --strict or --lazy is not among the options, so no cell is meant" "$check_dir"
		return
	}
	for way in "${!matrix_cases[@]}"; do
		name=matrix.${matrix_cases[$way]} cell="$1 $matrix_iommu $way $matrix_level"
		[[ " ${plan[*]} " == *" $name "* ]] || continue
		said=$(sed -n "s/^cell $cell //p" "$check_dir/$phase/cases/$name.log" | tail -n 1)
		matrix_seen[$cell]=${said:-nothing}
		matrix_differs "${said:-nothing}" "${matrix_outcome[$cell]}" || continue
		check_failed "cell $cell: the table says ${matrix_outcome[$cell]}, seen was ${said:-nothing}" \
			"$check_dir/$phase/cases/$name.log"
	done
}

# usage: matrix_differs SEEN EXPECTED
matrix_differs() {
	[ "$1" != "$2" ] && [[ $1:$2 != 'absent:absent '* ]]
}

# KERNEL:IOMMU:LEVEL of the boots that are to be made.
matrix_boots() {
	local guest_kernel iommu level boots=$matrix_short

	if [ "$long" = yes ]; then
		boots=$(for level in $matrix_levels; do
			for iommu in $matrix_iommus; do
				for guest_kernel in $kernel_names; do
					echo "$guest_kernel:$iommu:$level"
				done
			done
		done)
	fi
	# shellcheck disable=SC2086 # words
	printf '%s\n' $boots | grep "^${kernel:-.*}:"
}

check_matrix() {
	local boot

	for boot in $(matrix_boots); do
		matrix_boot "${boot%%:*}" "$(cut -d: -f2 <<<"$boot")" "${boot##*:}"
	done
}

# usage: matrix_boot KERNEL IOMMU LEVEL
# shellcheck disable=SC2034 # check.sh and beside.sh read them
matrix_boot() {
	local options=() groups=(matrix) only_cases=() not_cases=() environment=() pair=no ready=''
	local about="cells of tests/lab/matrix: IOMMU $2" seconds=200 budget=35 guest_kernel=$1

	matrix_can "$1" "$2" "$3" && [ -z "${matrix_planned[$1 $2 $3]-}" ] || return 0
	matrix_options "$2" "$3"
	phase=matrix-$2
	[ "$3" = one ] || { phase+=-$3 about+=", level $3" budget=110 seconds=300; }
	[ "$1" = 6.12 ] || phase+=-$1
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
