# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The table tests/lab/matrix. Who sources this has kernel.sh.

# shellcheck disable=SC2034 # used by those who source this file
{
	matrix_iommus="none intel-pt intel-strict intel-lazy amd-pt amd-strict amd-lazy"
	matrix_iommus="$matrix_iommus virtio-pt virtio-strict virtio-lazy"
	matrix_levels="one on-intel on-amd"
	matrix_modes="dynamic revocable pinned -"
	matrix_routes="dmabuf pages"
	# MODE ROUTE, and the case of the group matrix for it.
	declare -A matrix_cases=([dynamic dmabuf]=dmabuf_dynamic [revocable dmabuf]=dmabuf_revocable
		[pinned dmabuf]=dmabuf_pinned [- pages]=pages)
}
# By cell: KERNEL IOMMU MODE ROUTE LEVEL
declare -A matrix_outcome=()
# What is wrong with the table.
matrix_wrong=()

# Words that LIST of patterns matches, of the line that number is of. usage: matrix_matching COLUMN LIST WORD...
# (in matched)
matrix_matching() {
	local column=$1 patterns pattern word before

	[ -n "$2" ] || matrix_wrong+=("line $number has no $column")
	IFS=, read -ra patterns <<<"$2"
	shift 2
	matched=()
	for pattern in "${patterns[@]}"; do
		before=${#matched[@]}
		for word; do
			# shellcheck disable=SC2053 # a pattern is meant
			[[ $word != $pattern ]] || matched+=("$word")
		done
		[ ${#matched[@]} -gt "$before" ] ||
			matrix_wrong+=("line $number: no $column is '$pattern'; take one of: $*")
	done
}

# Cells of a line that has the kernels, iommus, modes, routes, levels. usage: matrix_line NUMBER OUTCOME
matrix_line() {
	local kernel iommu way level cell found=no

	for way in "${!matrix_cases[@]}"; do
		[[ " ${modes[*]} " == *" ${way% *} "* && " ${routes[*]} " == *" ${way#* } "* ]] || continue
		found=yes
		for kernel in "${kernels[@]}"; do
			for iommu in "${iommus[@]}"; do
				for level in "${levels[@]}"; do
					cell="$kernel $iommu $way $level"
					[ -z "${matrix_outcome[$cell]-}" ] ||
						matrix_wrong+=("line $1 has $cell, which an earlier line has")
					matrix_outcome[$cell]=$2
				done
			done
		done
	done
	# A word that does not exist was told.
	[ "$found" = yes ] || [ ${#modes[@]} -eq 0 ] || [ ${#routes[@]} -eq 0 ] ||
		matrix_wrong+=("line $1 is no cell: MODE ${modes[*]} does not go with ROUTE ${routes[*]}")
}

# Fills matrix_outcome and matrix_wrong. usage: matrix_read FILE
matrix_read() {
	local number=0 columns kernels iommus modes routes levels matched outcome

	matrix_outcome=() matrix_wrong=()
	while read -r -a columns; do
		number=$((number + 1))
		[[ ${columns[0]-#} != '#'* ]] || continue
		# shellcheck disable=SC2154,SC2086 # of kernel.sh; words
		matrix_matching KERNEL "${columns[0]}" $kernel_names
		kernels=("${matched[@]}")
		# shellcheck disable=SC2086
		matrix_matching IOMMU "${columns[1]-}" $matrix_iommus
		iommus=("${matched[@]}")
		# shellcheck disable=SC2086
		matrix_matching MODE "${columns[2]-}" $matrix_modes
		modes=("${matched[@]}")
		# shellcheck disable=SC2086
		matrix_matching ROUTE "${columns[3]-}" $matrix_routes
		routes=("${matched[@]}")
		# shellcheck disable=SC2086
		matrix_matching LEVEL "${columns[4]-}" $matrix_levels
		levels=("${matched[@]}")
		outcome=${columns[*]:5}
		matrix_line $number "${outcome:-none}"
	done <"$1"
	matrix_missing
}

# Prints every cell. usage: matrix_all_cells
matrix_all_cells() {
	local kernel iommu mode route level

	while read -r kernel iommu level; do
		for mode in $matrix_modes; do
			for route in $matrix_routes; do
				[ -z "${matrix_cases[$mode $route]-}" ] || echo "$kernel $iommu $mode $route $level"
			done
		done
	done < <(matrix_all_guests)
}

# Prints KERNEL IOMMU LEVEL.
matrix_all_guests() {
	local kernel iommu level

	for level in $matrix_levels; do
		for iommu in $matrix_iommus; do
			for kernel in $kernel_names; do
				echo "$kernel $iommu $level"
			done
		done
	done
}

matrix_missing() {
	local cell

	while read -r cell; do
		[ -n "${matrix_outcome[$cell]-}" ] || matrix_wrong+=("no line has $cell")
	done < <(matrix_all_cells)
}

# Prints why nothing can run there. usage: matrix_absent KERNEL IOMMU LEVEL
matrix_absent() {
	local way

	for way in "${!matrix_cases[@]}"; do
		echo "${matrix_outcome[$1 $2 $way $3]}"
		return
	done
}

# True when something can run there. usage: matrix_can KERNEL IOMMU LEVEL
matrix_can() {
	local way

	for way in "${!matrix_cases[@]}"; do
		[[ ${matrix_outcome[$1 $2 $way $3]-absent} == absent* ]] || return 0
	done
	return 1
}

# Options of tests/lab/run. usage: matrix_options IOMMU LEVEL (in options)
matrix_options() {
	local iommu=${1%-strict} flush=''

	iommu=${iommu%-lazy}
	case $1 in
	*-strict) flush=--strict ;;
	*-lazy) flush=--lazy ;;
	esac
	options=(--iommu "$iommu" --devices 'vgpu,vrnic*2')
	[ "$2" = one ] || options=(--passthrough --host-iommu "${2#on-}" --guest-iommu "$iommu" --devices 'vgpu,vrnic*2')
	[ -z "$flush" ] || options+=("$flush")
}

# The other way round. usage: matrix_of_options OPTION... (in matrix_iommu and matrix_level; false without a
# flush mode where there must be one)
matrix_of_options() {
	local flush='' iommu='' host=''

	while [ $# -gt 0 ]; do
		case $1 in
		--iommu | --guest-iommu) iommu=$2 ;;
		--passthrough) host=${host:-intel} ;;
		--host-iommu) host=$2 ;;
		--strict | --lazy) flush=-${1#--} ;;
		esac
		shift
	done
	matrix_level=one
	[ -z "$host" ] || matrix_level=on-$host iommu=${iommu:-none}
	iommu=${iommu:-intel}
	case $iommu in
	none | *-pt) flush='' ;;
	*) [ -n "$flush" ] || return ;;
	esac
	matrix_iommu=$iommu$flush
}
