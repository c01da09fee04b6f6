# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Cases in shell, with the same output as harness.c. A file defines functions case_NAME, calls
# deadline NAME SECONDS where 60 s are not right, and ends with: run_cases "$@"

test_name=$(basename "$0" .sh)
trouble='WARNING: (CPU: |possible |suspicious |bad unlock|inconsistent |.* at )|BUG: |kernel BUG at|Oops|general protection fault|Kernel panic|refcount_t: |list_(add|del) corruption|blocked for more than|rcu: .* detected stall|Unable to handle kernel'
fault='DMAR: .*[Ff]ault|AMD-Vi: .*(IO_PAGE_FAULT|Event logged)|virtio_iommu .*fault'

declare -A deadlines
# Which hold cases; what a file of cases sources may add itself.
case_files=("$0")

deadline() {
	deadlines[$1]=$2
}

# Both end the case and give the reason.
fail() {
	printf 'case failed: %s\n' "$*"
	exit 1
}

skip() {
	printf 'case skipped: %s\n' "$*"
	exit 77
}

# usage: kernel_from VERSION
kernel_from() {
	[ "$(printf '%s\n' "$1" "$(uname -r)" | sort -V | head -n 1)" = "$1" ]
}

# usage: expect_status STATUS COMMAND...
expect_status() {
	local wanted=$1 status=0

	shift
	"$@" || status=$?
	[ "$status" -eq "$wanted" ] || fail "status $status instead of $wanted: $*"
}

# usage: expect_output FILE STATUS COMMAND... (both outputs go to FILE and into the case's log)
expect_output() {
	local file=$1 wanted=$2 status=0

	shift 2
	"$@" >"$file" 2>&1 || status=$?
	cat "$file"
	[ "$status" -eq "$wanted" ] || fail "status $status instead of $wanted: $*: $(tail -n 3 "$file" | tr "\n" "|")"
}

# usage: expect_line PATTERN FILE (extended regular expression)
expect_line() {
	grep -Eq -- "$1" "$2" || fail "no line matches '$1' in: $(tail -n 5 "$2" | tr '\n' '|')"
}

# usage: expect_no_line PATTERN FILE
expect_no_line() {
	! grep -E -m 1 -- "$1" "$2" || fail "a line matches '$1'"
}

wait_for() {
	local tries=$1

	shift
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || fail "gave up waiting for: $*"
		sleep 0.1
	done
}

kernel_log_since() {
	dmesg | sed "1,/$1/d"
}

at_rest() {
	local dir

	[ -z "$(cat /sys/class/misc/vpeerctl/quarantine 2>/dev/null)" ] || return 1
	for dir in /sys/class/vpeer/vpeer*; do
		[ -e "$dir" ] || continue
		[ "$(cat "$dir/windows" "$dir/mappings" "$dir/bytes_pinned" | tr -d '\n')" = 000 ] &&
			[ "$(cat "$dir/bytes_free")" = "$(cat "$dir/size")" ] || return 1
	done
}

settle() {
	local tries=60

	until at_rest; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.1
	done
}

aftermath() {
	local mark=$1 line

	line=$(kernel_log_since "$mark" | grep -E -m 1 "$trouble|$fault")
	if [ -n "$line" ]; then
		echo "kernel log: $line"
	elif ! settle; then
		echo "counters or quarantine not back at rest"
	fi
}

# An earlier case may have failed with the aperture detached.
attach_again() {
	[ -n "${VPEER_AP_PCI-}" ] && [ -c /dev/vpeerctl ] || return 0
	[ -e "/sys/bus/pci/devices/$VPEER_AP_PCI/driver" ] || vpeer attach "$VPEER_AP_PCI"
}

# Sets node to the aperture's node and counters to its directory in sysfs.
# shellcheck disable=SC2034 # for the cases
need_aperture() {
	[ -n "${VPEER_AP_PCI-}" ] || skip "no aperture: VPEER_AP_PCI is not set"
	counters=$(echo "/sys/bus/pci/devices/$VPEER_AP_PCI/vpeer/"vpeer*)
	[ -d "$counters" ] || fail "$VPEER_AP_PCI is not attached"
	node=/dev/${counters##*/}
}

# usage: as_stranger COMMAND...
as_stranger() {
	setpriv --reuid=31002 --regid=31002 --clear-groups "$@"
}

report() {
	printf '%s %s.%s%s (%d ms)\n' "$1" "$test_name" "$2" "${3:+: $3}" "$4"
}

run_case() {
	local name=$1 log mark status=0 start after seconds=${deadlines[$1]:-60}

	log=${VPEER_CASE_LOGS:-/tmp}/$test_name.$name.log
	mark="vpeer-test-$$-$name"
	start=$(date +%s%3N)
	echo "$mark" >/dev/kmsg
	[ "${keep_detached-}" = yes ] || attach_again >>"$log" 2>&1
	timeout --kill-after=10 "$seconds" bash "$0" --case "$name" >>"$log" 2>&1 || status=$?
	after=$(aftermath "$mark")
	start=$(($(date +%s%3N) - start))
	case $status in
	0 | 77)
		if [ -n "$after" ]; then
			report "not ok" "$name" "$after" "$start"
			return 1
		fi
		;;&
	0) report ok "$name" "" "$start" ;;
	77) report skip "$name" "$(sed -n 's/^case skipped: //p' "$log" | tail -n 1)" "$start" ;;
	124 | 137)
		report "not ok" "$name" "not done within $seconds s" "$start"
		return 1
		;;
	*)
		report "not ok" "$name" "$(sed -n 's/^case failed: //p' "$log" | tail -n 1)" "$start"
		return 1
		;;
	esac
}

cases() {
	sed -n 's/^case_\([a-z0-9_]*\)() {$/\1/p' "${case_files[@]}"
}

wanted() {
	local name=$1 pattern

	shift
	[ $# -gt 0 ] || return 0
	for pattern; do
		# shellcheck disable=SC2053 # a pattern is meant
		[[ $name == $pattern || $test_name.$name == $pattern ]] && return 0
	done
	return 1
}

# usage: run_cases [--list | --case NAME | PATTERN...]
run_cases() {
	local name status=0

	case ${1-} in
	--list)
		cases | sed "s/^/$test_name./"
		return
		;;
	--case)
		set -eEux
		trap 'printf "case failed: status %d of: %s\n" $? "$BASH_COMMAND"' ERR
		"case_$2"
		return
		;;
	esac
	for name in $(cases); do
		wanted "$name" "$@" || continue
		run_case "$name" || status=1
	done
	return $status
}
