# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the lab's Debian tree holds.

# shellcheck disable=SC2034 # used by tree.sh and kernel.sh
lab_suite=trixie

packages_build() {
	cat <<-'END'
		gcc make libc6-dev pkg-config perl sparse shellcheck dkms
		libibverbs-dev librdmacm-dev libkmod-dev libjson-c-dev libxml2-dev libcmocka-dev libpci-dev
		liburing-dev
		clang-tidy debhelper dh-dkms dpkg-dev lintian mandoc abigail-tools
		linux-headers-amd64 openssl
	END
}

packages_guest() {
	cat <<-'END'
		linux-image-amd64 kmod udev busybox-static procps util-linux e2fsprogs attr
		rdma-core ibverbs-providers ibverbs-utils perftest rdmacm-utils iproute2
		pciutils nvme-cli fio strace
	END
}

packages_host() {
	cat <<-'END'
		qemu-system-x86 seabios ovmf python3-virt-firmware cpio zstd xz-utils
		libvirt-common libxml2-utils jq
	END
}

packages_all() {
	{ packages_build; packages_guest; packages_host; } | tr -s ' \n' ',' | sed 's/,$//'
}
