# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Boots that keep one processor busy and no more: two of them run at a time, after all others.

beside_phases=() beside_job=''

# usage: beside_later (with the variables of check_boot and its plan, which it keeps until then)
beside_later() {
	declare -p phase plan groups options environment about budget ready seconds guest_kernel \
		>"$check_dir/$phase.job"
	beside_phases+=("$phase")
}

# Starts them and reports them in their order, each as its lines come.
beside_run() {
	local name

	[ ${#beside_phases[@]} -gt 0 ] || return 0
	beside_dispatch &
	beside_job=$!
	for name in "${beside_phases[@]}"; do
		beside_report "$name"
	done
	wait "$beside_job"
	beside_job=
}

beside_stop() {
	[ -z "$beside_job" ] || kill "$beside_job" 2>/dev/null
}

# Each in a process group of its own, so that its guest can be ended with it.
beside_dispatch() {
	local name

	set -m
	trap 'beside_kill; exit 1' TERM
	for name in "${beside_phases[@]}"; do
		while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
			wait -n
		done
		beside_guest "$name" &
	done
	wait
}

beside_kill() {
	local group

	for group in $(jobs -rp); do
		kill -TERM -- "-$group" 2>/dev/null
	done
	wait
}

beside_guest() {
	local start=$SECONDS status=0

	trap - TERM
	# shellcheck disable=SC1090 # written by beside_later
	. "$check_dir/$1.job"
	check_run_guest "$guest_kernel" >/dev/null || status=$?
	echo "$status $((SECONDS - start))" >"$check_dir/$1.end.new"
	mv "$check_dir/$1.end.new" "$check_dir/$1.end"
}

beside_report() {
	# shellcheck disable=SC1090 # written by beside_later
	. "$check_dir/$1.job"
	check_phase "$phase" "$budget" beside_report_guest
}

# shellcheck disable=SC2034 # check_phase tells phase_took
beside_report_guest() {
	local status

	check_guest "$guest_kernel" beside_follow
	phase_took=0
	read -r status phase_took <"$check_dir/$phase.end" || :
}

# What the guest's run prints, as it prints it; ends with its status.
beside_follow() {
	local out=$check_dir/$phase.out end=$check_dir/$phase.end reader status=125

	until [ -e "$out" ]; do
		kill -0 "$beside_job" 2>/dev/null || return
		sleep 0.2
	done
	tail -c +1 -s 0.2 -f "$out" &
	reader=$!
	while [ ! -e "$end" ] && kill -0 "$beside_job" 2>/dev/null; do
		sleep 0.2
	done
	sleep 0.5
	kill "$reader"
	read -r status _ <"$end" || :
	return "$status"
}
