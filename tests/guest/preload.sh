#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# perftest, unmodified, with what it registers going through libvpeer-preload.so. Bytes are compared from the
# owner's side.
. "$(dirname "$0")/harness/harness.sh"
# For what it has besides cases, which are other groups'.
here=$(dirname "$0")
# shellcheck source=tests/guest/harness/perftest.sh
. "$here/harness/perftest.sh"
case_files=("$0")

read -ra vrnics <<<"${VPEER_VRNIC_DEVICES-}"

# usage: need rxe|vrnic
need() {
	need_aperture
	case $1 in
	rxe)
		use_soft_roce
		;;
	vrnic)
		[ ${#vrnics[@]} -ge 2 ] || skip "fewer than two vrnic here"
		server_options=(-d "${vrnics[0]}") client_options=(-d "${vrnics[1]}") address=127.0.0.1
		;;
	esac
	owner=$VPEER_OWNER_DIR/$VPEER_AP_PCI-bar2
	cd "$(mktemp -d)"
}

# usage: preloaded COMMAND... (what the library says goes to the file journal)
preloaded() {
	local status=0

	# shellcheck disable=SC2016 # for the dynamic linker
	export LD_PRELOAD='/usr/$LIB/vpeer/libvpeer-preload.so' VPEER_PRELOAD_LOG=$PWD/journal
	"$@" || status=$?
	unset LD_PRELOAD VPEER_PRELOAD_LOG
	[ ! -e journal ] || cat journal
	return $status
}

# usage: expect_lines NUMBER PATTERN FILE
expect_lines() {
	[ "$(grep -Ec "$2" "$3")" -eq "$1" ] || fail "not $1 lines match '$2'"
}

# perftest closes the node before it registers: no DMA-buf of the window is to be had then.
case_windows_on_vrnic() {
	need vrnic
	preloaded perftest ib_write_bw -s $size
	take_halves
	arrived client-first server-second server-first
	for device in "${vrnics[@]:0:2}"; do
		expect_lines 1 "bytes: window, by pages, on $device\$" journal
	done
	expect_lines 2 'in all: 1 through libvpeer, 0 straight, 0 refused$' journal
}

case_windows_on_rxe() {
	need rxe
	preloaded perftest ib_read_bw -s $size
	take_halves
	arrived server-second client-first client-second
	expect_lines 2 'bytes: window, by pages, on rxe0$' journal
	expect_lines 2 'in all: 1 through libvpeer, 0 straight, 0 refused$' journal
}

case_host_memory_goes_straight() {
	need vrnic
	preloaded both_ends ib_write_bw -F -n 100
	for device in "${vrnics[@]:0:2}"; do
		expect_lines 1 "bytes: host, straight, on $device\$" journal
	done
	expect_lines 2 'in all: 0 through libvpeer, 1 straight, 0 refused$' journal
}

# Without the library nobody says anything.
case_without_it() {
	need vrnic
	VPEER_PRELOAD_LOG=$PWD/journal perftest ib_write_bw -s $size
	take_halves
	arrived client-first server-second server-first
	[ ! -e journal ] || fail "something wrote a journal"
}

case_silent_unless_asked() {
	need vrnic
	# shellcheck disable=SC2016
	LD_PRELOAD='/usr/$LIB/vpeer/libvpeer-preload.so' perftest ib_write_bw -s $size >output 2>&1
	cat output
	expect_no_line vpeer-preload output
}

# It has the RDMA device's library by dlopen(), not among those that the program was linked with.
case_ucx() {
	need rxe
	head -c $((1 << 20)) /dev/urandom >bytes
	UCX_TLS=rc_verbs,tcp:aux UCX_NET_DEVICES=rxe0:1,lo preloaded expect_output output 0 \
		"$(dirname "$0")/../interop/build/ucx_putget" "$VPEER_AP_PCI" bytes
	expect_line '^put Success$' output
	expect_line '^get Success$' output
	[ "$(grep -Ec 'window, by pages, on rxe0$' journal)" -ge 2 ]
}

run_cases "$@"
