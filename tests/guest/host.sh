#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# On an emulated host with an IOMMU and KVM, whose aperture and NVMe VF are vfio-pci's.
. "$(dirname "$0")/harness/harness.sh"
. "$(dirname "$0")/../lab/guest/functions.sh"
. "$(dirname "$0")/harness/pci_facts.sh"

deadline emitted_line_boots 400
document_functions="(.devices + .bridges)[]"
both=("${VPEER_HOST_APERTURE-}" "${VPEER_HOST_NVME-}")

same_vf() {
	local pci=$1 place=/sys/bus/pci/devices/$1 pf

	pf=$(readlink -f "$place/physfn")
	same "$pci physfn" "$(of_function "$pci" .sriov.physfn)" "${pf##*/}"
	same "$pci is VF" "$(readlink -f "$pf/virtfn$(of_function "$pci" .sriov.vf)")" \
		"$(readlink -f "$place")"
}

# usage: is_there PATH (as the document has it)
is_there() {
	if [ -e "$1" ]; then echo true; else echo false; fi
}

same_machine() {
	local remapped=false name size

	! grep -q ' IR-' /proc/interrupts || remapped=true
	same remapping "$(field .host.iommu.interrupt_remapping)" "$remapped"
	same units "$(field .host.iommu.units)" "$(find /sys/class/iommu -mindepth 1 | wc -l)"
	name=$(field .host.iommu.driver)
	same "IOMMU driver" "$name" "$(find /sys/class/iommu/*/ -maxdepth 1 -name '*-iommu' -printf '%f\n' | head -n 1)"
	same "address bits" "$(field .host.cpu.physical_bits)" \
		"$(sed -n 's/^address sizes.*: \([0-9]*\) bits physical.*/\1/p;T;q' /proc/cpuinfo)"
	same kvm "$(field .host.kvm.kvm)" "$(is_there /dev/kvm)"
	same "kvm module" "$(field .host.kvm.module)" "$(lsmod | awk '/^kvm_(intel|amd) / { print $1 }')"
	same type1 "$(field .host.vfio.vfio_iommu_type1)" "$(is_there /sys/module/vfio_iommu_type1)"
	same container "$(field .host.vfio.container)" "$(is_there /dev/vfio/vfio)"
	same iommufd "$(field .host.vfio.iommufd)" "$(is_there /dev/iommu)"
	same nodes "$(field .host.numa_nodes)" "$(find /sys/devices/system/node -name 'node[0-9]*' -prune | wc -l)"
	size=$(awk '/^Hugepagesize:/ { print $2 * 1024 }' /proc/meminfo)
	same "huge pages" "$(field ".host.hugepages[] | select(.node == null and .size == $size) | \"\(.nr_hugepages) \(.free_hugepages)\"")" \
		"$(awk '/^HugePages_(Total|Free):/ { printf "%s%s", sep, $2; sep = " " }' /proc/meminfo)"
}

case_check_agrees_with_lspci_and_sysfs() {
	local pci compared=0 status=0

	# Numbers that are not zero, nor all the same.
	echo 3 >/proc/sys/vm/nr_hugepages
	vpeer host check --json >/tmp/check.json || status=$?
	cat /tmp/check.json
	[ $status -le 1 ] || fail "status $status"
	for pci in $(field '(.devices + .bridges)[].pci'); do
		same_place "$pci"
		same_config "$pci"
	done
	for pci in "${both[@]}"; do
		same_function "$pci"
		same_link "$pci"
	done
	same_vf "$VPEER_HOST_NVME"
	same_machine
	same devices "$(field '[.devices[].pci] | sort | join(" ")')" "$(printf '%s\n' "${both[@]}" | sort | paste -sd' ')"
	same groups "$(field .host.iommu.groups)" "$(find /sys/kernel/iommu_groups -mindepth 1 -maxdepth 1 | wc -l)"
	same release "$(field .host.osrelease)" "$(uname -r)"
	same cmdline "$(field .host.cmdline)" "$(sed 's/ *$//' /proc/cmdline)"
	[ $compared -gt 120 ] || fail "only $compared fields compared"
	echo "# vpeer host check --json: $compared fields as lspci and sysfs have them"
}

# usage: same_settings NETDEV VF-NUMBER VF-ADDRESS (as iproute2 tells them)
same_settings() {
	local name told seen

	vpeer host check --json "$3" >/tmp/check.json || [ $? -eq 1 ]
	ip -json -details link show dev "$1" >/tmp/link.json
	for name in trust spoofchk link_state rate.max_tx rate.min_tx; do
		told=$(field ".devices[] | select(.pci == \"$3\") | .sriov.settings |
			. + { rate: { max_tx: .max_tx_rate, min_tx: .min_tx_rate } } | .$name")
		seen=$(jq -r ".[0].vfinfo_list[] | select(.vf == $2) | .$name" /tmp/link.json)
		[[ $seen =~ ^(true|false|auto|[0-9]+)$ ]] || fail "ip shows no $name of VF $2"
		same "$3 $name" "$told" "$seen"
	done
}

has_network() {
	find_only "$1"/net/*
}

has_carrier() {
	[ "$(cat "/sys/class/net/$1/carrier")" = 1 ]
}

# usage: give_network_back PF
give_network_back() {
	echo 0 >"$1/sriov_numvfs"
	modprobe -r igb
}

# Settings of a VF are its PF's, and asked from the PF's driver.
case_settings_of_network_vfs() {
	local pf net vf compared=0 before

	find_functions network
	pf=/sys/bus/pci/devices/$first_function
	modprobe igb
	# shellcheck disable=SC2064 # the PF is known by now
	trap "give_network_back $pf" EXIT
	wait_until has_network "$pf"
	net=$only
	echo 0 >"$pf/sriov_drivers_autoprobe"
	echo 2 >"$pf/sriov_numvfs"
	follow "$pf/virtfn1"
	vf=$followed
	same_settings "$net" 1 "$vf"
	before=$(field '.devices[0].sriov.settings')
	# A rate is taken only below the link's.
	ip link set "$net" up
	wait_until has_carrier "$net"
	ip link set "$net" vf 1 trust on
	ip link set "$net" vf 1 spoofchk off
	ip link set "$net" vf 1 max_tx_rate 100
	same_settings "$net" 1 "$vf"
	[ "$(field '.devices[0].sriov.settings')" != "$before" ] || fail "the settings did not change"
	vpeer host check "$vf" >/tmp/said || :
	expect_line "sending is limited to 100 Mbit/s" /tmp/said
	expect_line "ip link set $net vf 1 max_tx_rate 0" /tmp/said
	[ $compared -eq 10 ] || fail "only $compared settings compared"
}

# The ports above are looked at, and are no operands.
case_bridges_are_no_operands() {
	local above command

	above=$(basename "$(dirname "$(readlink -f "/sys/bus/pci/devices/$VPEER_HOST_APERTURE")")")
	for command in check xml qemu; do
		vpeer host $command "$above" >/tmp/out 2>/tmp/said && fail "$command: it was accepted"
		[ ! -s /tmp/out ] || fail "$command: half an answer"
		expect_line "^vpeer: $above: .*it is a bridge" /tmp/said
		expect_line 'remedy: name the endpoints' /tmp/said
	done
}

# The chipset's ISA bridge shares a group with SATA and SMBus; VFIO minds the driver of each.
case_driver_of_a_bridge_keeps_the_group() {
	local bridge=0000:00:1f.0 sata=0000:00:1f.2 driver=/sys/bus/pci/drivers/lpc_ich

	modprobe lpc_ich
	[ -e "$driver/$bridge" ] || fail "lpc_ich is not the bridge's driver"
	vpeer host check "$sata" >/tmp/said && fail "no failure told"
	expect_line "^fail +$sata +iommu-group: .*$bridge \(lpc_ich\)" /tmp/said
	vpeer host qemu "$sata" 0000:00:1f.3 >/tmp/out 2>/tmp/said && fail "it was accepted"
	expect_line "the bridge $bridge, which the host uses by lpc_ich" /tmp/said
	echo "$bridge" >"$driver/unbind"
	vpeer host check "$sata" 0000:00:1f.3 >/tmp/said || :
	echo "$bridge" >"$driver/bind"
	cat /tmp/said
	expect_no_line "$bridge" /tmp/said
}

# More memory than the host has; and more CPUs than that, which is only told.
case_more_than_the_host_has() {
	vpeer host qemu --memory 64G "$VPEER_HOST_APERTURE" >/tmp/out 2>/tmp/said && fail "it was accepted"
	[ ! -s /tmp/out ] || fail "half a command line"
	expect_line '64 GiB of memory are wanted of ' /tmp/said
	vpeer host qemu --memory 512M --cpus 4000 "$VPEER_HOST_APERTURE" >/tmp/out 2>/tmp/said
	expect_line "4000 CPUs are wanted, and the host has $(nproc --all)" /tmp/said
}

# A function that is its own driver's is refused, and nothing is printed.
case_not_assignable() {
	local pf

	pf=$(basename "$(readlink -f "/sys/bus/pci/devices/$VPEER_HOST_NVME/physfn")")
	vpeer host qemu "$VPEER_HOST_APERTURE" "$pf" >/tmp/line 2>/tmp/said && fail "it was accepted"
	cat /tmp/said
	[ ! -s /tmp/line ] || fail "half a command line"
	expect_line "$pf" /tmp/said
	expect_line 'remedy: ' /tmp/said
}

valid() {
	xmllint --noout --relaxng /usr/share/libvirt/schemas/domain.rng "$1"
}

case_xml_is_what_libvirt_takes() {
	local option

	for option in '' '--firmware seabios' '--guest-iommu intel'; do
		# shellcheck disable=SC2086 # words
		vpeer host xml --memory 512M $option "${both[@]}" >/tmp/domain.xml
		valid /tmp/domain.xml
	done
	cat /tmp/domain.xml
	# Control: the schema sees what is wrong.
	sed 's/pcie-root-port/no-such-port/' /tmp/domain.xml >/tmp/wrong.xml
	! valid /tmp/wrong.xml
}

# The guest has the devices as the line says, and the path is proven in it.
case_emitted_line_boots() {
	local rest

	mapfile -d '' -t rest <"$VPEER_GUEST_REST"
	vpeer host qemu --lines --firmware seabios --memory 1G --cpus 1 "${both[@]}" -- "${rest[@]}" >/tmp/lines
	cat /tmp/lines
	grep -q "host=$VPEER_HOST_APERTURE" /tmp/lines
	tr '\n' '\0' </tmp/lines >/tmp/words
	# shellcheck disable=SC2016 # for the guest's shell
	expect_status 0 /run/vpeer-lab/start-guest --words /tmp/words sh -c 'vpeer selftest --quiet \
		--owner-view "$VPEER_OWNER_DIR" --sizes 4096,65536 \
		--block "$VPEER_NVME_DISK" --scratch "$VPEER_NVME_DISK:8M:8M"'
	cat "$VPEER_GUEST_DIR/stdout"
	expect_line 'PASS$' "$VPEER_GUEST_DIR/stdout"
}

run_cases "$@"
