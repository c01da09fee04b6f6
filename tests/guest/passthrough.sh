#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a guest to which a host's QEMU passed an aperture and an NVMe VF by VFIO.
. "$(dirname "$0")/harness/harness.sh"

deadline every_pair 180
deadline bar_unmapped 120

# As a user of the packages has it.
case_installed_by_packages() {
	[[ $(modinfo -n vpeer) == */updates/dkms/vpeer.ko* ]] || fail "$(modinfo -n vpeer)"
	grep -qx "$(command -v vpeer)" /var/lib/dpkg/info/vpeer-tools.list
	grep -q "^/usr/src/vpeer-$(cat /sys/module/vpeer/version)/" /var/lib/dpkg/info/vpeer-dkms.list
}

# The devices are the host's, not emulated by this VMM.
case_devices_by_vfio() {
	/run/vpeer-lab/monitor 'info qtree' >/tmp/qtree
	[ "$(grep -c 'dev: vfio-pci' /tmp/qtree)" -ge 2 ] || fail "$(grep 'dev: ' /tmp/qtree)"
	! grep -E 'dev: (ivshmem|nvme,)' /tmp/qtree
}

case_attached() {
	need_aperture
	[ "$(cat "$counters/status")" = ok ]
	[ "$(cat "$counters/kind")" = owned ]
	echo "a read takes $(cat "$counters/read_ns") ns, of configuration space $(cat "$counters/config_read_ns") ns"
	[ "$(cat "$counters/config_read_ns")" -gt 0 ]
}

# Prints what was compared, for the run's output.
compared() {
	sed -n 's/.*"bytes_verified": *\([0-9]*\).*/\1/p' "$1" | awk '{ sum += $1 } END { print sum }'
}

case_every_pair() {
	expect_output /tmp/all.json 0 vpeer selftest --quiet --owner-view "$VPEER_OWNER_DIR" \
		--aperture "$VPEER_AP_PCI" --rdma rxe0 --rdma rxe1 \
		--block "$VPEER_NVME_DISK" --scratch "$VPEER_NVME_DISK:8M:8M" \
		--sizes 8,4096,65536 --json
	[ "$(grep -o '"verdict": *"PASS"' /tmp/all.json | wc -l)" -eq 3 ] ||
		fail "not three pairs with PASS"
	[ "$(compared /tmp/all.json)" -gt 500000 ] || fail "too few bytes compared"
	echo "# $(uname -r), $VPEER_LAB_IOMMU as the guest's IOMMU: $(compared /tmp/all.json) bytes compared"
}

# The last aperture is one that the VMM does not map. It is never a pass, and its cause is named.
case_bar_unmapped() {
	local bad=${VPEER_AP_ALL##* }

	[ "$bad" != "$VPEER_AP_PCI" ] || fail "only one aperture: $VPEER_AP_ALL"
	[ "$(cat "/sys/bus/pci/devices/$bad/vpeer/"vpeer*/status)" = trapped ]
	expect_output /tmp/bad 1 vpeer selftest --quiet --owner-view "$VPEER_OWNER_DIR" \
		--aperture "$bad" --rdma rxe0 --block "$VPEER_NVME_DISK"
	expect_line 'the VMM does not map this BAR' /tmp/bad
	expect_line 'on the host, ' /tmp/bad
	expect_no_line 'PASS' /tmp/bad
	expect_output /tmp/bad 1 vpeer bench --quiet --aperture "$bad" --only touch,disk --size 2M --seconds 1 \
		--block "$VPEER_NVME_DISK"
	[ "$(grep -c 'the VMM does not map this BAR' /tmp/bad)" -eq 1 ] || fail "not told once"
	expect_line '^vpeer: first touch, disk read ' /tmp/bad
}

# Both at once: the good one passes, and the run as a whole does not.
case_one_good_one_bad() {
	expect_output /tmp/both 1 vpeer selftest --quiet --owner-view "$VPEER_OWNER_DIR" \
		--block "$VPEER_NVME_DISK" --scratch "$VPEER_NVME_DISK:8M:8M" --sizes 4096
	expect_line "^$VPEER_AP_PCI .* PASS$" /tmp/both
	expect_line "^${VPEER_AP_ALL##* } .* FAIL$" /tmp/both
}

# No claim, explicit or by mmap(): an instruction that the VMM cannot emulate would end the guest.
case_no_window() {
	local bad=${VPEER_AP_ALL##* } node

	node=$(echo "/sys/bus/pci/devices/$bad/vpeer/"vpeer*)
	expect_output /tmp/fio 1 fio --name=w --filename="$VPEER_NVME_DISK" --rw=read --size=64k --direct=1 \
		--readonly --mem="mmapshared:/dev/${node##*/}"
	expect_line 'Operation not supported' /tmp/fio
}

run_cases "$@"
