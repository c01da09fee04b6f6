#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Communication libraries of others, unmodified, on windows: tests/interop has the programs. Bytes are
# compared from the owner's side.
. "$(dirname "$0")/harness/harness.sh"

programs=$(cd "$(dirname "$0")/../interop" && pwd)/build
size=$((1 << 20)) half=$((1 << 19))

need() {
	[ -e /sys/class/infiniband/rxe0 ] || skip "no RDMA device rxe0"
	need_aperture
	owner=$VPEER_OWNER_DIR/$VPEER_AP_PCI-bar2
	cd "$(mktemp -d)"
	head -c $size /dev/urandom >bytes
	# What UCX reaches both ends by until a connection of the RDMA device is there.
	export UCX_TLS=rc_verbs,self,tcp:aux UCX_NET_DEVICES=rxe0:1,lo UCX_WARN_UNUSED_ENV_VARS=n
	# It takes soft-RoCE for too slow to do without copies at the near end.
	export UCX_ZCOPY_THRESH=0
	# Completion queues for as many peers are larger than soft-RoCE has them.
	export FI_UNIVERSE_SIZE=2
}

# usage: take INITIATOR|TARGET (its memory as the owner has it, in two files)
take() {
	local offset

	offset=$(sed -n "s/^$1 //p" output)
	[[ $offset =~ ^[0-9]+$ ]] || fail "the $1 had no memory"
	dd if="$owner" of="$1-first" bs=$half skip=$((offset / half)) count=1 status=none
	dd if="$owner" of="$1-second" bs=$half skip=$((offset / half + 1)) count=1 status=none
}

# Each side's first half is where the other side's second half was written from, or read.
halves() {
	head -c $half bytes >sent
	tail -c $half bytes >asked
	take initiator
	take target
	cmp sent initiator-first
	cmp asked target-first
}

expect_moved() {
	halves
	cmp sent target-second || fail "what was written is not there"
	cmp asked initiator-second || fail "what was read is not there"
}

expect_not_moved() {
	halves
	cmp -n $half target-second /dev/zero || fail "something was written"
	cmp -n $half initiator-second /dev/zero || fail "something was read"
}

# The same BAR, mapped by the kernel's own means. usage: expect_plain_refused MESSAGE PROGRAM [ARGUMENT]...
expect_plain_refused() {
	local enable=/sys/bus/pci/devices/$VPEER_AP_PCI/enable message=$1 status=0

	shift
	vpeer detach "$VPEER_AP_PCI"
	echo 1 >"$enable"
	INTEROP_PLAIN=1 expect_output output 1 "$@" || status=$?
	echo 0 >"$enable"
	vpeer attach "$VPEER_AP_PCI"
	[ $status -eq 0 ]
	expect_line "$message" output
}

case_ucx_put_get() {
	need
	UCX_PROTO_INFO=y expect_output output 0 "$programs/ucx_putget" "$VPEER_AP_PCI" bytes
	expect_line '^put Success$' output
	expect_line '^get Success$' output
	expect_zero_copy write
	expect_zero_copy read
	expect_moved
}

# usage: expect_zero_copy WHAT (as UCX tells of the way that it takes)
expect_zero_copy() {
	grep -A 8 "remote memory $1" output | grep -Eq 'zero-copy .*rc_verbs/rxe0:1' ||
		fail "no $1 by the RDMA device from and to the memory itself"
}

# UCX fails at an assertion of its own if it is told of the connection's end by the device.
case_ucx_after_unmap() {
	need
	UCX_RCACHE_ENABLE=n UCX_IB_ASYNC_EVENTS=n INTEROP_UNMAPPED=1 \
		expect_output output 0 "$programs/ucx_putget" "$VPEER_AP_PCI" bytes
	expect_no_line '^(put|get) Success$' output
	expect_not_moved
}

case_ucx_without_vpeer() {
	need
	expect_plain_refused 'ucp_mem_map: ' "$programs/ucx_putget" "$VPEER_AP_PCI" bytes
}

case_fabric_write_read() {
	need
	expect_output output 0 "$programs/fi_rma" "$VPEER_AP_PCI" bytes 10.0.0.1
	expect_moved
}

case_fabric_wrong_key() {
	need
	INTEROP_WRONG_KEY=1 expect_output output 0 "$programs/fi_rma" "$VPEER_AP_PCI" bytes 10.0.0.1
	expect_no_line '^(write|read) Success$' output
	expect_not_moved
}

case_fabric_without_vpeer() {
	need
	expect_plain_refused 'fi_mr_reg: Bad address' "$programs/fi_rma" "$VPEER_AP_PCI" bytes 10.0.0.1
}

# Debian's own settings rule out UCX.
mpi=(mpirun.openmpi --allow-run-as-root -n 2 --mca pml ucx --mca osc ucx --mca btl self)

case_mpi_put_get() {
	need
	UCX_PROTO_INFO=y expect_output output 0 "${mpi[@]}" "$programs/mpi_onesided" "$VPEER_AP_PCI" bytes
	expect_zero_copy write
	expect_zero_copy read
	expect_moved
}

case_mpi_without_vpeer() {
	need
	expect_plain_refused 'MPI_Win_create: ' "${mpi[@]}" "$programs/mpi_onesided" "$VPEER_AP_PCI" bytes
}

run_cases "$@"
