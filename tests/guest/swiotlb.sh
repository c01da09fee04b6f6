#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest booted with swiotlb=force, in which all DMA is bounced.
. "$(dirname "$0")/harness/harness.sh"
. "$(dirname "$0")/harness/figures.sh"

keep_detached=yes
deadline selftest_never_passes 180

need_force() {
	grep -qw swiotlb=force /proc/cmdline || skip "this guest was not booted with swiotlb=force"
}

case_attach_is_refused() {
	need_force
	expect_output /tmp/refused 1 vpeer attach "$VPEER_AP_PCI"
	expect_line 'swiotlb=force' /tmp/refused
	[ ! -e "/sys/bus/pci/devices/$VPEER_AP_PCI/driver" ]
	[ "$(cat "/sys/bus/pci/devices/$VPEER_AP_PCI/driver_override")" = "(null)" ]
	[ "$(dmesg | grep -c 'BAR 2 refused: .*swiotlb=force')" -eq 1 ]
}

case_selftest_never_passes() {
	need_force
	vpeer attach --force "$VPEER_AP_PCI"
	expect_output /tmp/verdict 1 vpeer selftest --owner-view "$VPEER_OWNER_DIR" --verbose \
		--block "$VPEER_NVME_DISK" --scratch "$VPEER_NVME_DISK:8M:8M"
	expect_no_line '\<PASS\>' /tmp/verdict
	expect_line 'BOUNCED|UNPROVEN|FAIL' /tmp/verdict
	vpeer detach "$VPEER_AP_PCI"
}

# The counter of copies can move, and those of mappings can stand still.
case_bench_counts_bounces() {
	local operation memory

	need_force
	vpeer attach --force "$VPEER_AP_PCI"
	bench /tmp/bounced --only disk --block "$VPEER_NVME_DISK" --scratch "$VPEER_NVME_DISK:8M:8M"
	for operation in "disk read" "disk write"; do
		for memory in window host; do
			expect_figure "$operation" $memory COPIED /tmp/bounced -ge 1024
			expect_figure "$operation" $memory MAPS /tmp/bounced -eq 0
			expect_figure "$operation" $memory MAPPED /tmp/bounced -eq 0
		done
	done
	vpeer detach "$VPEER_AP_PCI"
}

run_cases "$@"
