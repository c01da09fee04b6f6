#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Programs of others on vrnic, unmodified, between two of its functions: those of rdma-core, and perftest
# with connections made by its own socket.
. "$(dirname "$0")/harness/harness.sh"
. "$(dirname "$0")/harness/perftest.sh"

read -ra devices <<<"${VPEER_VRNIC_DEVICES-}"

need_pair() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
	[ ${#devices[@]} -ge 2 ] || skip "fewer than two vrnic here"
	server_options=(-d "${devices[0]}") client_options=(-d "${devices[1]}") address=127.0.0.1
	cd "$(mktemp -d)"
}

# With ordinary memory that can be looked at when the programs have ended.
need() {
	need_pair "$1"
	node=$(mktemp -p /dev/shm) owner=$node
	truncate -s 16M "$node"
	trap 'rm "$node"' EXIT
}

case_devinfo() {
	local device lid lids=()

	need_pair ibv_devinfo
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

# They look at the bytes themselves.
pingpong() {
	need_pair "$1"
	both_ends "$@" -c -n 200 >output
	cat output
	[ "$(grep -c '^200 iters in' output)" -eq 2 ]
}

case_rc_pingpong() {
	pingpong ibv_rc_pingpong
}

case_rc_pingpong_events() {
	pingpong ibv_rc_pingpong -e -s 100000
}

case_ud_pingpong() {
	pingpong ibv_ud_pingpong
}

case_ud_pingpong_events() {
	pingpong ibv_ud_pingpong -e -s 64
}

case_perftest_rc() {
	local program

	for program in ib_{write,read,send,atomic}_{bw,lat}; do
		need_pair "$program"
		both_ends "$program" -F -n 100
	done
}

case_perftest_events() {
	local program

	for program in ib_{read,send,atomic}_bw ib_send_lat; do
		need_pair "$program"
		both_ends "$program" -F -e -n 100
	done
}

case_perftest_large() {
	local program

	for program in ib_{write,read,send}_bw; do
		need_pair "$program"
		both_ends "$program" -F -n 5 -s 8388608
	done
}

case_perftest_ud() {
	local program

	for program in ib_send_{bw,lat}; do
		need_pair "$program"
		both_ends "$program" -F -c UD -n 100
	done
}


deadline perftest_rc 180
deadline perftest_events 120
deadline perftest_large 120

run_cases "$@"
