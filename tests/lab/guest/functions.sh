# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the guest's set-up scripts share. The host puts each device behind a root port at a fixed
# place of bus 0 (tests/lab/lib/qemu.sh); a device is whatever lies behind that port.

# shellcheck disable=SC2034 # used by those who source this file
lab=/run/vpeer-lab

port_address() {
	case $1 in
	rdma) echo 0000:00:08.0 ;;
	nvme) echo 0000:00:09.0 ;;
	ats) echo 0000:00:0a.0 ;;
	edu) echo 0000:00:0b.0 ;;
	ap[0-9]*) printf '0000:00:%02x.0\n' $((16 + ${1#ap})) ;;
	esac
}

# Prints the PCI addresses of the functions behind a port, one a line.
functions_behind() {
	local port found
	port=$(port_address "$1")

	for found in /sys/bus/pci/devices/"$port"/0000:??:??.?; do
		[ ! -e "$found" ] || echo "${found##*/}"
	done
	[ "${lab_by_kind-no}" = no ] || functions_by_kind "$1"
}

# In a machine that was put together by others, whose ports lie elsewhere.
functions_by_kind() {
	local id wanted

	case $1 in
	ap0) wanted='0x1af4 0x1110' ;;
	nvme) wanted='0x1b36 0x0010' ;;
	*) return 0 ;;
	esac
	for id in /sys/bus/pci/devices/*; do
		[ "$(cat "$id/vendor") $(cat "$id/device")" != "$wanted" ] || echo "${id##*/}"
	done
}

function_behind() {
	functions_behind "$1" | head -n 1
}

wait_until() {
	local tries=150

	until "$@"; do
		tries=$((tries - 1))
		if [ $tries -eq 0 ]; then
			echo "gave up waiting for: $*" >&2
			return 1
		fi
		sleep 0.1
	done
}

offer() {
	printf 'export %s=%q\n' "$1" "$2"
}

# QEMU's monitor. monitor_open waits until no one else uses it; the others then use this session.
monitor_events='' monitor_requests=0

monitor_open() {
	local name label port=

	for name in /sys/class/virtio-ports/*/name; do
		read -r label <"$name"
		[ "$label" != vpeer.monitor ] || port=${name%/name}
	done
	[ -n "$port" ] || { echo "monitor: the host offers none" >&2; return 1; }
	exec 9>"$lab/monitor.lock"
	flock 9
	exec 3<>"/dev/${port##*/}"
	monitor_request qmp_capabilities >/dev/null
}

# Reads until a line matches, for SECONDS; events that come first are kept.
monitor_read() {
	local pattern=$1 end=$((SECONDS + $2))

	while [ "$SECONDS" -le "$end" ]; do
		IFS= read -r -t 1 -u 3 monitor_line || continue
		[[ ! $monitor_line =~ $pattern ]] || return 0
		[[ $monitor_line != *'"event": '* ]] || monitor_events+=$monitor_line
	done
	return 1
}

# usage: monitor_request QMP-COMMAND [ARGUMENTS]
monitor_request() {
	local id=vpeer-$$-$((++monitor_requests))

	printf '{"execute":"%s","arguments":{%s},"id":"%s"}\n' "$1" "${2-}" "$id" >&3
	monitor_read "\"id\": \"$id\"" 30 ||
		{ echo "monitor: no answer from QEMU within 30 s" >&2; return 1; }
}

# usage: monitor_ask COMMAND (of the human monitor; its answer becomes monitor_answer)
monitor_ask() {
	local command=${1//\\/\\\\}

	monitor_request human-monitor-command "\"command-line\":\"${command//\"/\\\"}\"" || return
	monitor_answer=${monitor_line#*'"return": "'}
	monitor_answer=${monitor_answer%%'", "id": '*}
	monitor_answer=${monitor_answer//\\r/}
	printf -v monitor_answer '%b' "${monitor_answer//\\\"/\"}"
	case $monitor_answer in
	Error:* | 'unknown command'*) return 1 ;;
	esac
}

# As monitor_ask, for commands that only answer when they fail.
monitor_order() {
	monitor_ask "$1" || { echo "monitor: $1: $monitor_answer" >&2; return 1; }
}

# usage: monitor_event EXTENDED-REGEXP SECONDS
monitor_event() {
	[[ $monitor_events =~ $1 ]] || monitor_read "$1" "$2"
}
