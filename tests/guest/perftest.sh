#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Unmodified perftest with both ends' buffers in the BAR. Each process opens the node itself and so
# owns its own window. perftest fills each buffer with random bytes; it sends from the first half
# of its buffer and receives into the second half, which is what is compared, from the owner's side.
. "$(dirname "$0")/harness/harness.sh"

device=rxe0 address=10.0.0.1 size=65536 iterations=24
server_at=0 client_at=$((8 << 20))

gid_index() {
	local gid dir=/sys/class/infiniband/$device/ports/1

	for gid in "$dir"/gids/*; do
		if grep -q ':ffff:0a00:' "$gid" && grep -q v2 "$dir/gid_attrs/types/${gid##*/}"; then
			echo "${gid##*/}"
			return
		fi
	done
	return 1
}

need() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
	[ -e /sys/class/infiniband/$device ] || skip "no RDMA device $device"
	need_aperture
	owner=$VPEER_OWNER_DIR/$VPEER_AP_PCI-bar2
}

# usage: take FILE OFFSET SIZE (bytes of the aperture as its owner has them)
take() {
	dd if="$owner" of="$1" bs=4096 skip=$(($2 / 4096)) count=$(($3 / 4096)) status=none
}

# usage: perftest PROGRAM [OPTION]...
perftest() {
	local program=$1 server gid common

	shift
	gid=$(gid_index) || fail "no RoCE v2 IPv4 GID on $device"
	common=(-d "$device" -x "$gid" -F -n "$iterations" "$@")
	"$program" "${common[@]}" --mmap="$node" --mmap-offset=$server_at &
	server=$!
	sleep 1
	"$program" "${common[@]}" --mmap="$node" --mmap-offset=$client_at $address ||
		fail "$program: the client ended with status $?"
	wait $server || fail "$program: the server ended with status $?"
}

# usage: compare_halves SIDE (client or server: the side whose bytes went over)
# The fills of both sides can be alike, so the bytes that went over must differ from those that lay
# in the other half of the same buffer.
compare_halves() {
	local side=$1

	take server-end $((server_at + size)) $size
	take client-start $client_at $size
	cmp server-end client-start || fail "received bytes differ from those sent"
	take server-start $server_at $size
	take client-end $((client_at + size)) $size
	! cmp -s "$side-start" "$side-end" || fail "both halves are alike: nothing is shown"
	[ "$(tr -d '\0' <client-start | head -c 1 | wc -c)" -eq 1 ] || fail "the buffers hold zeros"
}

# usage: moves_bytes PROGRAM SIDE
moves_bytes() {
	need "$1"
	cd "$(mktemp -d)"
	perftest "$1" -s $size
	compare_halves "$2"
}

case_write_bw() {
	moves_bytes ib_write_bw client
}

case_read_bw() {
	moves_bytes ib_read_bw server
}

case_send_bw() {
	moves_bytes ib_send_bw client
}

# usage: number FILE OFFSET BYTES
number() {
	od -A n -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

# Every operation adds 1 in the server's buffer and brings back what was there before; perftest
# goes on by 64 bytes each time.
case_atomic_bw() {
	local at fetched now

	need ib_atomic_bw
	cd "$(mktemp -d)"
	perftest ib_atomic_bw -A FETCH_AND_ADD
	take server $server_at 8192
	take client $client_at 8192
	for at in 0 64 128 640; do
		fetched=$(number client $at 8)
		now=$(number server $((4096 + at)) 8)
		[ $((now - fetched)) -eq 1 ] || fail "fetched $fetched, but it is $now now"
	done
}

# The last byte of each message counts up.
case_write_lat() {
	need ib_write_lat
	cd "$(mktemp -d)"
	perftest ib_write_lat -s 64
	take server $server_at 8192
	take client $client_at 8192
	[ "$(number server $((4096 + 63)) 1)" -eq $iterations ]
	[ "$(number client $((4096 + 63)) 1)" -eq $iterations ]
}

# Two programs cannot have the same range.
case_owned_range_is_refused() {
	need ib_write_bw
	cd "$(mktemp -d)"
	client_at=$server_at
	if (perftest ib_write_bw -s $size) >output 2>&1; then
		fail "both ends got the same range"
	fi
	cat output
	expect_line 'work buf|Resource busy|create MR' output
}

run_cases "$@"
