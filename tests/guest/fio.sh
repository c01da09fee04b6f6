#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Unmodified fio: its buffers lie in the BAR, an NVMe VF or a disk with ATS does the DMA, fio
# verifies what it reads.
. "$(dirname "$0")/harness/harness.sh"

need() {
	command -v fio >/dev/null || skip "fio is not installed"
	[ -b "${VPEER_NVME_DISK-}" ] || skip "no NVMe VF: VPEER_NVME_DISK is not set"
	[ -b "${VPEER_ATS_DISK-}" ] || skip "no disk with ATS: VPEER_ATS_DISK is not set"
	need_aperture
	cd "$(mktemp -d)"
}

# usage: job DISK BUFFER OPTION... (writes random blocks, reads them again and verifies)
job() {
	local disk=$1 buffer=$2

	shift 2
	fio --name=verify --filename="$disk" --offset=32m --size=1m --bs=64k --direct=1 \
		--mem=mmapshared:"$buffer" --rw=randwrite --verify=crc32c --do_verify=1 \
		--verify_fatal=1 --output-format=terse "$@"
}

faults() {
	echo $(($(cat "$counters/faults_4k") + $(cat "$counters/faults_2m")))
}

# usage: verified DISK OPTION...
verified() {
	local before
	before=$(faults)

	job "$1" "$node" "${@:2}"
	[ "$(faults)" -gt "$before" ] || fail "fio did not touch the aperture"
}

case_psync() {
	need
	verified "$VPEER_NVME_DISK" --ioengine=psync
	verified "$VPEER_ATS_DISK" --ioengine=psync
}

case_libaio() {
	need
	verified "$VPEER_NVME_DISK" --ioengine=libaio --iodepth=8
	verified "$VPEER_ATS_DISK" --ioengine=libaio --iodepth=8
}

case_io_uring() {
	need
	verified "$VPEER_NVME_DISK" --ioengine=io_uring --iodepth=8
	verified "$VPEER_ATS_DISK" --ioengine=io_uring --iodepth=8
}

# Kernel 6.1 registers no file mappings as buffers but those of tmpfs and hugetlbfs, which a file
# of ramfs tells: other kernels look at its pages.
case_io_uring_fixed_buffers() {
	local options=(--ioengine=io_uring --iodepth=8 --fixedbufs=1)

	need
	truncate -s 4M tmpfs-file
	job "$VPEER_NVME_DISK" "$PWD/tmpfs-file" "${options[@]}"
	mkdir ramfs
	mount -t ramfs ramfs ramfs
	truncate -s 4M ramfs/file
	job "$VPEER_NVME_DISK" "$PWD/ramfs/file" "${options[@]}" >ramfs-output 2>&1 || :
	umount ramfs
	cat ramfs-output
	if grep -q 'Operation not supported' ramfs-output; then
		expect_output output 1 job "$VPEER_NVME_DISK" "$node" "${options[@]}"
		expect_line 'Operation not supported' output
	else
		verified "$VPEER_NVME_DISK" "${options[@]}"
		verified "$VPEER_ATS_DISK" "${options[@]}"
	fi
}

# The verification that passes above does fail when the disk holds other bytes.
case_verification_can_fail() {
	need
	verified "$VPEER_NVME_DISK" --ioengine=psync
	dd if=/dev/urandom of="$VPEER_NVME_DISK" bs=64k seek=$((32 * 16 + 3)) count=1 oflag=direct \
		conv=notrunc status=none
	! job "$VPEER_NVME_DISK" "$node" --ioengine=psync --rw=randread ||
		fail "fio verified bytes that were overwritten"
}

run_cases "$@"
