#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The library and reg_threads.c, built with sanitizers: no race, no memory used after its end.
. "$(dirname "$0")/harness/harness.sh"

build=$(dirname "$0")/build
suppressions=$(realpath "$(dirname "$0")/sanitized/thread.supp")
# Found trouble ends the program with this status.
export TSAN_OPTIONS="exitcode=66 suppressions=$suppressions" \
	ASAN_OPTIONS='exitcode=66' UBSAN_OPTIONS='print_stacktrace=1'

# usage: run_threads SANITIZER
run_threads() {
	local log=$VPEER_CASE_LOGS/$1/reg_threads.together.log status=0

	mkdir -p "$VPEER_CASE_LOGS/$1"
	# Its shadow memory has fixed places, and more address space than the guest has memory: at times the kernel
	# would not believe that a child gets by with less.
	echo 1 >/proc/sys/vm/overcommit_memory
	VPEER_CASE_LOGS=$VPEER_CASE_LOGS/$1 setarch -R "$build/$1/reg_threads" >"/tmp/$1" 2>&1 || status=$?
	echo 0 >/proc/sys/vm/overcommit_memory
	cat "$log" "/tmp/$1"
	expect_no_line 'WARNING: ThreadSanitizer|ERROR: AddressSanitizer|runtime error:' "$log"
	[ "$status" -eq 0 ] || fail "$(tail -n 1 "/tmp/$1")"
	expect_line '^ok reg_threads.together ' "/tmp/$1"
}

# usage: see_fault SANITIZER PATTERN
see_fault() {
	expect_output "/tmp/$1" 66 setarch -R "$build/$1/faulty"
	expect_line "$2" "/tmp/$1"
}

deadline races 300
case_races() {
	run_threads thread
}

deadline memory 300
case_memory() {
	run_threads address
}

case_faults_are_seen() {
	see_fault thread 'WARNING: ThreadSanitizer: data race'
	see_fault address 'ERROR: AddressSanitizer: heap-use-after-free'
}

run_cases "$@"
