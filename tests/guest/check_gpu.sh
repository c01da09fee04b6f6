#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The checks for a machine with a GPU, here: without a CUDA driver, and with the one for tests.
. "$(dirname "$0")/harness/harness.sh"

tests=$(cd "$(dirname "$0")/.." && pwd)
log=$(mktemp)

# usage: check STATUS VARIABLE=VALUE... (with the driver for tests)
check() {
	local wanted=$1

	shift
	[ -c /dev/udmabuf ] || modprobe udmabuf 2>/dev/null || skip "this kernel has no udmabuf"
	expect_output "$log" "$wanted" env LD_LIBRARY_PATH="$tests/cuda/build" "$@" \
		"$tests/gpu/build/check_gpu"
}

case_no_driver() {
	expect_output "$log" 77 "$tests/gpu/build/check_gpu"
	expect_line '^skip: no CUDA driver: libcuda\.so\.1' "$log"
}

case_no_gpu() {
	check 77
	expect_line '^skip: the CUDA driver has no GPU' "$log"
}

case_all() {
	check 0 VPEER_TEST_CUDA=$((32 << 20))
	expect_line '^ok ids$' "$log"
	expect_line '^ok mapped$' "$log"
	expect_no_line '^not ok' "$log"
	expect_line '^8 passed, 0 failed, 1 skipped$' "$log"
	expect_line '^skip mapping_type: ' "$log"
}

# What a broken driver does is noticed.
case_one_id() {
	check 1 VPEER_TEST_CUDA=$((32 << 20)) VPEER_TEST_CUDA_SAME_ID=1
	expect_line '^not ok ids: ' "$log"
	expect_line '^not ok mapped: ' "$log"
}

run_cases "$@"
