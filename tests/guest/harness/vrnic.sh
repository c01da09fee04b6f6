# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Programs of others on vrnic, unmodified: those of rdma-core, and perftest with connections made by its
# own socket.
#
# The script that sources this has the cases and defines need_ends, which takes the program that a case runs,
# skips the case or goes to a directory of its own, and both_ends, which runs as many of a pair's ends as $ends
# says.

case_files+=("${BASH_SOURCE[0]}")
ends=2

# They look at the bytes themselves.
pingpong() {
	need_ends "$1"
	both_ends "$@" -c -n 200 >output
	cat output
	[ "$(grep -c '^200 iters in' output)" -eq "$ends" ]
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
		need_ends "$program"
		both_ends "$program" -F -n 100
	done
}

case_perftest_events() {
	local program

	for program in ib_{read,send,atomic}_bw ib_send_lat; do
		need_ends "$program"
		both_ends "$program" -F -e -n 100
	done
}

case_perftest_large() {
	local program

	for program in ib_{write,read,send}_bw; do
		need_ends "$program"
		both_ends "$program" -F -n 5 -s 8388608
	done
}

case_perftest_ud() {
	local program

	for program in ib_send_{bw,lat}; do
		need_ends "$program"
		both_ends "$program" -F -c UD -n 100
	done
}

deadline perftest_rc 180
deadline perftest_events 120
deadline perftest_large 120
