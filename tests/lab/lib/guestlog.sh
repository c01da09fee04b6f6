# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What in a guest's kernel log turns a success into a failure.

guestlog_trouble='WARNING: (CPU: |possible |suspicious |bad unlock|inconsistent |.* at )|BUG: |kernel BUG at|Oops|general protection fault|Kernel panic|refcount_t: |list_(add|del) corruption|blocked for more than|rcu: .* detected stall|KASAN|UBSAN|Unable to handle kernel'
guestlog_fault='DMAR: .*[Ff]ault|AMD-Vi: .*(IO_PAGE_FAULT|Event logged)|virtio_iommu .*fault'

guestlog_collect() {
	cat "$run_dir"/{,host/,guest/}{console.log,control/dmesg.before,control/dmesg} 2>/dev/null | tr -d '\r' |
		sed 's/^\[ *[0-9.]*\] //' | awk '!seen[$0]++'
}

# Prints the lines that are a failure under the run's options.
guestlog_offences() {
	local pattern=$guestlog_trouble

	[ "$opt_expect_fault" = yes ] || pattern="$pattern|$guestlog_fault"
	guestlog_collect | grep -aE "$pattern"
}

guestlog_keep() {
	[ -z "$opt_keep_log" ] || guestlog_collect >"$opt_keep_log" ||
		lab_say "cannot write the guest's log to $opt_keep_log"
}

# True if the first thing amiss on a console is this: a timer's interrupt was taken again at the first instruction of
# its own handler, where interrupts are off, which a processor never does. As the handler came from user space, the
# second takes the user's GS for the kernel's, and faults until its stack is full. QEMU's emulation of SVM was seen
# to do so to the guest of an emulated host. usage: guestlog_interrupted_twice CONSOLE
guestlog_interrupted_twice() {
	local words

	words=$(tr -d '\r' <"$1" | sed 's/^\[ *[0-9.]*\] //')
	[[ $(grep -aE -m 1 "$guestlog_trouble" <<<"$words") == 'BUG: ENTRY_TRAMPOLINE stack guard page was hit '* ]] &&
		awk '/^BUG: / { begun = 1 }
			!begun || /^Code: / { next }
			state == 2 || /^Kernel panic/ { exit }
			state == 1 && /^RIP: 0010:asm_sysvec_apic_timer_interrupt\+0x0\// { state = 2; next }
			{ state = /^ asm_sysvec_apic_timer_interrupt\+0x/ }
			END { exit !(state == 2 && /^RSP: [0-9a-f:]+ EFLAGS: [0-9a-f]+[014589cd][0-9a-f][0-9a-f]$/) }' <<<"$words"
}
