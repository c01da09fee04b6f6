#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The main job: vpeer selftest on every initiator of the guest.
. "$(dirname "$0")/harness/harness.sh"

deadline every_pair 180
deadline no_owner_view 120

selftest() {
	vpeer selftest --quiet "$@"
}

case_every_pair() {
	expect_output /tmp/all.json 0 selftest --owner-view "$VPEER_OWNER_DIR" --rdma rxe0 --rdma rxe1 \
		--block "$VPEER_NVME_DISK" --scratch "$VPEER_NVME_DISK:8M:8M" \
		--block "$VPEER_ATS_DISK" --scratch "$VPEER_ATS_DISK:8M:8M" --json
	[ "$(grep -o '"verdict": *"PASS"' /tmp/all.json | wc -l)" -eq 4 ] ||
		fail "not four pairs with PASS"
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

run_cases "$@"
