#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Unmodified perftest with both ends' buffers in the BAR. Each process opens the node itself and so
# owns its own window. Bytes are compared from the owner's side.
. "$(dirname "$0")/harness/harness.sh"
. "$(dirname "$0")/harness/perftest.sh"

need() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
	need_aperture
	use_soft_roce
	owner=$VPEER_OWNER_DIR/$VPEER_AP_PCI-bar2
	cd "$(mktemp -d)"
}

# Two programs cannot have the same range.
case_owned_range_is_refused() {
	need ib_write_bw
	client_at=$server_at
	if (perftest ib_write_bw -s $size) >output 2>&1; then
		fail "both ends got the same range"
	fi
	cat output
	expect_line 'work buf|Resource busy|create MR' output
}

run_cases "$@"
