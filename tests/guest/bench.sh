#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# vpeer bench: what it counts, and what it says where it cannot count.
. "$(dirname "$0")/harness/harness.sh"
. "$(dirname "$0")/harness/figures.sh"

request_limit() {
	echo "/sys/block/${VPEER_NVME_DISK##*/}/queue/max_sectors_kb"
}

# Until the case ends; usage: limit_requests KIB
limit_requests() {
	# shellcheck disable=SC2064 # the present values are meant
	trap "echo $(cat "$(request_limit)") >$(request_limit)" EXIT
	echo "$1" >"$(request_limit)"
}

# The NVMe function reads and writes the window itself: no byte is copied, and all of it is mapped.
case_dma_copies_nothing() {
	local operation memory

	limit_requests 32
	bench /tmp/dma --only disk --block "$VPEER_NVME_DISK" --scratch "$VPEER_NVME_DISK:8M:4M"
	for operation in "disk read" "disk write"; do
		for memory in window host; do
			expect_figure "$operation" $memory COPIED /tmp/dma -eq 0
			expect_figure "$operation" $memory MAPPED /tmp/dma -eq 1024
			expect_figure "$operation" $memory PTES /tmp/dma -ge 512
		done
		# The window is in one piece, so that only the requests divide it.
		expect_figure "$operation" window SG /tmp/dma -eq $((1048576 / 32))
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

# usage: grew WHAT VALUE
grew() {
	[ "$("$1")" -gt "$2" ]
}

packets() {
	cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
}

# A registration sends nothing: packets of others are no copies of its own.
case_packets_of_others() {
	local operation memory

	setsid bash -c 'while vpeer bench --quiet --only rdma --rdma rxe0; do :; done' &
	# shellcheck disable=SC2064 # the present value is meant
	trap "kill -- -$!" EXIT
	wait_for 300 grew packets "$(($(packets) + 8192))"
	bench /tmp/packets --only register --size 64M
	expect_line '^not counted here: COPIED: more packets .*\(first at (de)?register rxe0, ' \
		/tmp/packets
	for operation in register deregister; do
		for memory in window host; do
			[ "$(figure $operation $memory COPIED /tmp/packets)" = - ] ||
				expect_figure $operation $memory COPIED /tmp/packets -eq 0
		done
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
	# The window is there already.
	expect_figure register window ZEROED /tmp/register -eq 0
	expect_figure register window STRUCT-PAGES /tmp/register -eq 0
	# What a row shows is its own operation's work.
	expect_figure deregister window PINS /tmp/register -eq 0
	expect_figure deregister host PINS /tmp/register -eq 0
	[ "$(figure deregister window SG /tmp/register)" = - ] || fail "a list that is not made"
	expect_line '"window_bytes_pinned": *67108864' /tmp/register.json
}

# Of random sizes, so that no two samples get the same added.
read_at_random() {
	while :; do
		dd if="$VPEER_NVME_DISK" of=/dev/null iflag=direct status=none count=2 \
			bs=$((RANDOM % 1024 * 4096 + 4096))
	done
}

pins() {
	cat /proc/sys/vm/stat_refresh # adds up what is kept per CPU
	sed -n 's/^nr_foll_pin_acquired //p' /proc/vmstat
}

sectors_read() {
	awk '{ print $3 }' "/sys/block/${VPEER_NVME_DISK##*/}/stat"
}

# Before 6.5 reads of O_DIRECT take no pins.
expect_noise() {
	local pins

	pins=$(pins)
	wait_for 100 grew sectors_read "$(sectors_read)"
	if kernel_from 6.5; then
		wait_for 100 grew pins "$pins"
	else
		[ "$(pins)" -eq "$pins" ] || fail "reads of O_DIRECT took pins"
	fi
}

# Pins of others are not blamed on the work: the figure is its own, or there is none.
case_pins_of_others() {
	local operation memory got

	bench /tmp/quiet --only register --size 64M
	for memory in window host; do
		expect_figure register $memory PINS /tmp/quiet -ge 262144
		expect_figure deregister $memory PINS /tmp/quiet -eq 0
	done
	read_at_random &
	# shellcheck disable=SC2064 # the present value is meant
	trap "kill $!" EXIT
	expect_noise
	bench /tmp/noisy --only register --size 64M
	for operation in register deregister; do
		for memory in window host; do
			got=$(figure $operation $memory PINS /tmp/noisy)
			[ "$got" = - ] || expect_figure $operation $memory PINS /tmp/quiet -eq "$got"
		done
	done
}

# Against 4 KiB pages the window needs less of everything: the counts tell memories apart.
case_small_pages_cost_more() {
	local kib

	kib=$(cat "$(request_limit)")
	[ "$kib" -ge 64 ] || fail "the disk's requests are never larger than $kib KiB"
	bench /tmp/small --only register,disk --size 64M --host 4k --block "$VPEER_NVME_DISK"
	expect_figure "disk read" window SG /tmp/small -le $((1048576 / 64))
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

# Struct pages that another program's window keeps are not made again, nor counted.
case_touch_finds_pages() {
	need_aperture
	fio --name=hold --ioengine=null --rw=read --size=1g --bs=4k --rate=4k --time_based \
		--runtime=1h --mem=mmapshared:"$node" &
	# shellcheck disable=SC2064 # the present value is meant
	trap "kill $! || :" EXIT
	wait_for 300 window_is_mapped
	bench /tmp/kept --only touch --size 64M
	window_is_mapped || fail "the other program's window is gone"
	expect_figure "first touch" window STRUCT-PAGES /tmp/kept -eq 0
	expect_figure "first touch" window ZEROED /tmp/kept -eq 1024
}

window_is_mapped() {
	[ "$(cat "$counters/mappings")" -gt 0 ]
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
	expect_line '^not counted here: PINS: .*run as root' /tmp/user
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
