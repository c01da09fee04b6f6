#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The packages of /debs, installed on a minimal system that has kernels with headers; then those of
# /new over them; then none. Each case takes the tree as the one before left it.
. "$(dirname "$0")/tree.sh"

deadline install 400
deadline module_for_each_kernel 400
deadline upgrade 400

case_install() {
	tree_paths >/state/before
	expect_output /tmp/said 0 install_debs /debs
	expect_no_line '^vpeer-dkms: no module' /tmp/said
}

# usage: expect_modules VERSION KERNEL...
expect_modules() {
	local kernel file

	[ $# -gt 1 ] || fail "no kernel with headers"
	for kernel in "${@:2}"; do
		dkms status -m vpeer -v "$1" -k "$kernel" >/tmp/status
		grep -F "vpeer/$1, $kernel, x86_64: installed" /tmp/status || fail "$(cat /tmp/status)"
		file=$(modinfo -k "$kernel" -n vpeer)
		[[ $file == */lib/modules/$kernel/updates/dkms/vpeer.ko* ]] || fail "$kernel: it is $file"
		[[ $(modinfo -k "$kernel" -F vermagic vpeer) == "$kernel "* ]] || fail "$kernel: vermagic"
		[ "$(modinfo -k "$kernel" -F version vpeer)" = "$1" ] || fail "$kernel: version"
		modinfo -k "$kernel" -F signer vpeer | grep -q . || fail "$kernel: not signed"
	done
}

# DKMS builds for the running kernel and the newest, if the running one is the machine's, and else for
# all; for one that it left out, when that boots.
build_for_others() {
	local kernel

	for kernel in $(kernels); do
		[ -n "$(dkms status -m vpeer -v "$1" -k "$kernel")" ] || dkms autoinstall -k "$kernel"
	done
}

case_module_for_each_kernel() {
	local found

	build_for_others "$version"
	mapfile -t found < <(kernels)
	expect_modules "$version" "${found[@]}"
}

case_group() {
	getent group vpeer
	expect_line '^g vpeer -' /usr/lib/sysusers.d/vpeer.conf
}

case_command() {
	local file

	vpeer --version >/tmp/said
	expect_line "^vpeer $version," /tmp/said
	for file in man1/vpeer.1 man1/vpeer-selftest.1 man8/vpeer-attach.8 man8/vpeer-detach.8 \
		man8/vpeer-revoke.8 man7/vpeer-host.7 man8/vpeer-host.8 man3/libvpeer.3 \
		man3/vpeer_close.3; do
		[ -f "/usr/share/man/$file.gz" ] || fail "no $file"
	done
	[ -f /usr/lib/udev/rules.d/60-vpeer.rules ]
	# shellcheck disable=SC2016 # for the other shell
	bash -euc '. /usr/share/bash-completion/completions/vpeer
		COMP_WORDS=(vpeer att) COMP_CWORD=1; _vpeer; [ "${COMPREPLY[*]}" = attach ]'
}

case_upgrade() {
	local found new

	new=$(dpkg-deb --field "$(echo /new/vpeer-dkms_*.deb)" Version)
	[ "$new" != "$version" ]
	install_debs /new
	build_for_others "$new"
	mapfile -t found < <(kernels)
	expect_modules "$new" "${found[@]}"
	vpeer --version >/tmp/said
	expect_line "^vpeer $new," /tmp/said
	[ -z "$(dkms status -m vpeer -v "$version")" ] || fail "still there: $(dkms status)"
	[ ! -e "/usr/src/vpeer-$version" ]
	[ ! -e "/var/lib/dkms/vpeer/$version" ]
}

# As is Debian's custom, the group stays: its number may own files. The rest is DKMS's own key.
case_purge() {
	local kernel

	DEBIAN_FRONTEND=noninteractive apt-get purge --yes vpeer-dkms vpeer-tools libvpeer-dev libvpeer1
	tree_paths >/state/after
	diff /state/before /state/after | tee /tmp/changed
	grep '^[<>]' /tmp/changed | grep -vE '^> /var/lib/dkms/mok\.(key|pub)$' >/tmp/left || :
	[ ! -s /tmp/left ] || fail "left or lost: $(head -n 5 /tmp/left | tr '\n' ' ')"
	! dpkg-query --show 'vpeer*' 'libvpeer*' 2>/dev/null | grep . || fail "dpkg still knows packages"
	[ -z "$(dkms status)" ] || fail "dkms status: $(dkms status)"
	for kernel in $(kernels); do
		! grep vpeer "/lib/modules/$kernel/modules.dep" || fail "$kernel: modules.dep names it"
	done
	getent group vpeer
}

run_cases "$@"
