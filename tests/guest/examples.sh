#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The library's examples, as they are installed, on a window.
. "$(dirname "$0")/harness/harness.sh"

examples=$(cd "$(dirname "$0")/../../lib/examples/build" && pwd)

# usage: example NAME ARGUMENT... (its output is in /tmp/said)
example() {
	expect_output /tmp/said 0 "$examples/$1" "${@:2}"
}

case_register() {
	example register rxe0 "$VPEER_AP_PCI"
	expect_line '^rxe0: 1048576 bytes of kind window by route pages, lkey 0x[0-9a-f]+, rkey 0x[0-9a-f]+$' /tmp/said
	expect_line '^1 found, 1 registered$' /tmp/said
	example register rxe0
	expect_line '^rxe0: 1048576 bytes of kind host by route pages, ' /tmp/said
	expect_line '^0 found, 2 registered$' /tmp/said
}

case_rails() {
	example rails "$VPEER_AP_PCI" rxe0 rxe1
	expect_line '^rxe0: 4194304 bytes of kind window ' /tmp/said
	expect_line '^rxe1: 4194304 bytes of kind window ' /tmp/said
}

case_revoke() {
	example revoke rxe0 "$VPEER_AP_PCI"
	expect_line '^rxe0: 1048576 bytes of kind window ' /tmp/said
	expect_line 'was taken back' /tmp/said
}

case_flush() {
	example flush rxe0 1 "$VPEER_AP_PCI"
	expect_line '^flushed$' /tmp/said
}

case_dmabuf() {
	example dmabuf rxe0 "$VPEER_AP_PCI"
	expect_line "^memory of kind window, /dev/vpeer[0-9]+$" /tmp/said
	expect_line '^rxe0: 1048576 bytes of kind dmabuf by route pages, ' /tmp/said
}

# rxe0 is on a network device of a function.
case_nearest() {
	local function

	function=$(basename "$(realpath "/sys/class/net/$(cat /sys/class/infiniband/rxe0/parent)/device/..")")
	example nearest "$VPEER_AP_PCI"
	expect_line "^rxe0 $function (same-(switch|root-port|bridge|node)|far|unknown)$" /tmp/said
	example nearest "$function"
	expect_line "^rxe0 $function same-function$" /tmp/said
	[ "$(head -n 1 /tmp/said | cut -d' ' -f3)" = same-function ]
}

case_refused() {
	expect_output /tmp/said 1 "$examples/register" rxe0 0000:ff:1f.7
	expect_output /tmp/said 1 "$examples/flush" rxe0 99 "$VPEER_AP_PCI"
	expect_line 'to be mended by ' /tmp/said
	expect_output /tmp/said 1 "$examples/nearest" 0000:ff:1f.7
	expect_line 'there is no PCI function' /tmp/said
}

run_cases "$@"
