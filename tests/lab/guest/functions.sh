# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the guest's set-up scripts share. The host puts each device behind a root port at a fixed
# place of bus 0 (tests/lab/lib/qemu.sh); a device is whatever lies behind that port.

# shellcheck disable=SC2034 # used by those who source this file
lab=/run/vpeer-lab

# Guests of emulated hosts start a process in a tenth of a second and more, so that what runs before
# COMMAND gets along without.

# usage: find_functions PORT (the PCI addresses of the functions behind it)
functions=() first_function=''
find_functions() {
	local port='' found

	case $1 in
	rdma) port=0000:00:08.0 ;;
	nvme) port=0000:00:09.0 ;;
	ats) port=0000:00:0a.0 ;;
	edu) port=0000:00:0b.0 ;;
	network) port=0000:00:0c.0 ;;
	vgpu[0-7]) port=0000:00:0d.${1#vgpu} ;;
	vrnic[0-7]) port=0000:00:0e.${1#vrnic} ;;
	pair) port=0000:00:0f.0 ;;
	ap[0-9]*) printf -v port '0000:00:%02x.0' $((16 + ${1#ap})) ;;
	esac
	functions=()
	for found in /sys/bus/pci/devices/"$port"/0000:??:??.?; do
		[ ! -e "$found" ] || functions+=("${found##*/}")
	done
	[ "${lab_by_kind-no}" = no ] || find_functions_by_kind "$1"
	first_function=${functions-}
}

# In a machine that was put together by others, whose ports lie elsewhere.
find_functions_by_kind() {
	local place wanted vendor device

	case $1 in
	ap0) wanted='0x1af4 0x1110' ;;
	nvme) wanted='0x1b36 0x0010' ;;
	*) return 0 ;;
	esac
	for place in /sys/bus/pci/devices/*; do
		read -r vendor <"$place/vendor"
		read -r device <"$place/device"
		[ "$vendor $device" != "$wanted" ] || functions+=("${place##*/}")
	done
}

# usage: find_only PATTERN... (the last part of the path that is there)
only=''
find_only() {
	local path

	only=''
	for path; do
		[ ! -e "$path" ] || only=${path##*/}
	done
	[ -n "$only" ]
}

# usage: follow LINK (to a directory, whose name it finds)
followed=''
follow() {
	local back=$PWD

	cd -P "$1" || return
	followed=${PWD##*/}
	cd "$back" || return
}

# Nothing is ever written to what is read here.
wait_until() {
	local tries=150 never

	exec {never}<> <(:)
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || break
		read -r -t 0.1 -u "$never" || :
	done
	exec {never}>&-
	[ $tries -gt 0 ] || { echo "gave up waiting for: $*" >&2; return 1; }
}

# usage: bind_driver PCI-ADDRESS [DRIVER] (unbound without one)
bind_driver() {
	local device=/sys/bus/pci/devices/$1

	[ ! -e "$device/driver" ] || echo "$1" >"$device/driver/unbind"
	echo "${2-}" >"$device/driver_override"
	[ -z "${2-}" ] || echo "$1" >"/sys/bus/pci/drivers/$2/bind"
}

offer() {
	printf 'export %s=%q\n' "$1" "$2"
}

# usage: find_port NAME (of a virtio port; its device node becomes port)
port=''
find_port() {
	local name label

	port=''
	for name in /sys/class/virtio-ports/*/name; do
		read -r label <"$name"
		[ "$label" != "vpeer.$1" ] || { port=${name%/name}; port=/dev/${port##*/}; }
	done
	[ -n "$port" ] || { echo "$1: the host offers none" >&2; return 1; }
}

# QEMU's monitor. monitor_open waits until no one else uses it; the others then use this session.
monitor_events='' monitor_requests=0

monitor_open() {
	find_port monitor || return
	exec 9>"$lab/monitor.lock"
	flock 9
	exec 3<>"$port"
	monitor_request qmp_capabilities >/dev/null
}

# Reads until a line matches, for SECONDS; events that come first are kept.
monitor_read() {
	local pattern=$1 end=$((SECONDS + $2)) part line=''

	while [ "$SECONDS" -le "$end" ]; do
		# A long answer can be under way when the second is over.
		if ! IFS= read -r -t 1 -u 3 part; then
			line+=$part
			continue
		fi
		monitor_line=$line$part line=''
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

# The server of the device models. An answer ends with a line that holds a dot; that of a command that
# it refuses begins with "error".
# usage: sim_ask COMMAND (its answer becomes sim_answer)
sim_ask() {
	local line

	find_port sim || return
	exec 8>"$lab/sim.lock"
	flock 8
	exec 4<>"$port"
	printf '%s\n' "$1" >&4
	sim_answer=
	while :; do
		IFS= read -r -t 30 -u 4 line || { echo "sim: no answer within 30 s" >&2; return 1; }
		[ "$line" != . ] || break
		sim_answer+=$line$'\n'
	done
	exec 4>&- 8>&-
	[[ $sim_answer != error* ]]
}

# As sim_ask, for commands whose answer only matters when they are refused.
sim_order() {
	sim_ask "$1" || { echo "sim: $1: $sim_answer" >&2; return 1; }
}
