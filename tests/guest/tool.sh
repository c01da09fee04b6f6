#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The command on the real module.
. "$(dirname "$0")/harness/harness.sh"
. "$(dirname "$0")/../lab/guest/functions.sh"

case_list() {
	vpeer list >/tmp/list
	cat /tmp/list
	expect_line "^$VPEER_AP_PCI +2 +owned +64 MiB +write-combining " /tmp/list
	expect_line '^PCI .* PINNED +WINDOWS +DMABUFS +IMPORTED +NODE ' /tmp/list
	vpeer list --json >/tmp/list.json
	expect_line "$VPEER_AP_PCI" /tmp/list.json
	expect_line '"dmabufs": *0,' /tmp/list.json
	expect_line '"dmabuf_bytes_mapped": *0$' /tmp/list.json
}

# As sysfs has them, in each form.
case_stat() {
	local name

	need_aperture
	vpeer stat >/tmp/stat
	cat /tmp/stat
	expect_line "^$VPEER_AP_PCI BAR 2 \(/dev/vpeer[0-9]+, owned, ok\)$" /tmp/stat
	expect_line '^  size +64 MiB$' /tmp/stat
	vpeer stat --prometheus "$VPEER_AP_PCI" >/tmp/stat
	expect_line '^vpeer_module_loaded\{version="[0-9.]+"\} 1$' /tmp/stat
	expect_line "^vpeer_aperture_free_bytes\{pci=\"$VPEER_AP_PCI\",bar=\"2\",node=\"$node\"\} $(cat "$counters/bytes_free")$" /tmp/stat
	vpeer stat --json "$VPEER_AP_PCI" >/tmp/stat
	for name in size bytes_free bytes_pinned windows mappings faults_4k faults_2m bytes_scrubbed revocations \
		dmabufs dmabuf_maps dmabuf_bytes_mapped; do
		expect_line "\"$name\": *$(cat "$counters/$name"),?$" /tmp/stat
	done
	vpeer detach "$VPEER_AP_PCI"
	expect_output /tmp/stat 1 vpeer stat "$VPEER_AP_PCI"
	expect_line 'no BAR of this function is attached' /tmp/stat
}

case_detach_and_attach() {
	vpeer detach "$VPEER_AP_PCI"
	expect_output /tmp/twice 1 vpeer detach "$VPEER_AP_PCI"
	vpeer list >/tmp/empty
	! grep -q "$VPEER_AP_PCI" /tmp/empty || fail "listed after detach"
	vpeer attach "$VPEER_AP_PCI" >/tmp/attached
	expect_line "$VPEER_AP_PCI BAR 2: 64 MiB attached as /dev/vpeer[0-9]+" /tmp/attached
	expect_output /tmp/again 1 vpeer attach "$VPEER_AP_PCI"
	expect_line 'remedy|attached' /tmp/again
}

case_attach_names_the_driver() {
	need_aperture
	vpeer detach "$VPEER_AP_PCI"
	modprobe pci-stub
	bind_driver "$VPEER_AP_PCI" pci-stub
	expect_output /tmp/bound 1 vpeer attach "$VPEER_AP_PCI"
	bind_driver "$VPEER_AP_PCI"
	vpeer attach "$VPEER_AP_PCI"
	expect_line 'driver pci-stub owns' /tmp/bound
	expect_line 'unbind' /tmp/bound
}

# Where no BAR would do, unbinding the driver is no remedy.
case_attach_judges_the_bar_first() {
	[ -n "${VPEER_NVME_VF-}" ] || skip "no NVMe VF"
	expect_output /tmp/bound 1 vpeer attach "$VPEER_NVME_VF"
	expect_line "^vpeer: $VPEER_NVME_VF: .*has no prefetchable memory BAR" /tmp/bound
	expect_no_line 'unbind' /tmp/bound
	expect_output /tmp/bound 1 vpeer attach "$VPEER_NVME_VF" --bar 0 --force
	expect_line "^vpeer: $VPEER_NVME_VF BAR 0: .*under 2 MiB" /tmp/bound
}

case_attach_refuses_bridges() {
	local above

	need_aperture
	above=$(basename "$(dirname "$(readlink -f "/sys/bus/pci/devices/$VPEER_AP_PCI")")")
	expect_output /tmp/bridge 1 vpeer attach "$above"
	expect_line "^vpeer: $above: .*it is a bridge" /tmp/bridge
	expect_no_line 'unbind' /tmp/bridge
}

# The BAR is the object, or the lack of one that would do is told.
case_attach_names_the_bar() {
	[ -n "${VPEER_EDU_PCI-}" ] || skip "no DMA engine"
	expect_output /tmp/bar 1 vpeer attach "$VPEER_EDU_PCI"
	expect_line "^vpeer: $VPEER_EDU_PCI: .*has no prefetchable memory BAR" /tmp/bar
	expect_line 'remedy: .*--bar N, and --force' /tmp/bar
	expect_output /tmp/bar 1 vpeer attach "$VPEER_EDU_PCI" --bar 3
	expect_line "^vpeer: $VPEER_EDU_PCI BAR 3: .*no such BAR" /tmp/bar
	expect_output /tmp/bar 1 vpeer attach "$VPEER_EDU_PCI" --bar 0 --force
	expect_line "^vpeer: $VPEER_EDU_PCI BAR 0: .*under 2 MiB" /tmp/bar
	expect_line 'remedy: pick a BAR that holds memory' /tmp/bar
}

case_strangers_are_sent_to_root() {
	local command

	need_aperture
	for command in attach detach revoke; do
		expect_output /tmp/stranger 1 as_stranger vpeer $command "$VPEER_AP_PCI"
		expect_line 'permission denied' /tmp/stranger
		expect_line 'remedy: run it as root$' /tmp/stranger
	done
	expect_output /tmp/stranger 1 as_stranger vpeer bench --quiet --only touch --size 2M \
		--json=/tmp/stranger.json
	expect_line 'remedy: join the group vpeer' /tmp/stranger
	[ "$(grep -c remedy: /tmp/stranger)" -eq 1 ]
	[ ! -e /tmp/stranger.json ]
}

case_revoke_needs_root() {
	need_aperture
	expect_output /tmp/revoke 1 setpriv --reuid=31001 --regid=31001 --groups="$(getent group vpeer | cut -d: -f3)" \
		vpeer revoke "$VPEER_AP_PCI"
	expect_line 'remedy: run it as root$' /tmp/revoke
	vpeer revoke "$VPEER_AP_PCI" >/tmp/revoked
	expect_line ': 0 windows revoked$' /tmp/revoked
	[ -c "$node" ]
}

case_revoke_of_nothing() {
	expect_output /tmp/revoke 1 vpeer revoke 0000:ff:1f.7
	expect_line 'there is no PCI function' /tmp/revoke
	expect_output /tmp/revoke 1 vpeer revoke 0000:00:00.0
	expect_line 'no BAR of this function is attached' /tmp/revoke
}

case_loads_the_module() {
	vpeer detach "$VPEER_AP_PCI"
	rmmod vpeer
	vpeer attach "$VPEER_AP_PCI"
	[ -e /sys/module/vpeer ]
}

run_cases "$@"
