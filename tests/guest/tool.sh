#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The command on the real module.
. "$(dirname "$0")/harness/harness.sh"

case_list() {
	vpeer list >/tmp/list
	cat /tmp/list
	expect_line "^$VPEER_AP_PCI +2 +owned +64 MiB +write-combining " /tmp/list
	vpeer list --json >/tmp/list.json
	expect_line "$VPEER_AP_PCI" /tmp/list.json
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
	[ -n "${VPEER_NVME_VF-}" ] || skip "no NVMe VF"
	expect_output /tmp/bound 1 vpeer attach "$VPEER_NVME_VF"
	expect_line 'driver nvme owns' /tmp/bound
	expect_line 'unbind' /tmp/bound
}

case_revoke_needs_root() {
	need_aperture
	expect_output /tmp/revoke 1 setpriv --reuid=31001 --regid=31001 --groups="$(getent group vpeer | cut -d: -f3)" \
		vpeer revoke "$VPEER_AP_PCI"
	vpeer revoke "$VPEER_AP_PCI" >/tmp/revoked
	expect_line ': 0 windows revoked$' /tmp/revoked
	[ -c "$node" ]
}

case_loads_the_module() {
	vpeer detach "$VPEER_AP_PCI"
	rmmod vpeer
	vpeer attach "$VPEER_AP_PCI"
	[ -e /sys/module/vpeer ]
}

run_cases "$@"
