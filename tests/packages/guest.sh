#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In a guest whose root is the system that the packages were installed on.
. "$(dirname "$0")/../guest/harness/harness.sh"

keep_detached=yes
test_name=guest-$(uname -r | cut -d. -f1-2)

case_module_loads() {
	[ ! -e /sys/module/vpeer ]
	modprobe vpeer
	[ "$(cat /sys/module/vpeer/version)" = "$VPEER_TEST_VERSION" ]
	[[ $(modinfo -n vpeer) == */updates/dkms/vpeer.ko* ]]
	[[ $(modinfo -F vermagic vpeer) == "$(uname -r) "* ]]
	wait_for 50 test -c /dev/vpeerctl
}

case_attach_and_list() {
	vpeer attach "$VPEER_AP_PCI"
	vpeer list >/tmp/list
	cat /tmp/list
	expect_line "$VPEER_AP_PCI" /tmp/list
}

# udev makes them so, by the rule that the package brings.
case_nodes() {
	local link=/dev/vpeer/by-path/pci-$VPEER_AP_PCI-bar2

	udevadm settle --timeout=20
	[ "$(stat -c '%a %U %G' /dev/vpeerctl)" = "660 root vpeer" ] || fail "$(ls -l /dev/vpeerctl)"
	need_aperture
	[ "$(stat -c '%a %U %G' "$node")" = "660 root vpeer" ] || fail "$(ls -l "$node")"
	[ "$(readlink -f "$link")" = "$node" ] || fail "$(ls -lR /dev/vpeer)"
}

# Members of the group may open the node, others not.
case_group_decides() {
	local group

	need_aperture
	group=$(getent group vpeer | cut -d: -f3)
	setpriv --reuid=1000 --regid=1000 --groups="$group" dd if=/dev/null of="$node" conv=notrunc
	expect_output /tmp/said 1 setpriv --reuid=1000 --regid=1000 --clear-groups \
		dd if=/dev/null of="$node" conv=notrunc
	expect_line 'Permission denied' /tmp/said
}

# The path works: a disk reads and writes the aperture, as its owner sees it.
case_selftest() {
	vpeer selftest --owner-view "$VPEER_OWNER_DIR" --block "$VPEER_ATS_DISK" \
		--scratch "$VPEER_ATS_DISK:8M:8M" >/tmp/selftest
	expect_line 'PASS$' /tmp/selftest
}

# What a package of another version says while this one's module runs. DKMS's part and what is said of
# each kernel, which take minutes here, are left out.
case_other_version_installed() {
	sed '/^# Automatically added by dh_dkms/,/^# End automatically added/d; s#/lib/modules/\*#/none/*#' \
		/var/lib/dpkg/info/vpeer-dkms.postinst >/tmp/postinst
	expect_output /tmp/said 0 sh /tmp/postinst configure
	expect_no_line 'is loaded' /tmp/said
	sed -i 's/^version=.*/version=99.0/' /tmp/postinst
	expect_output /tmp/said 0 sh /tmp/postinst configure
	expect_line "^vpeer-dkms: vpeer $VPEER_TEST_VERSION is loaded and runs on: .*rmmod" /tmp/said
}

case_unload() {
	vpeer detach "$VPEER_AP_PCI"
	rmmod vpeer
	[ ! -e /dev/vpeerctl ]
}

run_cases "$@"
