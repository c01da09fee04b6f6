# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# PCI functions that a program of ours serves to QEMU (tests/sim), and how they misbehave.

# Words of its command line, the names that it gives the functions, what of it is to be switched on.
sim_words=() sim_functions=() sim_faults=() sim_dir='' sim_of_kind=0
declare -A sim_count=([vgpu]=0 [vrnic]=0)
sim_fault_names="drop mirror read-fail one-way late page-error high-fail bar-unmapped no-ats atc-stale
	bounce gone cqe-error slow hang"
# Places on bus 0; function N of a place is the port of function N of that kind.
declare -A sim_place=([vgpu]=13 [vrnic]=14)
sim_most=8

# Takes from --devices what is the server's: KIND, KIND*N, and KEY=VALUE or no-ats after one of these.
# usage: sim_take WORD (false if it is not)
sim_take() {
	case $1 in
	vgpu | vrnic) sim_add "$1" 1 ;;
	vgpu\** | vrnic\**) sim_add "${1%%\**}" "${1#*\*}" ;;
	*=* | no-ats) sim_option "$1" ;;
	*) return 1 ;;
	esac
}

# usage: sim_add KIND COUNT
sim_add() {
	options_number "--devices $1*N: N" "$2"
	[ $((sim_count[$1] + $2)) -le $sim_most ] || options_bad "--devices: no more than $sim_most $1"
	for ((sim_of_kind = 0; sim_of_kind < $2; sim_of_kind++)); do
		sim_words+=("$1")
		sim_functions+=("$1$((sim_count[$1]++))")
	done
}

# For those that the last word stands for.
sim_option() {
	local at

	[ $sim_of_kind -gt 0 ] || options_bad "--devices: '$1' does not follow vgpu*N or vrnic*N"
	for ((at = ${#sim_words[@]} - sim_of_kind; at < ${#sim_words[@]}; at++)); do
		sim_words[at]+=,$1
	done
}

sim_wanted() {
	[ ${#sim_functions[@]} -gt 0 ]
}

# usage: sim_fault_value NAME VALUE
sim_fault_value() {
	case $1:$2 in
	late:* | slow:*) options_number "--fault $1: VALUE ($([ "$1" = late ] && echo ms || echo us))" "$2" ;;
	page-error:* | high-fail:*)
		[[ $2 =~ ^(0x[0-9a-fA-F]+|[0-9]+|bits=[0-9]+)$ ]] ||
			options_bad "--fault $1 takes an IOVA such as 0x100000000, or bits=N; not '$2'"
		;;
	*) options_bad "--fault $1 takes no value; '$2' is one" ;;
	esac
}

# A capability cannot come and go; every other misbehaviour is switched on in the guest.
# usage: sim_fault NAME[=VALUE]
sim_fault() {
	local name=${1%%=*} at

	# shellcheck disable=SC2086 # names
	options_one_of --fault "$name" $sim_fault_names
	[ "$name" = "$1" ] || sim_fault_value "$name" "${1#*=}"
	[ "${sim_count[vrnic]}" -gt 0 ] || options_bad "--fault $name needs --devices with vrnic"
	[ "$name" = no-ats ] || { sim_faults+=("$1"); return; }
	for ((at = 0; at < ${#sim_words[@]}; at++)); do
		[[ ${sim_words[at]} != vrnic* ]] || sim_words[at]+=,no-ats
	done
}

sim_begin() {
	sim_dir=$run_dir/sim
	mkdir -p "$sim_dir"
}

# What is run before QEMU: words for enter's command.
sim_command() {
	local fabric=()

	sim_wanted || return 0
	sim_start=(/.lab/with-sim "$sim_dir" "${sim_functions[@]}" --)
	[ -z "$opt_pair" ] || fabric=(--lid "$(pair_lid)" --fabric "$(pair_end):$pair_dir/fabric")
	sim_start+=(--dir "$sim_dir" "${fabric[@]}" "${sim_words[@]}" --)
}

# usage: sim_port NAME (the root port of a function)
sim_port() {
	local kind=${1%%[0-9]*} number

	number=${1#"$kind"}
	qemu_root_port "$1" "${sim_place[$kind]}" "$number"
}

sim_devices() {
	local name

	for name in "${sim_functions[@]}"; do
		sim_port "$name"
		qemu_add -device "{\"driver\":\"vfio-user-pci\",\"id\":\"$name\",\"bus\":\"port-$name\",\"socket\":{\"type\":\"unix\",\"path\":\"$sim_dir/$name\"}}"
	done
}

# The guest of a host that got them: words like @vgpu0@ become addresses on the host.
sim_passed_devices() {
	local name fault

	for name in "${sim_functions[@]}"; do
		fault=
		[ "$opt_unmapped" != "$name" ] || fault=,x-no-mmap=on
		sim_port "$name"
		qemu_add -device "vfio-pci,id=$name,host=@$name@,bus=port-$name$fault"
	done
}

# A port of the guest for the server's commands. usage: sim_control_port CHARDEV
sim_control_port() {
	! sim_wanted || qemu_add -chardev "$1" -device virtserialport,chardev=sim,name=vpeer.sim
}

# It ends when QEMU does, and removes its sockets then; if not, it died or hangs.
sim_check_end() {
	local tries

	sim_wanted || return 0
	for ((tries = 0; tries < 50; tries++)); do
		[ -e "$sim_dir/control" ] || return 0
		sleep 0.1
	done
	tail -n 20 "$sim_dir/log" | sed 's/^/lab: sim: /' >&2
	lab_say "the device models did not end as they should; their words are in $sim_dir/log"
	return 1
}
