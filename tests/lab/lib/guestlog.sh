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
