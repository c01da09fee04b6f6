#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The library's examples, as they are installed, on a window.
. "$(dirname "$0")/harness/harness.sh"

examples=$(cd "$(dirname "$0")/../../lib/examples/build" && pwd)

# vrnic imports DMA-bufs, soft-RoCE does not.
read -ra devices <<<"${VPEER_VRNIC_DEVICES-}"
route=dmabuf
[ ${#devices[@]} -gt 0 ] || route=pages devices=(rxe0 rxe1)
device=${devices[0]}

# usage: example NAME ARGUMENT... (its output is in /tmp/said)
example() {
	expect_output /tmp/said 0 "$examples/$1" "${@:2}"
}

case_register() {
	example register "$device" "$VPEER_AP_PCI"
	expect_line "^$device: 1048576 bytes of kind window by route $route, lkey 0x[0-9a-f]+, rkey 0x[0-9a-f]+$" /tmp/said
	expect_line '^1 found, 1 registered$' /tmp/said
	example register "$device"
	expect_line "^$device: 1048576 bytes of kind host by route pages, " /tmp/said
	expect_line '^0 found, 2 registered$' /tmp/said
}

case_rails() {
	example rails "$VPEER_AP_PCI" "${devices[@]}"
	[ "$(grep -c "^.*: 4194304 bytes of kind window by route $route, " /tmp/said)" -eq ${#devices[@]} ]
}

case_revoke() {
	example revoke "$device" "$VPEER_AP_PCI"
	expect_line "^$device: 1048576 bytes of kind window by route $route, " /tmp/said
	expect_line 'was taken back' /tmp/said
}

case_flush() {
	example flush "$device" 1 "$VPEER_AP_PCI"
	expect_line '^flushed$' /tmp/said
}

# A mapping of a window's DMA-buf has no pages to pin.
case_dmabuf() {
	if [ $route = pages ]; then
		expect_output /tmp/said 1 "$examples/dmabuf" "$device" "$VPEER_AP_PCI"
		expect_line "the RDMA device's driver imports no DMA-bufs" /tmp/said
		return
	fi
	example dmabuf "$device" "$VPEER_AP_PCI"
	expect_line '^memory of kind window, /dev/vpeer[0-9]+$' /tmp/said
	expect_line "^$device: 1048576 bytes of kind dmabuf by route dmabuf, " /tmp/said
}

# Soft-RoCE is where its network device is; that may hang off a function's virtio device.
function_of_device() {
	local at=/sys/class/infiniband/$device

	if [ -e "$at/parent" ]; then
		realpath "/sys/class/net/$(cat "$at/parent")/device"
	else
		realpath "$at/device"
	fi | grep -o '[0-9a-f]*:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]\.[0-7]' | tail -n 1
}

case_nearest() {
	local function

	function=$(function_of_device)
	example nearest "$VPEER_AP_PCI"
	expect_line "^$device $function same-(switch|root-port|bridge|node)$" /tmp/said
	example nearest "$function"
	expect_line "^$device $function same-function$" /tmp/said
	[ "$(head -n 1 /tmp/said | cut -d' ' -f3)" = same-function ]
}

case_refused() {
	expect_output /tmp/said 1 "$examples/register" "$device" 0000:ff:1f.7
	expect_output /tmp/said 1 "$examples/flush" "$device" 99 "$VPEER_AP_PCI"
	expect_line 'to be mended by ' /tmp/said
	expect_output /tmp/said 1 "$examples/nearest" 0000:ff:1f.7
	expect_line 'there is no PCI function' /tmp/said
}

run_cases "$@"
