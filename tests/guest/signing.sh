#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Signed and unsigned modules where the kernel enforces signatures. The guest was booted with
# module.sig_enforce=1 and without the module; VPEER_TEST_SIGN tells how the module was signed.
. "$(dirname "$0")/harness/harness.sh"

keep_detached=yes

need_enforcement() {
	[ "$(cat /sys/module/module/parameters/sig_enforce)" = Y ] ||
		skip "this guest does not enforce module signatures"
	[ "${VPEER_TEST_SIGN-}" = "$1" ] || skip "the module of this guest is not signed so: $1"
}

case_key_of_the_firmware() {
	need_enforcement db
	modinfo -F signer vpeer | grep .
	vpeer attach "$VPEER_AP_PCI"
	vpeer list
	vpeer detach "$VPEER_AP_PCI"
	rmmod vpeer
}

# Not loaded, nothing changed, and what to do about it is said.
refused() {
	expect_status 1 modprobe vpeer
	expect_output /tmp/refused 1 vpeer attach "$VPEER_AP_PCI"
	[ ! -e /sys/module/vpeer ]
	[ ! -e "/sys/bus/pci/devices/$VPEER_AP_PCI/driver" ]
	expect_line 'not loaded: module signatures are enforced' /tmp/refused
	expect_line 'remedy: .*mokutil --import' /tmp/refused
}

case_unsigned() {
	need_enforcement none
	refused
}

case_unknown_key() {
	need_enforcement unknown
	refused
}

run_cases "$@"
