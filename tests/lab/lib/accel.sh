# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# KVM is used only where a guest was seen to boot under it; asked once per boot of this machine.

accel_probe() {
	local console=$VPEER_LAB_DIR/cache/kvm-probe.$$ kernel
	kernel=$(kernel_dir "$opt_kernel")

	[ -c /dev/kvm ] || return 1
	timeout 10 "$lab_lib/enter" --layer "$tree_dir" --bind "$kernel" --bind "$VPEER_LAB_DIR/cache" -- \
		qemu-system-x86_64 -M q35 -accel kvm -cpu host -m 256M -nodefaults -display none \
		-no-reboot -serial "file:$console" -kernel "$kernel/vmlinuz" \
		-initrd "$kernel/initramfs" -append "console=ttyS0 panic=-1 vpeer_lab_probe" \
		>/dev/null 2>&1 </dev/null
	grep -q 'probe reached user space' "$console" 2>/dev/null
	local found=$?
	rm -f "$console"
	return $found
}

accel_name() {
	local answer boot
	boot=$(cat /proc/sys/kernel/random/boot_id)
	answer=$VPEER_LAB_DIR/cache/accel-$boot

	if [ ! -s "$answer" ]; then
		if accel_probe; then
			echo kvm >"$answer"
		else
			echo tcg >"$answer"
		fi
	fi
	cat "$answer"
}
