# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# tests/run-check's phases and counts.

# Idle seconds. What is not here yet has its share kept, so that make check stays well within an hour.
check_budget_setup=300 check_budget=1500 check_budget_kept=240 check_budget_long=10800
passed=0 failed=0 skipped=0
check_dir='' check_start=$SECONDS phase='' phase_failed=0 phase_seconds=0 phase_took=''
check_budgets=0 check_setup_seconds=0 failed_cases=() over_budget=() retries=()
kernel_words=()
static_names=() static_job='' guest_job=''
check_seed=${VPEER_TEST_SEED:-$((RANDOM << 15 | RANDOM))}

check_begin() {
	check_dir=$(lab_new_directory runs "check-$(date +%H%M%S)") || exit
	chmod 755 "$check_dir"
	# The lab removes old runs, but not while they are locked.
	exec 5<"$check_dir"
	flock --shared 5
	trap check_stop EXIT
	check_tell_budget
	echo "check: random choices: VPEER_TEST_SEED=$check_seed"
	echo "check: logs in $check_dir"
}

check_stop() {
	[ -z "$static_job" ] || kill "$static_job" 2>/dev/null
	check_stop_guest
	beside_stop
}

# A shell that waits for a run would take a signal only after it. A signal may come while IFS is empty.
check_stop_guest() {
	local children=() IFS=' '

	[ -n "$guest_job" ] || return 0
	# The line has no end.
	read -ra children <"/proc/$guest_job/task/$guest_job/children" || :
	[ ${#children[@]} -eq 0 ] || kill "${children[@]}"
} 2>/dev/null

check_tell_budget() {
	if [ "$long" = yes ]; then
		check_budget=$check_budget_long
		echo "check: budget on an idle machine: set-up $((check_budget_setup / 60)) min, every" \
			"kernel $((check_budget / 60)) min"
	else
		echo "check: budget on an idle machine: set-up $((check_budget_setup / 60)) min, what is" \
			"here $((check_budget / 60)) min, kept for what is to come" \
			"$((check_budget_kept / 60)) min"
	fi
}

check_end() {
	local seconds=$((SECONDS - check_start - check_setup_seconds)) line

	matrix_end
	echo "check: set-up $check_setup_seconds s (budget $check_budget_setup s), the rest $seconds s" \
		"(budget $check_budget s, its phases' $check_budgets s)"
	for line in "${retries[@]}"; do
		echo "check: retry: $line"
	done
	for line in "${over_budget[@]}"; do
		echo "check: over budget: $line"
	done
	for line in "${failed_cases[@]}"; do
		echo "check: failed: $line"
	done
	for line in "${kernel_words[@]}"; do
		echo "check: the guest's kernel said: $line"
	done
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
	exit
}

# usage: check_wanted NAME (a case of the present phase, or nothing for the phase as a whole; a boot is
# meant with every kernel unless one is named)
check_wanted() {
	local pattern name names=("$phase" "${phase%-[67].*}")

	[ ${#only[@]} -gt 0 ] || return 0
	[ "${names[0]}" != "${names[1]}" ] || names[0]=$phase-6.12
	for pattern in "${only[@]}"; do
		for name in "${names[@]}"; do
			# shellcheck disable=SC2053 # a pattern is meant
			[[ $name == $pattern || ${1-} == $pattern || "$name ${1-}" == $pattern ]] && return 0
		done
	done
	return 1
}

# usage: check_phase NAME SECONDS COMMAND... (its time is told against its budget)
check_phase() {
	local budget=$2 start=$SECONDS

	phase=$1 phase_failed=0 phase_took=''
	shift 2
	"$@"
	phase_seconds=${phase_took:-$((SECONDS - start))}
	echo "check: $phase: $phase_seconds s (budget $budget s)"
	case $phase:$phase_took in
	setup:) ;;
	*:) check_budgets=$((check_budgets + budget)) ;;
	# Two at a time.
	*) check_budgets=$((check_budgets + budget / 2)) ;;
	esac
	[ "$phase_seconds" -le "$budget" ] || over_budget+=("$phase: $phase_seconds s of $budget s")
}

check_passed() {
	passed=$((passed + 1))
	echo "ok $phase $1"
}

# usage: check_failed LINE LOG
check_failed() {
	failed=$((failed + 1))
	phase_failed=$((phase_failed + 1))
	failed_cases+=("$phase $1")
	echo "not ok $phase $1"
	echo "    log: $2"
}

check_skipped() {
	skipped=$((skipped + 1))
	echo "skip $phase $1"
}

check_setup() {
	check_phase setup $check_budget_setup check_run_setup
	check_setup_seconds=$phase_seconds
}

# Of a whole run, also what only some of its phases need.
check_run_setup() {
	local name systems

	[ ${#only[@]} -gt 0 ] || {
		"$lab_top/tests/lab/setup" --kernel 6.12 || lab_die "the lab could not be set up; nothing was checked"
		check_setup_systems &
		systems=$!
	}
	check_stage=$("$lab_top/tests/lab/build" --kernel 6.12) ||
		lab_die "the lab could not be set up; nothing was checked"
	[ ${#only[@]} -eq 0 ] || return 0
	for name in ${kernel:-6.1 7.3}; do
		"$lab_top/tests/lab/build" --kernel "$name" >/dev/null ||
			lab_die "the lab could not be set up for kernel $name; nothing was checked"
	done
	wait "$systems"
}

# If they cannot be made, the phases that they are for say so.
check_setup_systems() {
	check_packages_setup
	[ "$kernel" = 6.1 ] || (image_setup "${kernel:-6.12}") >"$check_dir/image.setup" 2>&1 || :
}

# They run beside the guests, at what these leave of the machine, and are reported at the end.
check_statics_start() {
	local script

	phase=static static_names=()
	for script in "$lab_top"/tests/static/*.sh; do
		! check_wanted "$(basename "$script" .sh)" ||
			static_names+=("$(basename "$script" .sh)")
	done
	[ ${#static_names[@]} -gt 0 ] || return 0
	CHECK_KERNELS=$(check_kernels) check_run_statics "${static_names[@]}" &
	static_job=$!
}

check_run_statics() {
	local name start status

	renice -n 19 -p "$BASHPID" >/dev/null
	trap 'kill $(jobs -p) 2>/dev/null; exit 1' TERM
	for name; do
		start=$(date +%s%N) status=0
		"$lab_top/tests/static/$name.sh" >"$check_dir/static.$name.log" 2>&1 </dev/null &
		wait $! || status=$?
		echo "$status $(lab_seconds_since "$start")" >"$check_dir/static.$name.end"
	done
}

check_statics() {
	[ ${#static_names[@]} -eq 0 ] || check_phase static "$([ "$long" = no ] && echo 30 || echo 60)" \
		check_report_statics
}

# Each script of tests/static is one case; 77 means skipped.
check_report_statics() {
	local name status took log

	wait "$static_job"
	for name in "${static_names[@]}"; do
		status='' took='' log=$check_dir/static.$name.log
		read -r status took <"$check_dir/static.$name.end"
		case $status in
		0) check_passed "$name ($took s)" ;;
		77) check_failed "$name: skipped: $(tail -n 1 "$log")" "$log" ;;
		*)
			check_failed "$name: status ${status:-unknown}" "$log"
			tail -n 10 "$log" | sed 's/^/    /'
			;;
		esac
	done
}

check_kernels() {
	if [ -n "$kernel" ]; then
		echo "$kernel"
	elif [ "$long" = yes ]; then
		echo 6.12 6.1 7.3
	else
		echo 6.12
	fi
}

check_unit() {
	phase=unit
	[ ! -d "$lab_top/tests/unit" ] || ! check_wanted || check_phase unit 90 check_run_unit
}

# Built and run inside the tree, on a copy of what was built for the guests.
check_run_unit() {
	local log=$check_dir/unit.log line status=0

	cp -a "$check_stage/project" "$check_dir/project"
	"$lab_top/tests/static/in-tree" --bind-to "$check_dir/project" "$lab_top" -- \
		env CMOCKA_MESSAGE_OUTPUT=TAP make -C "$lab_top/tests/unit" check \
		>"$log" 2>&1 </dev/null || status=$?
	while read -r line; do
		check_unit_line "$line" "$log"
	done < <(grep -aE '^(not )?ok [0-9]+' "$log")
	[ $status -eq 0 ] || [ $phase_failed -gt 0 ] ||
		check_failed "make: status $status, no test of its own failed" "$log"
	grep -aqE '^ok [0-9]+' "$log" || check_failed "no unit test reported" "$log"
	rm -rf --one-file-system "$check_dir/project"
}

# The lab's device models under sanitizers, and odd messages to them; the library's cache and the
# doctor under sanitizers.
check_models() {
	phase=models
	[ "$long" = no ] || ! check_wanted || check_phase models 200 check_run_models
}

check_run_models() {
	local log=$check_dir/models.log program

	cp -a "$check_stage/project" "$check_dir/models"
	for program in sim/test_vrnic sim/test_dma sim/fuzz unit/tsan unit/asan \
		unit/doctor-asan; do
		if "$lab_top/tests/static/in-tree" --bind-to "$check_dir/models" "$lab_top" -- \
			make -C "$lab_top/tests/${program%/*}" "check-${program#*/}" \
			>"$log.${program#*/}" 2>&1 </dev/null; then
			check_passed "${program#*/}"
		else
			check_failed "${program#*/}" "$log.${program#*/}"
		fi
	done
	rm -rf --one-file-system "$check_dir/models"
}

# usage: check_unit_line "ok 3 - name" LOG
check_unit_line() {
	local name=${1#* - }

	case $1 in
	*'# SKIP'*) check_skipped "$name" ;;
	ok*) check_passed "$name" ;;
	*) check_failed "$name" "$2" ;;
	esac
}

# Cases of a group, read off its source and what of harness/ that sources, so that one that never ran is
# missed.
check_cases() {
	local guest=$lab_top/tests/guest files

	if [ -f "$guest/$1.c" ]; then
		sed -n "s/^TEST(\([a-z0-9_]*\), .*/$1.\1/p" "$guest/$1.c"
		return
	fi
	# shellcheck disable=SC2016 # a script's words
	mapfile -t files < <(sed -n 's#^\. "$(dirname "$0")/\(harness/.*\)"$#\1#p' "$guest/$1.sh")
	sed -n "s/^case_\([a-z0-9_]*\)() {\$/$1.\1/p" "$guest/$1.sh" "${files[@]/#/$guest/}"
}

# usage: check_boot FILE (of tests/guest/boots). A boot sets what it needs of these:
#   about, options, groups   what it is, for tests/lab/run, what runs in it
#   only_cases, not_cases    of the groups; all otherwise
#   environment              of the cases
#   budget, budget_long      idle seconds; twice as many in --long otherwise
#   ready                    idle seconds until the guest is up and set up; told if given
#   seconds                  deadline, three times that in --long
#   kernels                  instead of the run's; none: not at all
#   boot_long                yes: in --long only; never: not there, where another boot has it all
#   beside                   yes: keeps one processor busy at most, see beside.sh
#   pair                     yes: runs in two guests at once (tests/lab/pair), of which the first reports what
#                            passed, both what failed; not with beside
check_boot() {
	local about='' options=() groups=() only_cases=() not_cases=() environment=()
	local seconds=120 budget='' budget_long='' ready='' kernels='' boot_long=no beside=no pair=no guest_kernel

	# shellcheck disable=SC1090 # one of tests/guest/boots
	. "$lab_top/tests/guest/boots/$1"
	case $boot_long:$long in
	yes:no | never:yes) return ;;
	esac
	[ -n "$budget" ] || budget=$((seconds / 2))
	if [ "$long" = yes ]; then
		seconds=$((seconds * 3))
		budget=${budget_long:-$((budget * 2))}
	fi
	[ "$kernels" != none ] || return 0
	for guest_kernel in ${kernels:-$(check_kernels)}; do
		phase=$1
		[ "$guest_kernel" = 6.12 ] || phase=$1-$guest_kernel
		check_plan
		matrix_plan
		if [ ${#plan[@]} -eq 0 ]; then
			continue
		elif [ "$beside" = yes ]; then
			beside_later
		else
			check_phase "$phase" "$budget" check_guest "$guest_kernel" check_run_guest
		fi
	done
}

# Kernels of guests that get devices by VFIO; usage: check_kernels_passed KERNEL (of the short run)
check_kernels_passed() {
	if [ "$kernel" = 6.1 ]; then
		echo none
	elif [ "$long" = yes ]; then
		echo "${kernel:-6.12 7.3}"
	else
		echo "${kernel:-$1}"
	fi
}

check_plan() {
	local name

	plan=()
	for name in $(for group in "${groups[@]}"; do check_cases "$group"; done); do
		[ ${#only_cases[@]} -eq 0 ] || [[ " ${only_cases[*]} " == *" $name "* ]] || continue
		[[ " ${not_cases[*]} " != *" $name "* ]] || continue
		! check_wanted "$name" || plan+=("$name")
	done
}

# usage: check_guest KERNEL RUN (the plan's outcome, as the lines come that RUN KERNEL prints)
check_guest() {
	local line status=0 reported=' ' name lines out=$check_dir/$phase.out

	echo "check: $phase: $about, kernel $1, ${#plan[@]} cases"
	exec {lines}< <("$2" "$1")
	guest_job=$!
	while IFS= read -r -u "$lines" line; do
		check_line "$line"
	done
	exec {lines}<&-
	wait "$guest_job" || status=$?
	guest_job=
	for name in "${plan[@]}"; do
		[[ $reported == *" $name "* ]] || check_failed "$name: did not report" "$out.err"
	done
	matrix_compare "$1"
	[ $phase_failed -eq 0 ] || check_tell_kernel
	[ -z "$ready" ] || check_ready "$out.err"
	while IFS= read -r line; do
		retries+=("$phase: ${line#lab: retry: }")
	done < <(grep -a '^lab: retry: ' "$out.err")
	[ $status -eq 0 ] || [ $phase_failed -gt 0 ] ||
		check_failed "guest: status $status, no case failed: $(tail -n 1 "$out.err")" "$out.err"
}

# What the guests' kernels complained of first, where a case failed: often why.
check_tell_kernel() {
	local pattern=$guestlog_trouble log line

	[[ " ${options[*]}" == *' --expect-fault'* || " ${options[*]}" == *' --fault '* ]] ||
		pattern="$pattern|$guestlog_fault"
	for log in "$check_dir/$phase.log"{,.2}; do
		line=$(grep -aE -m 1 "$pattern" "$log" 2>/dev/null) || continue
		echo "check: $phase: the guest's kernel said: $line"
		echo "    log: $log"
		kernel_words+=("$phase: $line")
	done
}

# Prints what runs a case of the present phase again. usage: check_again CASE
check_again() {
	local words=(tests/run-check)

	[ "$long" = no ] || words+=(--long)
	[ -z "$kernel" ] || words+=(--kernel "$kernel")
	echo "${words[*]} --only '$phase $1'"
}

# usage: check_ready LOG (of the lab)
check_ready() {
	local took

	took=$(sed -n 's/^\(1: \)*lab: COMMAND starts after \([0-9]*\)\.[0-9] s$/\2/p' "$1")
	echo "check: $phase: ready after ${took:-?} s (goal $ready s)"
	[ "${took:-0}" -le "$ready" ] || over_budget+=("$phase: ready after $took s of $ready s")
}

# Once more, with what has not reported, where it was the emulation of the processor that failed.
check_run_guest() {
	local status=0 left

	check_run_cases "$1" "${plan[@]}" || status=$?
	mapfile -t left < <(check_not_reported)
	[ $status -eq 125 ] && [ ${#left[@]} -gt 0 ] && check_keep_try || return $status
	check_run_cases "$1" "${left[@]}"
}

check_not_reported() {
	local name reported

	reported=" $(sed -nE 's/^(ok|not ok|skip) ([^: ]*).*/\2/p' "$check_dir/$phase.out" | tr '\n' ' ')"
	for name in "${plan[@]}"; do
		[[ $reported == *" $name "* ]] || echo "$name"
	done
}

# Puts the first try's logs, run and what its cases wrote aside; false if there is no reason to try again.
check_keep_try() {
	local out=$check_dir/$phase.out kept=$check_dir/$phase.first fault

	fault=$(grep -a -m 1 '^lab: emulation fault: ' "$out.err") || return
	mv -T "${fault##*; run }" "$kept" || return
	cp -a --sparse=always "$check_dir/$phase" "$kept/scratch"
	mv "$check_dir/$phase.log" "$kept/log"
	mv "$out.err" "$kept/out.err"
	echo "lab: retry: ${fault%; run *}; the first try is in $kept" >"$out.err"
}

# usage: check_run_cases KERNEL CASE...
check_run_cases() {
	local rounds=20 runner=run lines=p

	set -o pipefail
	[ "$long" = no ] || rounds=50
	[ "${pair-no}" = no ] || runner=pair lines='s/^1: //p; s/^2: \(not ok\|skip\) /\1 /p'
	mkdir -p "$check_dir/$phase"
	"$lab_top/tests/lab/$runner" --kernel "$1" "${options[@]}" --timeout "$seconds" \
		--scratch "$check_dir/$phase" --keep-log "$check_dir/$phase.log" -- \
		env VPEER_TEST_ROUNDS=$rounds VPEER_TEST_SEED="$check_seed" \
		VPEER_TEST_ONLY="${*:2}" "${environment[@]}" \
		"$lab_top/tests/guest/run" "${groups[@]}" \
		2>>"$check_dir/$phase.out.err" </dev/null | sed -un "$lines" | tee -a "$check_dir/$phase.out"
}

# usage: check_line "ok group.name (3 ms)", "not ok group.name: reason", "skip group.name: reason"
check_line() {
	local rest name

	case $1 in
	'ok '*) rest=${1#ok } ;;
	'not ok '*) rest=${1#not ok } ;;
	'skip '*) rest=${1#skip } ;;
	'# '*)
		echo "check: $phase: ${1#'# '}"
		return
		;;
	*) return ;;
	esac
	name=${rest%%[: ]*}
	reported="$reported$name "
	case $1 in
	'ok matrix.'*) matrix_hold "$rest" ;;
	ok*) check_passed "$rest" ;;
	skip*) check_failed "$rest (skipped, but the lab has what it needs)" \
		"$check_dir/$phase/cases/$name.log" ;;
	*) check_failed "$rest" "$check_dir/$phase/cases/$name.log" ;;
	esac
}
