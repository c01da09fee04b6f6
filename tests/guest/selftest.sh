#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The main job: vpeer selftest on every initiator of the guest.
. "$(dirname "$0")/harness/harness.sh"

deadline every_pair 180
deadline no_owner_view 120
deadline detached_meanwhile 120

selftest() {
	vpeer selftest --quiet "$@"
}

# Before 6.5 O_DIRECT takes no pins; where no IOMMU translates either, nothing proves where it went.
disks_provable() {
	case $(cat "/sys/bus/pci/devices/$VPEER_NVME_VF/iommu_group/type" || :) in
	DMA | DMA-FQ) ;;
	*) kernel_from 6.5 ;;
	esac
}

# usage: expect_count COUNT PATTERN FILE
expect_count() {
	[ "$(grep -Eo -- "$2" "$3" | wc -l)" -eq "$1" ] || fail "not $1 times '$2'"
}

case_every_pair() {
	local passes=4

	disks_provable || passes=2
	expect_output /tmp/all.json $((passes < 4)) selftest --owner-view "$VPEER_OWNER_DIR" --rdma rxe0 --rdma rxe1 \
		--block "$VPEER_NVME_DISK" --scratch "$VPEER_NVME_DISK:8M:8M" \
		--block "$VPEER_ATS_DISK" --scratch "$VPEER_ATS_DISK:8M:8M" --json
	expect_count $passes '"verdict": *"PASS"' /tmp/all.json
	expect_count $((4 - passes)) '"verdict": *"UNPROVEN"' /tmp/all.json
	expect_count $((4 - passes)) '"remedy": *"boot with a translating IOMMU' /tmp/all.json
}

# Bytes that only the CPU compared through the BAR prove too little, unless that is accepted.
case_no_owner_view() {
	expect_output /tmp/unproven 1 selftest --rdma rxe0 --sizes 4096
	expect_line 'UNPROVEN' /tmp/unproven
	expect_output /tmp/accepted 0 selftest --rdma rxe0 --sizes 4096 --accept window
	expect_line 'PASS' /tmp/accepted
}

# Another file than the memory: what arrives is not seen there.
case_wrong_owner_view() {
	truncate -s 64M "/tmp/other-bar2"
	expect_output /tmp/wrong 1 selftest --rdma rxe0 --sizes 4096 --owner-view /tmp/other-bar2
	expect_line 'FAIL' /tmp/wrong
}

case_nothing_to_test() {
	vpeer detach "$VPEER_AP_PCI"
	expect_status 77 selftest
	vpeer attach "$VPEER_AP_PCI"
}

case_usage() {
	expect_status 2 selftest --aperture nonsense
	expect_status 2 selftest --no-such-option
}

# usage: on_disk DISK PLACE (tests a pair with a disk, which may be overwritten at PLACE)
on_disk() {
	selftest --aperture "$VPEER_AP_PCI" --accept window --sizes 4096 --block "$1" \
		--scratch "$1:$2:1M"
}

# usage: expect_on_disk FILE DISK PLACE (the pair passes, or is unproven where it cannot be proven)
expect_on_disk() {
	if disks_provable; then
		expect_output "$1" 0 on_disk "$2" "$3"
		expect_line ' ok +ok .* PASS$' "$1"
	else
		expect_output "$1" 1 on_disk "$2" "$3"
		expect_line ' ok +ok .* UNPROVEN$' "$1"
		expect_line 'remedy: boot with a translating IOMMU' "$1"
	fi
}

case_disk_by_link() {
	mkdir -p /tmp/links
	ln -sfn "$VPEER_NVME_DISK" /tmp/links/disk
	ln -sfn /tmp/links /tmp/more-links
	expect_on_disk /tmp/linked /tmp/more-links/disk 8M
	expect_line "^$VPEER_AP_PCI .* ${VPEER_NVME_DISK#/dev/} " /tmp/linked
	ln -sfn /tmp/nowhere /tmp/links/dangling
	expect_output /tmp/dangling 1 on_disk /tmp/links/dangling 8M
	expect_line 'there is no such disk' /tmp/dangling
}

# A table with one partition, 8 MiB from 24 MiB on.
partition_table() {
	head -c 446 /dev/zero
	printf '\0\0\0\0\203\0\0\0\0\300\0\0\0\100\0\0'
	head -c 48 /dev/zero
	printf '\125\252'
}

# A partition is refused, with where it starts: a range of the disk is what is meant.
# udev may look at the disk for a moment after each change.
case_partition_as_scratch() {
	local disk=$VPEER_NVME_DISK

	dd if="$disk" of=/tmp/sector bs=512 count=1 status=none
	partition_table | dd of="$disk" bs=512 conv=fsync status=none
	wait_for 50 blockdev --rereadpt "$disk"
	wait_for 50 test -b "${disk}p1"
	expect_output /tmp/partition 1 on_disk "${disk}p1" 0
	dd if=/tmp/sector of="$disk" bs=512 conv=fsync status=none
	wait_for 50 blockdev --rereadpt "$disk"
	expect_line "partition of the disk $disk, from byte $((24 << 20)) on" /tmp/partition
	expect_line "add $((24 << 20)) to the offset" /tmp/partition
	expect_on_disk /tmp/whole "$disk" 24M
}

# A mounted disk is never written to; it can be tested again once it is free.
# A member of the group has windows, but may not open disks; that is told once.
case_disk_needs_root() {
	[ -n "${VPEER_NVME_DISK-}" ] || skip "no NVMe disk"
	expect_output /tmp/member 1 setpriv --reuid=31001 --regid=vpeer --clear-groups \
		vpeer selftest --quiet --block "$VPEER_NVME_DISK" --accept window
	expect_line '^UNPROVEN: .*: cannot open: Permission denied$' /tmp/member
	expect_line 'remedy: run as root$' /tmp/member
	[ "$(grep -c 'cannot open' /tmp/member)" -eq 1 ]
	expect_output /tmp/unaligned 1 vpeer selftest --quiet --block "$VPEER_NVME_DISK" \
		--scratch "$VPEER_NVME_DISK:100:8M" --accept window
	expect_line 'remedy: use multiples of [0-9]+ for offset and length$' /tmp/unaligned
	expect_no_line '^APERTURE' /tmp/unaligned
}

case_mounted_disk() {
	local disk=$VPEER_ATS_DISK

	dd if="$disk" of=/tmp/head bs=1M count=1 status=none
	mke2fs -q -F -t ext2 -b 1024 "$disk" 1024
	modprobe ext4
	mount -t ext2 "$disk" /mnt
	expect_output /tmp/mounted 1 on_disk "$disk" 8M
	umount /mnt
	dd if=/tmp/head of="$disk" bs=1M count=1 conv=fsync status=none
	expect_line 'the disk is busy: mounted' /tmp/mounted
	expect_line 'unmount it' /tmp/mounted
	expect_on_disk /tmp/unmounted "$disk" 8M
}

# More than a machine that emulates can do in a second.
case_deadline_of_a_pair() {
	expect_output /tmp/late 1 selftest --rdma rxe0 --accept window --timeout 1 \
		--sizes 16M,15M,14M,13M,12M,11M,10M,9M
	expect_line 'TIMEOUT' /tmp/late
	expect_line 'a slow machine needs --timeout' /tmp/late
}

pinned() {
	[ "$(cat "$counters/bytes_pinned")" -gt 0 ]
}

nothing_quarantined() {
	[ -z "$(cat /sys/class/misc/vpeerctl/quarantine)" ]
}

# The pair fails, says so, and lets go.
case_detached_meanwhile() {
	local pid status=0

	need_aperture
	selftest --rdma rxe0 --accept window --sizes 16M,15M,14M,13M,12M,11M,10M \
		>/tmp/interrupted 2>&1 &
	pid=$!
	wait_for 200 pinned
	vpeer detach "$VPEER_AP_PCI" || :
	wait $pid || status=$?
	cat /tmp/interrupted
	[ "$status" -eq 1 ] || fail "selftest ended with status $status"
	expect_line 'FAIL' /tmp/interrupted
	wait_for 100 nothing_quarantined
	vpeer attach "$VPEER_AP_PCI"
	expect_output /tmp/afterwards 0 selftest --rdma rxe0 --accept window --sizes 4096
}

run_cases "$@"
