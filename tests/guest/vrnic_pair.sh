#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Programs of others on vrnic, unmodified, between two guests: this one runs its end of each.
. "$(dirname "$0")/harness/harness.sh"
. "$(dirname "$0")/harness/vrnic.sh"

read -ra devices <<<"${VPEER_VRNIC_DEVICES-}"
# Both count alike, from a number of the case.
port=$((20000 + $(cksum <<<"${2-}" | cut -d' ' -f1) % 10000)) ends=1

need_ends() {
	command -v "$1" >/dev/null || skip "$1 is not installed"
	[ -n "${VPEER_PAIR-}" ] || skip "this guest is none of a pair"
	[ ${#devices[@]} -ge 1 ] || skip "no vrnic here"
	cd "$(mktemp -d)"
}

both_ends() {
	port=$((port + 1))
	if [ "$VPEER_PAIR" = 1 ]; then
		timeout 100 "$1" -d "${devices[0]}" -p "$port" "${@:2}" || fail "$1: status $? of the server"
	else
		client "$@"
	fi
}

# The other guest may not be so far yet.
client() {
	local tries=100 status

	while :; do
		status=0
		timeout 40 "$1" -d "${devices[0]}" -p "$port" "${@:2}" "$VPEER_PEER_IP" 2>errors || status=$?
		cat errors >&2
		[ $status -ne 0 ] || return 0
		grep -Eq "Couldn't connect|Connection refused" errors || break
		tries=$((tries - 1))
		[ $tries -gt 0 ] || break
		sleep 0.5
	done
	fail "$1: status $status of the client"
}

deadline rc_pingpong 120

run_cases "$@"
