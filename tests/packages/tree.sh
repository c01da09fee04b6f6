# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Cases inside a tree, not a guest: no module is loaded and the kernel's log is not the tree's.
# /debs holds packages, /state what one case leaves for the next.

. "$(dirname "$0")/../guest/harness/harness.sh"

aftermath() {
	:
}

# shellcheck disable=SC2034 # for the cases
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$(dirname "$0")/../../dkms.conf")

# Kernels that have headers, oldest first.
kernels() {
	find /usr/lib/modules -mindepth 2 -maxdepth 2 -name build -printf '%h\n' | sed 's#.*/##' | sort -V
}

# usage: install_debs DIR (all of DIR, but for what debuggers need)
install_debs() {
	local files

	mapfile -t files < <(find "$1" -name '*.deb' ! -name '*-dbgsym_*')
	DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${files[@]}"
}

# Every path of the tree but the machine's own mounts and what changes at any installation.
tree_paths() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp \
		-o -path /debs -o -path /new -o -path /state -o -path "$VPEER_TOP" -o -path /var/log \
		-o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/systemd \) -prune \
		-o -print | sort
}
