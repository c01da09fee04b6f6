#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The library's ring all-reduce: eight ranks, four in each of two guests, on windows, over their vrnic.
# Guest 1 starts it by Debian's Open MPI; both compare the sums from the owner's side.
. "$(dirname "$0")/harness/harness.sh"

top=$(cd "$(dirname "$0")/../.." && pwd)
elsewhere=$top/tests/interop/elsewhere ring=$top/lib/examples/build/ring_allreduce
numbers=$((1 << 18))
# Where guest 2 is told what to compare; nothing, if guest 1 failed.
told=/tmp/interop-offsets

need() {
	need_aperture
	[ -n "${VPEER_PAIR-}" ] || skip "this guest is none of a pair"
	read -ra devices <<<"${VPEER_VRNIC_DEVICES-}"
	[ ${#devices[@]} -ge 1 ] || skip "no vrnic here"
	cd "$(mktemp -d)"
}

# usage: run_ring (in guest 1; what the ranks print goes to the file output)
run_ring() {
	expect_output output 0 timeout 60 mpirun.openmpi --allow-run-as-root -n 8 \
		--host vpeer-lab-1:4,vpeer-lab-2:4 --map-by ppr:4:node --prtemca plm_ssh_agent "$elsewhere" --mca pml ob1 --mca btl tcp,self \
		--mca btl_tcp_if_include 10.0.9.0/24 \
		"$ring" "${devices[0]}" 1 "$VPEER_AP_PCI" $numbers
}

# usage: sums RANKS (all of them, as the example has numbers)
sums() {
	perl -e 'my ($numbers, $ranks) = @ARGV;
		my $shift = 40503 * ($ranks * ($ranks - 1) / 2);
		print pack "L*", map { ($ranks * (($_ * 2654435761) & 0xffffffff) + $shift) & 0xffffffff }
			0 .. $numbers - 1' $numbers "$1"
}

# usage: compare (offsets of this guest's ranks come on standard input)
compare() {
	local offset count=0

	sums 8 >expected
	sums 7 >other
	while read -r offset; do
		dd if="$VPEER_OWNER_DIR/$VPEER_AP_PCI-bar2" of=found bs=4096 skip=$((offset / 4096)) \
			count=$((numbers * 4 / 4096)) status=none
		cmp expected found || fail "the sums at $offset are not what the owner has"
		! cmp -s other found || fail "sums of seven ranks are the same"
		count=$((count + 1))
	done
	[ $count -eq 4 ] || fail "$count ranks instead of 4"
}

# usage: offsets FIRST-RANK LAST-RANK
offsets() {
	sed -n "s/^rank [$1-$2]: by dmabuf, at \([0-9]*\) of .*: 0 of $numbers sums are wrong\$/\1/p" output
}

case_ring_allreduce() {
	local server

	need
	if [ "$VPEER_PAIR" = 1 ]; then
		trap '"$elsewhere" "$VPEER_PEER_IP" "touch $told"' EXIT
		run_ring
		offsets 0 3 | compare
		"$elsewhere" "$VPEER_PEER_IP" "echo $(offsets 4 7 | paste -sd ' ') >$told.new; mv $told.new $told"
		trap - EXIT
	else
		"$elsewhere" --serve &
		server=$!
		wait_for 900 test -e $told
		kill $server
		tr ' ' '\n' <$told | compare
	fi
}

deadline ring_allreduce 120

run_cases "$@"
