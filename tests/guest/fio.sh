#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Unmodified fio: its buffers lie in the BAR, an NVMe VF does the DMA, fio verifies what it reads.
. "$(dirname "$0")/harness/harness.sh"

need() {
	command -v fio >/dev/null || skip "fio is not installed"
	[ -b "${VPEER_NVME_DISK-}" ] || skip "no NVMe VF: VPEER_NVME_DISK is not set"
	need_aperture
	faults=$counters/faults_4k
}

# usage: verified OPTION... (one job that writes random blocks, reads them again and verifies)
verified() {
	local before
	before=$(cat "$faults")

	fio --name=verify --filename="$VPEER_NVME_DISK" --offset=32m --size=4m --bs=64k --direct=1 \
		--mem=mmapshared:"$node" --rw=randwrite --verify=crc32c --do_verify=1 \
		--verify_fatal=1 --output=out --output-format=terse "$@"
	[ "$(cat "$faults")" -gt "$before" ] || fail "fio did not touch the aperture"
}

case_psync() {
	need
	cd "$(mktemp -d)"
	verified --ioengine=psync
}

case_libaio() {
	need
	cd "$(mktemp -d)"
	verified --ioengine=libaio --iodepth=8
}

# The verification that passes above does fail when the disk holds other bytes.
case_verification_can_fail() {
	need
	cd "$(mktemp -d)"
	verified --ioengine=psync
	dd if=/dev/urandom of="$VPEER_NVME_DISK" bs=64k seek=$((32 * 16 + 3)) count=1 oflag=direct \
		conv=notrunc status=none
	! fio --name=verify --filename="$VPEER_NVME_DISK" --offset=32m --size=4m --bs=64k \
		--direct=1 --mem=mmapshared:"$node" --rw=randread --verify=crc32c \
		--verify_fatal=1 --ioengine=psync --output=out2 ||
		fail "fio verified bytes that were overwritten"
}

run_cases "$@"
