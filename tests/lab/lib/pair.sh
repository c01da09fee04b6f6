# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Two guests that see each other: by a network, and by the fabric of their device models.

# shellcheck disable=SC2034 # read by other files
opt_pair='' pair_number='' pair_dir=''

# usage: pair_take 1:DIR or 2:DIR
pair_take() {
	pair_number=${1%%:*} pair_dir=${1#*:}
	[[ $1 =~ ^[12]:/ ]] || options_bad "--pair is '$1'; give 1:DIR or 2:DIR, with an absolute path"
	[ -d "$pair_dir" ] || options_bad "--pair: no directory $pair_dir"
	opt_pair=$1
}

pair_end() {
	case $pair_number in
	1) echo listen ;;
	2) echo connect ;;
	esac
}

pair_lid() {
	echo $((16 * pair_number))
}

pair_network() {
	local server=on

	[ -n "$opt_pair" ] || return 0
	[ "$pair_number" = 1 ] || server=off,reconnect-ms=200
	qemu_root_port pair 15
	qemu_add -netdev "stream,id=pair,server=$server,addr.type=unix,addr.path=$pair_dir/network" \
		-device "virtio-net-pci,id=pair,netdev=pair,bus=port-pair,romfile=,mac=52:54:00:00:00:0$pair_number"
}
