#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# "vpeer doctor" on a real guest: its facts, and the faults that show without traffic.
. "$(dirname "$0")/harness/harness.sh"
. "$(dirname "$0")/../lab/guest/functions.sh"
. "$(dirname "$0")/harness/pci_facts.sh"

document_functions=".functions[]"

# usage: examine [EXPECTED-STATUS]
examine() {
	local status=0

	vpeer doctor --json >/tmp/check.json || status=$?
	cat /tmp/check.json
	[ $status -eq "${1-$status}" ] || fail "status $status"
	[ $status -le 1 ] || fail "status $status"
}

# usage: finding NAME OBJECT FIELD
finding() {
	field ".checks[] | select(.name == \"$1\" and .object == \"$2\") | .$3"
}

case_facts_agree_with_lspci_and_sysfs() {
	local pci compared=0

	examine
	for pci in $(field "$document_functions.pci"); do
		same_place "$pci"
		same_function "$pci"
		same_config "$pci"
	done
	same functions "$(field "[$document_functions.pci] | join(\" \")")" \
		"$(find /sys/bus/pci/devices/ -mindepth 1 -printf '%f\n' | sort | paste -sd' ')"
	same release "$(field .machine.osrelease)" "$(uname -r)"
	same cmdline "$(field .machine.cmdline)" "$(sed 's/ *$//' /proc/cmdline)"
	same role "$(of_function "$VPEER_AP_PCI" .role)" memory
	[ $compared -gt 200 ] || fail "only $compared fields compared"
	echo "# vpeer doctor --json: $compared fields as lspci and sysfs have them"
}

# Each of them shows evidence, and what is to be mended by whom.
case_findings_are_whole() {
	examine
	[ "$(field '.checks | length')" -gt 5 ] || fail "only $(field '.checks | length') findings"
	[ "$(field '[.checks[] | select((.evidence | length) == 0 or .meaning == "")] | length')" = 0 ] ||
		fail "a finding without evidence or meaning"
	[ "$(field '[.checks[] | select((.state == "warn" or .state == "fail") and
		(.remedy == null or .job == null))] | length')" = 0 ] ||
		fail "a finding without remedy or job"
	[ "$(field '.summary | .ok + .warn + .fail + .unknown')" = "$(field '.checks | length')" ] ||
		fail "the summary does not add up"
	vpeer doctor >/tmp/said || [ $? -eq 1 ]
	expect_line '^whether peer DMA works: not measured' /tmp/said
	! grep -iE '(peer DMA|path|pair)s? works?\b' /tmp/said || fail "it says that something works"
}

# Who is not root is told what that keeps from view.
case_without_root() {
	as_stranger vpeer doctor --json >/tmp/check.json || [ $? -eq 1 ]
	[ "$(field .machine.privileged)" = false ] || fail "a stranger is privileged"
	[ "$(of_function "$VPEER_AP_PCI" .config_bytes)" = 64 ] || fail "a stranger reads it all"
	[ "$(field '[.checks[] | select(.state == "unknown" and (.meaning | contains("root")))] | length')" -gt 0 ] ||
		fail "nothing is unknown for want of root"
}

run_cases "$@"
