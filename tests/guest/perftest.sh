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

# What the server received is what the client sent; with READ, the other way round.
compare_halves() {
	take server-end $((server_at + size)) $size
	take client-start $client_at $size
	take server-start $server_at $size
	cmp server-end client-start || fail "received bytes differ from those sent"
	! cmp -s server-start client-start || fail "both buffers began alike: nothing is shown"
	[ "$(tr -d '\0' <client-start | head -c 1 | wc -c)" -eq 1 ] || fail "the buffers hold zeros"
}

moves_bytes() {
	need "$1"
	cd "$(mktemp -d)"
	perftest "$1" -s $size
	compare_halves
}

case_write_bw() {
	moves_bytes ib_write_bw
}

case_read_bw() {
	moves_bytes ib_read_bw
}

case_send_bw() {
	moves_bytes ib_send_bw
}

# usage: word FILE OFFSET TYPE
word() {
	od -An -t "$3" -j "$2" -N "${3#?}" "$1" | tr -d ' '
}

# Every operation adds 1 in the server's buffer and brings back what was there before.
case_atomic_bw() {
	need ib_atomic_bw
	cd "$(mktemp -d)"
	perftest ib_atomic_bw -A FETCH_AND_ADD
	take server $server_at 8192
	take client $client_at 8192
	od -A d -t u8 -N 32 server; od -A d -t u8 -j 4096 -N 32 server
	od -A d -t u8 -N 256 client; od -A d -t u8 -j 4096 -N 32 client
}

# The last byte of each message counts up.
case_write_lat() {
	need ib_write_lat
	cd "$(mktemp -d)"
	perftest ib_write_lat -s 64
	take server $server_at 8192
	take client $client_at 8192
	od -A d -t x1 server
	od -A d -t x1 client
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
