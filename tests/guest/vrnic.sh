#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Programs of others on vrnic, unmodified, between two of its functions.
. "$(dirname "$0")/harness/harness.sh"
. "$(dirname "$0")/harness/vrnic.sh"
. "$(dirname "$0")/harness/perftest.sh"

read -ra devices <<<"${VPEER_VRNIC_DEVICES-}"

need_ends() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
	[ ${#devices[@]} -ge 2 ] || skip "fewer than two vrnic here"
	server_options=(-d "${devices[0]}") client_options=(-d "${devices[1]}") address=127.0.0.1
	cd "$(mktemp -d)"
}

# With ordinary memory that can be looked at when the programs have ended.
need() {
	need_ends "$1"
	node=$(mktemp -p /dev/shm) owner=$node
	truncate -s 16M "$node"
	trap 'rm "$node"' EXIT
}

case_devinfo() {
	local device lid lids=()

	need_ends ibv_devinfo
	for device in "${devices[@]}"; do
		expect_output info 0 ibv_devinfo -v -d "$device"
		expect_line '^[[:space:]]*vendor_id:[[:space:]]*0x1234$' info
		expect_line '^[[:space:]]*state:[[:space:]]*PORT_ACTIVE' info
		expect_line '^[[:space:]]*link_layer:[[:space:]]*InfiniBand$' info
		lid=$(awk '$1 == "port_lid:" { print $2 }' info)
		[ "$lid" -gt 0 ]
		[[ " ${lids[*]} " != *" $lid "* ]] || fail "two functions have the LID $lid"
		lids+=("$lid")
	done
}

run_cases "$@"
