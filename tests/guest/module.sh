#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Loading and unloading.
. "$(dirname "$0")/harness/harness.sh"

case_stays_while_open() {
	need_aperture
	exec 5<>"$node"
	expect_status 1 rmmod vpeer
	exec 5>&-
	exec 5<>/dev/vpeerctl
	expect_status 1 rmmod vpeer
	exec 5>&-
}

case_unload_and_load() {
	local round

	for round in 1 2 3 4 5; do
		rmmod vpeer
		[ ! -e /dev/vpeerctl ]
		[ ! -e /sys/class/vpeer ]
		[ ! -e "/sys/bus/pci/devices/$VPEER_AP_PCI/driver" ]
		expect_no_line vpeer /proc/iomem
		modprobe vpeer
		wait_for 50 test -c /dev/vpeerctl
		[ -e "/sys/bus/pci/devices/$VPEER_AP_PCI/driver" ] || vpeer attach "$VPEER_AP_PCI"
		wait_for 50 test -d "/sys/bus/pci/devices/$VPEER_AP_PCI/vpeer"
	done
	echo "$round rounds"
}

# The function is free for any driver then, as it was before attach.
case_unload_clears_the_override() {
	local override=/sys/bus/pci/devices/$VPEER_AP_PCI/driver_override

	vpeer detach "$VPEER_AP_PCI"
	[ "$(cat "$override")" = "(null)" ]
	vpeer attach "$VPEER_AP_PCI"
	rmmod vpeer
	modprobe vpeer
	[ "$(cat "$override")" = "(null)" ] || fail "driver_override is still '$(cat "$override")'"
	[ ! -e "/sys/bus/pci/devices/$VPEER_AP_PCI/driver" ]
}

case_parameters_are_checked() {
	local parameters=/sys/module/vpeer/parameters

	[ "$(cat $parameters/revoke_wait_ms)" = 2000 ]
	[ "$(cat $parameters/holder_signal)" = 0 ]
	[ "$(cat $parameters/max_bytes_per_user)" = 0 ]
	! echo 10001 >$parameters/revoke_wait_ms || fail "revoke_wait_ms took 10001"
	! echo -1 >$parameters/revoke_wait_ms || fail "revoke_wait_ms took -1"
	! echo 65 >$parameters/holder_signal || fail "holder_signal took 65"
	! echo many >$parameters/max_bytes_per_user || fail "max_bytes_per_user took a word"
	[ "$(cat $parameters/revoke_wait_ms)" = 2000 ]
}

case_module_information() {
	modinfo vpeer >/tmp/modinfo
	expect_line '^license: +GPL$' /tmp/modinfo
	expect_line '^description: +.+' /tmp/modinfo
	expect_line '^version: +[0-9]+\.[0-9]+\.[0-9]+$' /tmp/modinfo
	expect_line '^parm: +revoke_wait_ms:' /tmp/modinfo
	expect_line '^parm: +holder_signal:' /tmp/modinfo
	expect_line '^parm: +max_bytes_per_user:' /tmp/modinfo
	expect_line '^parm: +allow_pinned_importers:.*from the next import on' /tmp/modinfo
}

run_cases "$@"
