# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Unmodified perftest with both ends' buffers in one file, at places of their own. Each end fills its
# buffer with bytes of its own; it sends from the first half and receives into the second half, which is
# what is compared, as $owner has it: another view of that file, or the file itself.
#
# The script that sources this has the cases and defines need, which takes the program that a case runs,
# skips the case or sets node, owner, address and the options of both ends, and goes to a directory of its own.

case_files+=("${BASH_SOURCE[0]}")
node='' owner='' address='' server_options=() client_options=()
size=16384 iterations=16 server_at=0 client_at=$((8 << 20))

# The index of the RoCE v2 GID of an IPv4 address, which is one of the first.
gid_index() {
	local gid dir=/sys/class/infiniband/$1/ports/1

	for gid in "$dir"/gids/?; do
		if grep -q ':ffff:0a00:' "$gid" && grep -q v2 "$dir/gid_attrs/types/${gid##*/}"; then
			echo "${gid##*/}"
			return
		fi
	done
	return 1
}

# Both ends are the guest's soft-RoCE device.
use_soft_roce() {
	local gid

	[ -e /sys/class/infiniband/rxe0 ] || skip "no RDMA device rxe0"
	gid=$(gid_index rxe0) || fail "no RoCE v2 IPv4 GID on rxe0"
	server_options=(-d rxe0 -x "$gid") client_options=(-d rxe0 -x "$gid") address=10.0.0.1
}

# usage: take FILE OFFSET SIZE (bytes as the owner has them)
take() {
	dd if="$owner" of="$1" bs=4096 skip=$(($2 / 4096)) count=$(($3 / 4096)) status=none
}

# A server whose socket is not there yet refuses its client.
listening() {
	grep -Eq ":$(printf %04X "$port") [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6
}

listening_or_gone() {
	listening || ! kill -0 "$server" 2>/dev/null
}

# A fill that repeats after a number of bytes that no buffer's size is a multiple of.
random_words() {
	od -A n -v -t x4 -w4 -N 4084 /dev/urandom | sed 's/^ */0x/' | paste -sd,
}

# usage: both_ends PROGRAM [OPTION]... (a server, and a client that goes to it)
server_buffer=() client_buffer=()
both_ends() {
	local program=$1

	shift
	port=$((20000 + RANDOM % 10000))
	timeout 40 "$program" "${server_options[@]}" "${server_buffer[@]}" -p "$port" "$@" &
	server=$!
	wait_for 100 listening_or_gone
	timeout 40 "$program" "${client_options[@]}" "${client_buffer[@]}" -p "$port" "$@" "$address" ||
		fail "$program: the client ended with status $?"
	wait $server || fail "$program: the server ended with status $?"
}

# usage: perftest PROGRAM [OPTION]...
perftest() {
	local program=$1

	shift
	[ -e server-fill ] || random_words >server-fill
	random_words >client-fill
	server_buffer=(--payload_file_path=server-fill --mmap="$node" --mmap-offset="$server_at")
	client_buffer=(--payload_file_path=client-fill --mmap="$node" --mmap-offset="$client_at")
	both_ends "$program" -F -n "$iterations" "$@"
}

# usage: take_halves [SIZE]
take_halves() {
	local half=${1:-$size}

	take server-first $server_at "$half"
	take server-second $((server_at + half)) "$half"
	take client-first $client_at "$half"
	take client-second $((client_at + half)) "$half"
}

# usage: arrived SENT RECEIVED OTHER (OTHER lies beside RECEIVED and was filled by the same end)
arrived() {
	cmp "$1" "$2" || fail "received bytes differ from those sent"
	! cmp -s "$2" "$3" || fail "both ends have the same bytes: nothing is shown"
}

case_write_bw() {
	need ib_write_bw
	perftest ib_write_bw -s $size
	take_halves
	arrived client-first server-second server-first
}

case_read_bw() {
	need ib_read_bw
	perftest ib_read_bw -s $size
	take_halves
	arrived server-second client-first client-second
}

case_read_lat() {
	need ib_read_lat
	perftest ib_read_lat -s $size
	take_halves
	arrived server-second client-first client-second
}

case_send_bw() {
	need ib_send_bw
	perftest ib_send_bw -s $size
	take_halves
	arrived client-first server-second server-first
}

# Messages go both ways in turn.
case_send_lat() {
	need ib_send_lat
	perftest ib_send_lat -s $size
	take_halves
	arrived client-first server-second server-first
	arrived server-first client-second client-first
}

case_write_bw_four_pairs_both_ways() {
	need ib_write_bw
	perftest ib_write_bw -s $size -q 4 -b
	take_halves $((4 * size))
	arrived client-first server-second server-first
	arrived server-first client-second client-first
}

# usage: part FILE OFFSET (prints what no later datagram's header overwrites)
part() {
	tail -c "+$(($2 + 1))" "$1" | head -c 960
}

# usage: datagram_arrived FROM TO PLACE (a datagram lies behind 40 bytes of header, aligned)
datagram_arrived() {
	part "$1" "$3" >sent
	part "$2" $((4096 + 64 + $3)) >received
	part "$2" "$3" >other
	arrived sent received other
}

case_send_ud_bw() {
	local place

	need ib_send_bw
	perftest ib_send_bw -c UD -s 1024
	take server $server_at 16384
	take client $client_at 16384
	for place in 0 1024 2048 3072; do
		datagram_arrived client server $place
	done
}

case_send_ud_lat() {
	need ib_send_lat
	perftest ib_send_lat -c UD -s 1024
	take server $server_at 16384
	take client $client_at 16384
	datagram_arrived client server 0
	datagram_arrived server client 0
}

# usage: number FILE OFFSET BYTES
number() {
	od -A n -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

# usage: atomics PROGRAM OPERATION NUMBER (fills the server's buffer with that number)
atomics() {
	need "$1"
	printf '0x%08x,0x%08x' "$3" 0 >server-fill
	perftest "$1" -A "$2"
	take server $server_at 8192
	take client $client_at 8192
}

# usage: expect_number FILE OFFSET VALUE
expect_number() {
	local found
	found=$(number "$1" "$2" 8)

	[ "$found" -eq "$3" ] || fail "$1 has $found at $2 instead of $3"
}

# Bandwidth tests go on by 64 bytes each time, latency tests stay where they are. What was there
# before comes back to the client.
case_atomic_add_bw() {
	local at

	atomics ib_atomic_bw FETCH_AND_ADD 16
	for at in 0 64 512 $((64 * iterations - 64)); do
		expect_number server $((4096 + at)) 17
		expect_number client $at 16
	done
	expect_number server $((4096 + 8)) 16
	expect_number server $((4096 + 64 * iterations)) 16
}

case_atomic_add_lat() {
	atomics ib_atomic_lat FETCH_AND_ADD 16
	expect_number server 4096 $((16 + iterations))
	expect_number client 0 $((16 + iterations - 1))
	expect_number server $((4096 + 64)) 16
}

# perftest compares with 0 and swaps 0 in: the number there comes back and stays. A swap that changes
# something is in rdma_path.
case_atomic_swap_bw() {
	local at

	atomics ib_atomic_bw CMP_AND_SWAP 77
	for at in 0 64 512 $((64 * iterations - 64)); do
		expect_number server $((4096 + at)) 77
		expect_number client $at 77
	done
	[ "$(number client $((64 * iterations)) 8)" != 77 ] || fail "77 lay there before"
}

case_atomic_swap_lat() {
	atomics ib_atomic_lat CMP_AND_SWAP 78
	expect_number server 4096 78
	expect_number client 0 78
	[ "$(number client 64 8)" != 78 ] || fail "78 lay there before"
}

# The last byte of each message counts up.
case_write_lat() {
	need ib_write_lat
	perftest ib_write_lat -s 64
	take server $server_at 8192
	take client $client_at 8192
	[ "$(number server $((4096 + 63)) 1)" -eq $iterations ]
	[ "$(number client $((4096 + 63)) 1)" -eq $iterations ]
}
