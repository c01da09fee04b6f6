#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# vpeer bench: what it counts, and what it says where it cannot count.
. "$(dirname "$0")/harness/harness.sh"

# usage: bench FILE OPTION...
bench() {
	local file=$1

	shift
	expect_output "$file" 0 vpeer bench --quiet --seconds 1 --rdma rxe0 "$@"
}

# usage: figure OPERATION MEMORY COLUMN FILE (from the table of counted work, without its unit)
figure() {
	awk -F '  +' -v operation="$1" -v memory="$2" -v column="$3" '
		$1 == "WORK PER GiB" { for (i = 1; i <= NF; i++) if ($i == column) at = i }
		$1 == operation && $3 == memory { sub(/ MiB$/, "", $at); print $at; exit }' "$4"
}

# usage: expect_figure OPERATION MEMORY COLUMN FILE TEST VALUE (as in: -eq 0)
expect_figure() {
	local got

	got=$(figure "$1" "$2" "$3" "$4")
	[[ $got =~ ^[0-9]+$ ]] || fail "$1, $2: $3 is '$got', no number"
	test "$got" "$5" "$6" || fail "$1, $2: $3 is $got, not $5 $6"
}

# The NVMe function reads and writes the window itself: no byte is copied, and all of it is mapped.
case_dma_copies_nothing() {
	local operation memory

	bench /tmp/dma --only disk --block "$VPEER_NVME_DISK" --scratch "$VPEER_NVME_DISK:8M:4M"
	for operation in "disk read" "disk write"; do
		for memory in window host; do
			expect_figure "$operation" $memory COPIED /tmp/dma -eq 0
			expect_figure "$operation" $memory MAPPED /tmp/dma -eq 1024
			expect_figure "$operation" $memory PTES /tmp/dma -ge 512
		done
		expect_figure "$operation" window SG /tmp/dma -le "$(figure "$operation" host SG /tmp/dma)"
		expect_figure "$operation" window MAPS /tmp/dma -le \
			"$(figure "$operation" host MAPS /tmp/dma)"
	done
}

# Soft RDMA copies into a packet and out of it: the counter of copies can move.
case_soft_rdma_copies() {
	local memory

	bench /tmp/soft --only rdma
	for memory in window host; do
		expect_figure "RDMA write" $memory COPIED /tmp/soft -eq 2048
		expect_figure "RDMA read" $memory COPIED /tmp/soft -eq 2048
	done
}

case_registration() {
	bench /tmp/register --only register --size 64M --json=/tmp/register.json
	expect_figure register window SG /tmp/register -le "$(figure register host SG /tmp/register)"
	# Newer kernels try without the mmap lock first, in vain for file mappings, and count both.
	expect_figure register window PINS /tmp/register -ge 262144
	expect_figure register window PINS /tmp/register -le 524288
	expect_figure register host PINS /tmp/register -ge 262144
	expect_figure register window COPIED /tmp/register -eq 0
	expect_figure register window FAULTS-2M /tmp/register -eq 0
	expect_line '"window_bytes_pinned": *67108864' /tmp/register.json
}

# Against 4 KiB pages the window needs less of everything: the counts tell memories apart.
case_small_pages_cost_more() {
	bench /tmp/small --only register,disk --size 64M --host 4k --block "$VPEER_NVME_DISK"
	expect_figure register host SG /tmp/small -gt "$(figure register window SG /tmp/small)"
	expect_figure "disk read" host SG /tmp/small -gt "$(figure "disk read" window SG /tmp/small)"
	expect_figure "disk read" host MAPS /tmp/small -gt \
		"$(figure "disk read" window MAPS /tmp/small)"
}

case_first_touch() {
	bench /tmp/touch --only touch --size 64M --host 4k --svg /tmp/touch.svg
	expect_figure "first touch" window ZEROED /tmp/touch -eq 1024
	expect_figure "first touch" window FAULTS-2M /tmp/touch -eq 512
	expect_figure "first touch" window FAULTS-4K /tmp/touch -eq 0
	expect_figure "first touch" window STRUCT-PAGES /tmp/touch -gt 0
	expect_figure "first touch" host FAULTS-2M /tmp/touch -eq 0
	expect_figure "first touch" host FAULTS-4K /tmp/touch -ge 262144
	expect_line '^first touch .* (inconclusive|faster|equal|slower) ' /tmp/touch
	expect_line '^</svg>$' /tmp/touch.svg
}

# Only what runs underneath decides what could be measured.
case_says_what_is_missing() {
	bench /tmp/missing --only register --size 2M
	expect_line '^unmeasured here: PCIe bandwidth: .*TCG' /tmp/missing
	expect_line '^unmeasured here: RDMA by hardware: rxe0' /tmp/missing
	expect_line '^not counted here: INSTRUCTIONS: perf_event_open' /tmp/missing
	expect_no_line '^not counted here: (COPIED|MAPS|PINS)' /tmp/missing
}

case_without_root() {
	ulimit -l unlimited
	expect_output /tmp/user 0 setpriv --reuid 65534 --regid vpeer --clear-groups \
		vpeer bench --quiet --seconds 1 --only register --size 2M --rdma rxe0
	expect_line '^not counted here: MAPS: tracefs is not readable' /tmp/user
	expect_line '^not counted here: SG: .*pagemap shows no addresses' /tmp/user
	[ "$(figure register window MAPS /tmp/user)" = - ] || fail "a figure without its source"
}

case_refusals() {
	expect_output /tmp/refused 1 vpeer bench --quiet --size 4G --only touch
	expect_line 'name a smaller --size' /tmp/refused
	expect_status 2 vpeer bench --only everything
	expect_output /tmp/refused 1 vpeer bench --quiet --size 2M --only touch --json=/nowhere/json
	expect_line '^vpeer: /nowhere/json: No such file' /tmp/refused
	expect_no_line '^WORK PER GiB' /tmp/refused
	vpeer detach "$VPEER_AP_PCI"
	expect_output /tmp/refused 77 vpeer bench --quiet
	expect_line 'no aperture is attached' /tmp/refused
	vpeer attach "$VPEER_AP_PCI"
}

run_cases "$@"
