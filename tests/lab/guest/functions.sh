# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the guest's set-up scripts share. The host puts each device behind a root port at a fixed
# place of bus 0 (tests/lab/lib/qemu.sh); a device is whatever lies behind that port.

# shellcheck disable=SC2034 # used by those who source this file
lab=/run/vpeer-lab

port_address() {
	case $1 in
	rdma) echo 0000:00:08.0 ;;
	nvme) echo 0000:00:09.0 ;;
	ats) echo 0000:00:0a.0 ;;
	edu) echo 0000:00:0b.0 ;;
	ap[0-9]*) printf '0000:00:%02x.0\n' $((16 + ${1#ap})) ;;
	esac
}

# Prints the PCI addresses of the functions behind a port, one a line.
functions_behind() {
	local port found
	port=$(port_address "$1")

	for found in /sys/bus/pci/devices/"$port"/0000:??:??.?; do
		[ ! -e "$found" ] || basename "$found"
	done
}

function_behind() {
	functions_behind "$1" | head -n 1
}

wait_until() {
	local tries=150

	until "$@"; do
		tries=$((tries - 1))
		if [ $tries -eq 0 ]; then
			echo "gave up waiting for: $*" >&2
			return 1
		fi
		sleep 0.1
	done
}

offer() {
	printf 'export %s=%q\n' "$1" "$2"
}
