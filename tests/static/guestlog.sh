#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What a guest's kernel complains of is told where a case fails. A fault of QEMU's emulation is told from it; only
# after that, and once, are a boot's cases that did not report run again.
set -u

. "$(dirname "$0")/../lab/lib/common.sh"
. "$lab_top/tests/lab/lib/guestlog.sh"
. "$lab_top/tests/guest/harness/check.sh"
. "$lab_top/tests/lab/lib/matrix.sh"
. "$lab_top/tests/guest/harness/matrix.sh"
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

complain() {
	echo "$*"
	status=1
}

console() {
	sed 's/^/[  600.041001] /; s/$/\r/' <<-'END'
		vpeer 0000:09:00.0: BAR 2: 536576 bytes still pinned by initiators
		BUG: ENTRY_TRAMPOLINE stack guard page was hit at fffffe394ae6eff8 (stack is fffffe394ae6f000..fffffe394ae70000)
		Oops: stack guard page: 0000 [#1] SMP NOPTI
		RIP: 0010:error_entry+0x1e/0x170
		RSP: 0000:fffffe394ae6f000 EFLAGS: 00000046
		Call Trace:
		 <ENTRY_TRAMPOLINE>
		 ? early_xen_iret_patch+0xc/0xc
		 exc_general_protection+0x2a/0x430
		 asm_exc_general_protection+0x26/0x30
		RIP: 0010:irqentry_enter+0x15/0x80
		RSP: 0000:fffffe394ae6ff08 EFLAGS: 00010046
		 sysvec_apic_timer_interrupt+0xe/0x90
		 asm_sysvec_apic_timer_interrupt+0x1a/0x20
		RIP: 0010:asm_sysvec_apic_timer_interrupt+0x0/0x20
		Code: 26 74 1b 01 e9 01 08 00 00 90 f3 0f 1e fa 0f 01 ca fc 6a ff e8
		RSP: 0000:fffffe394ae6ffd8 EFLAGS: 00010046
		RIP: 0033:0x7f1568cc381b
		RSP: 002b:00007ffd60b81540 EFLAGS: 00010246
		 </ENTRY_TRAMPOLINE>
		---[ end trace 0000000000000000 ]---
		Kernel panic - not syncing: Fatal exception in interrupt
	END
}

# usage: recognised yes|no WHAT SED-SCRIPT (that changes the console)
recognised() {
	local found=no

	console | sed "$3" >"$work/console"
	! guestlog_interrupted_twice "$work/console" || found=yes
	[ "$found" = "$1" ] || complain "an interrupt taken twice: $2: recognised: $found"
}

recognised yes 'as it was seen' ''
recognised no 'nothing on the console' d
recognised no 'an ordinary panic' 's/BUG: ENTRY_TRAMPOLINE stack guard.*/BUG: kernel NULL pointer dereference, address: 0\r/'
recognised no 'the panic alone' '/ENTRY_TRAMPOLINE/,/end trace/ d'
recognised no 'another stack' 's/BUG: ENTRY_TRAMPOLINE/BUG: TASK/'
recognised no 'something amiss before' '1 s/vpeer.*/list_del corruption, ffff88800b0 is LIST_POISON1\r/'
recognised no 'interrupts were on' '/RSP.*ffd8/ s/00010046/00010246/'
recognised no 'in the midst of the handler' 's/\(RIP.*apic_timer_interrupt+0x\)0/\15/'
recognised no "another interrupt's handler" 's/RIP: 0010:asm_sysvec_apic_timer/RIP: 0010:asm_sysvec_reschedule/'
recognised no "the first was another's" 's/ asm_sysvec_apic_timer_interrupt+0x1a/ asm_exc_page_fault+0x26/'
recognised no 'after the panic' '/ asm_sysvec_apic/i\[  600.041002] Kernel panic - not syncing: before'

# What a boot with the cases pin.a, pin.b and pin.c comes to. A try is shell code that stands for tests/lab/run.
# usage: comes 'PASSED FAILED RETRIES COMPLAINTS RUNS' CASES-OF-THE-LAST-RUN TRY...
# shellcheck disable=SC2034,SC2317 # read and called by harness/check.sh
comes() (
	expected=$1 cases=$2 lab_top=$work/top check_dir=$work/check
	phase=boot plan=(pin.a pin.b pin.c) options=() environment=() groups=(pin) about='' ready='' seconds=9 long=no kernel=''
	shift 2
	read -ra options <<<"${boot_options-}"
	rm -rf "$lab_top" "$check_dir"
	mkdir -p "$lab_top/tests/lab" "$check_dir"
	printf '%s\n' "$@" >"$lab_top/tries"
	cat >"$lab_top/tests/lab/run" <<-'END'
		#!/bin/bash
		top=$(dirname "$0")/../.. fault="emulation fault: twice; run $(dirname "$0")/ran"
		printf '%s\n' "$*" >>"$top/calls"
		mkdir -p "$(dirname "$0")/ran"
		log=$(sed 's/.*--keep-log \([^ ]*\) .*/\1/' <<<"$*")
		echo "vpeer: all is well" >"$log"
		eval "$(sed -n "$(wc -l <"$top/calls") p" "$top/tries")"
	END
	chmod +x "$lab_top/tests/lab/run"
	check_guest 6.12 check_run_guest >"$work/told"
	came="$passed $failed ${#retries[@]} ${#kernel_words[@]} $(wc -l <"$lab_top/calls")"
	[ "$came" = "$expected" ] || complain "tries '$*' come to '$came', not '$expected': $(cat "$work/told")"
	grep -q "VPEER_TEST_ONLY=$cases " <<<"$(tail -n 1 "$lab_top/calls")" ||
		complain "the last of the tries '$*' is not for '$cases'"
	[ ${#retries[@]} -eq 0 ] || [[ -d $check_dir/boot.first/scratch && -e $check_dir/boot.first/log ]] ||
		complain "tries '$*': what the first left is not kept"
	exit $status
)

all='echo ok pin.a; echo ok pin.b; echo ok pin.c'
part='echo "ok pin.a (1 ms)"'
died='exit 125'
fault='echo "lab: $fault" >&2; exit 125'
comes '3 0 0 0 1' 'pin.a pin.b pin.c' "$all" || status=1
comes '1 2 0 0 1' 'pin.a pin.b pin.c' "$part; $died" "$all" || status=1
comes '1 2 0 0 1' 'pin.a pin.b pin.c' "$part; ${fault%125}1" "$all" || status=1
comes '3 0 1 0 2' 'pin.b pin.c' "$part; $fault" 'echo ok pin.b; echo ok pin.c' || status=1
comes '1 2 1 0 2' 'pin.b pin.c' "$part; $fault" "$fault" "$all" || status=1
comes '2 1 1 0 2' 'pin.c' "echo not ok pin.a: was wrong; echo ok pin.b; $fault" 'echo ok pin.c' || status=1
comes '3 1 0 0 1' 'pin.a pin.b pin.c' "$all; $fault" "$all" || status=1

bug='echo "kernel BUG at lib/list_debug.c:62!" >>"$log"'
dmar='echo "DMAR: [DMA Write] Fault, addr 0" >>"$log"'
comes '1 2 0 1 1' 'pin.a pin.b pin.c' "$part; $bug; $dmar; exit 1" || status=1
comes '1 2 0 1 1' 'pin.a pin.b pin.c' "$part; $dmar; $died" || status=1
boot_options='--expect-fault' comes '1 2 0 0 1' 'pin.a pin.b pin.c' "$part; $dmar; $died" || status=1
boot_options='--fault drop' comes '1 2 0 1 1' 'pin.a pin.b pin.c' "$part; $dmar; $bug; $died" || status=1
exit $status
