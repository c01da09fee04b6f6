#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# "vpeer doctor" on a real guest: its facts, and the faults that show without traffic.
. "$(dirname "$0")/harness/harness.sh"
. "$(dirname "$0")/../lab/guest/functions.sh"
. "$(dirname "$0")/harness/pci_facts.sh"

deadline facts_agree_with_lspci_and_sysfs 150
document_functions=".functions[]"

examine() {
	local status=0

	vpeer doctor --json >/tmp/check.json || status=$?
	cat /tmp/check.json
	[ $status -le 1 ] || fail "status $status"
}

# usage: finding NAME OBJECT FIELD
finding() {
	field ".checks[] | select(.name == \"$1\" and .object == \"$2\") | .$3"
}

case_facts_agree_with_lspci_and_sysfs() {
	local pci compared=0

	examine
	# Memory, initiators and the bridges above, four of them: each field is a run of jq.
	for pci in $(field "[$document_functions | select(.role != \"other\")][:4] | [.[] | .pci, .bridges[]] |
		unique[]"); do
		same_place "$pci"
		same_function "$pci"
		same_config "$pci"
	done
	same functions "$(field "[$document_functions.pci] | join(\" \")")" \
		"$(find /sys/bus/pci/devices/ -mindepth 1 -printf '%f\n' | sort | paste -sd' ')"
	same release "$(field .machine.osrelease)" "$(uname -r)"
	same cmdline "$(field .machine.cmdline)" "$(sed 's/ *$//' /proc/cmdline)"
	same role "$(of_function "$VPEER_AP_PCI" .role)" memory
	[ $compared -gt 100 ] || fail "only $compared fields compared"
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
	! grep -v '^whether peer DMA works: not measured' /tmp/said | grep -iE '(peer DMA|path|pair)s? works?\b' || fail "it says that something works"
}

# Who is not root is told what that keeps from view.
case_without_root() {
	as_stranger vpeer doctor --json >/tmp/check.json || [ $? -eq 1 ]
	[ "$(field .machine.privileged)" = false ] || fail "a stranger is privileged"
	[ "$(of_function "$VPEER_AP_PCI" .config_bytes)" = 64 ] || fail "a stranger reads it all"
	[ "$(field '[.checks[] | select(.state == "unknown" and (.meaning | contains("root")))] | length')" -gt 0 ] ||
		fail "nothing is unknown for want of root"
}

# usage: blames STATE NAME OBJECT-BEGINNING WORDS COMMAND... (the command runs the doctor: plain, or with
# less to it)
blames() {
	local state=$1 name=$2 object=$3 words=$4

	shift 4
	"$@" vpeer doctor --json >/tmp/check.json || [ $? -eq 1 ]
	field ".checks[] | select(.name == \"$name\" and (.object | startswith(\"$object\")) and
		.state == \"$state\") | .meaning + \"; remedy: \" + .remedy" >/tmp/said
	cat /tmp/said
	grep -q -- "$words" /tmp/said || fail "no $state of $name for $object with '$words'"
}

# usage: is_well NAME OBJECT-BEGINNING (before something is broken, and after it is mended)
is_well() {
	vpeer doctor --json >/tmp/check.json || [ $? -eq 1 ]
	[ "$(field "[.checks[] | select(.name == \"$1\" and (.object | startswith(\"$2\"))) | .state] | unique |
		join(\" \")")" = ok ] || fail "$1 of $2 is not ok"
}

case_configuration_space() {
	local control

	need_aperture
	is_well command "$VPEER_AP_PCI"
	control=$(setpci -s "$VPEER_AP_PCI" COMMAND)
	setpci -s "$VPEER_AP_PCI" COMMAND=0:2
	blames fail command "$VPEER_AP_PCI" 'does not answer to its addresses'
	setpci -s "$VPEER_AP_PCI" "COMMAND=$control"
	is_well command "$VPEER_AP_PCI"
}

case_node() {
	need_aperture
	is_well vpeer-node "$VPEER_AP_PCI"
	chmod 0666 "$node"
	blames warn vpeer-node "$VPEER_AP_PCI" '0660'
	chmod 0660 "$node"
	is_well vpeer-node "$VPEER_AP_PCI"
}

case_module() {
	need_aperture
	is_well module vpeer
	vpeer detach "$VPEER_AP_PCI"
	rmmod vpeer
	vpeer doctor --json >/tmp/check.json || [ $? -eq 1 ]
	finding module vpeer meaning >/tmp/said
	expect_line "is there and not loaded: 'vpeer attach' loads it" /tmp/said
	[ "$(field '[.checks[] | select(.name == "vpeer-node")] | length')" = 0 ] || fail "a node is left"
	echo 'blacklist vpeer' >/etc/modprobe.d/vpeer-test.conf
	blames warn module vpeer 'blacklisted'
	rm /etc/modprobe.d/vpeer-test.conf
	vpeer attach "$VPEER_AP_PCI"
	is_well module vpeer
}

case_limits_and_settings() {
	is_well memlock machine
	# Capable of IPC_LOCK, the limit does not hold.
	blames fail memlock machine '64 KiB' prlimit --memlock=65536:65536 \
		setpriv --reuid=31002 --regid=31002 --clear-groups
	blames fail library-settings machine 'NCCL uses no RDMA device' env NCCL_IB_DISABLE=1
}

# All NVIDIA's: of a function, or of the machine where the line names none.
case_kernel_log() {
	echo "<3>NVRM: Xid (PCI:$VPEER_AP_PCI): 79, pid=1, GPU has fallen off the bus." >/dev/kmsg
	vpeer doctor --json >/tmp/check.json || [ $? -eq 1 ]
	field '.checks[] | select(.state == "fail" or .state == "warn") | .evidence[].value' >/tmp/said
	expect_line 'Xid .*: 79, .*fallen off the bus' /tmp/said
}

# In a guest without an IOMMU that was booted with swiotlb=force.
case_all_dma_bounced() {
	blames fail kernel-command-line machine 'swiotlb=force'
}

# In a guest whose VMM does not map the last aperture's BAR.
case_trapped_aperture() {
	local trapped

	trapped=$(grep -lx trapped /sys/class/vpeer/vpeer*/status) || skip "no BAR is trapped"
	trapped=$(basename "$(readlink "$(dirname "$trapped")/device")")
	blames fail aperture "$trapped" 'traps every access'
	is_well vpeer-node "$trapped"
}

run_cases "$@"
