# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Two machines, one in the other: a host with an IOMMU and KVM, and a guest on it to which the host's
# QEMU passes devices by VFIO. Both have their devices behind the same root ports. The guest's
# command line is made here, where the host's scripts find it; they put in the addresses of devices.

# shellcheck disable=SC2034 # the vm_ variables are for qemu.sh
host_kernel=6.12 host_dir='' guest_dir='' guest_stage=''

passthrough_dirs() {
	host_dir=$run_dir/host guest_dir=$run_dir
	[ "$opt_on_host" = no ] || host_dir=$run_dir guest_dir=$run_dir/guest
	mkdir -p "$host_dir/control" "$guest_dir/control" "$guest_dir/boot"
	: >"$host_dir/console.log"
	: >"$host_dir/stdout"
	: >"$host_dir/stderr"
	cp "$image_boot/vmlinuz" "$image_boot/initramfs" "$guest_dir/boot"
	[ -z "$guest_stage" ] || cp "$guest_stage"/project/tests/hca/{vrnic_ib,mover,importer}.ko "$guest_dir/control"
}

passthrough_tell() {
	local command=("${opt_command[@]}")

	if [ "$opt_on_host" = no ]; then
		rundir_tell_guest guest "$guest_dir/control" "${command[@]}"
		command=(/run/vpeer-lab/start-guest)
	else
		rundir_tell_guest guest "$guest_dir/control"
	fi
	opt_kernel=$host_kernel opt_iommu=$opt_host_iommu opt_load=no opt_attach=no \
		rundir_tell_guest host "$host_dir/control" "${command[@]}"
	printf 'lab_run=%q lab_scratch=%q lab_guest_dir=%q\n' "$run_dir" "$run_scratch" "$guest_dir" \
		>>"$host_dir/control/settings"
}

passthrough_host_iommu() {
	local caching=

	[ "$vm_sim" = no ] || caching=,caching-mode=on
	case $vm_iommu in
	intel) qemu_add -device "intel-iommu,intremap=on,device-iotlb=on$caching" ;;
	amd) qemu_add -device amd-iommu,dma-remap=on,device-iotlb=on ;;
	esac
}

# Linux takes interrupt remapping of an emulated AMD IOMMU for a firmware bug and leaves it off.
passthrough_host_arguments() {
	[ "$vm_iommu" = intel ] || echo vfio_iommu_type1.allow_unsafe_interrupts=1
}

passthrough_host() {
	vm_dir=$host_dir vm_iommu=$opt_host_iommu vm_accel=$accel vm_cpus=1
	vm_memory=$(($(numfmt --from=iec "$opt_memory") / (1 << 20) + 2048))M
	vm_cpu=host
	[ "$accel" = kvm ] || vm_cpu=EPYC,+svm
	! sim_wanted || vm_sim=yes
	qemu_args=()
	qemu_machine
	qemu_add -no-reboot
	passthrough_host_iommu
	qemu_shares
	qemu_share run "$run_dir" 0x1e off
	qemu_share image /.image 0x1d on
	qemu_ports
	qemu_apertures
	! options_has_device nvme || qemu_nvme
	sim_devices
	[ "$opt_on_host" = no ] || passthrough_network
	opt_append=$(passthrough_host_arguments) qemu_boot "$(kernel_dir "$host_kernel")"
}

# A network PF, whose VFs have settings that only it knows.
passthrough_network() {
	qemu_root_port network 12
	qemu_add -netdev hubport,id=network,hubid=1 -device igb,id=network,bus=port-network,netdev=network,romfile=
}

passthrough_guest_iommu() {
	case $vm_iommu in
	intel | intel-pt) qemu_add -device intel-iommu,intremap=on,caching-mode=on,device-iotlb=on ;;
	amd | amd-pt) qemu_add -device amd-iommu,dma-remap=on,device-iotlb=on ;;
	virtio | virtio-pt) qemu_add -device virtio-iommu-pci,addr=0x2 ;;
	esac
}

# Words like @ap0@ become addresses on the host.
passthrough_devices() {
	local number fault

	for ((number = 0; number < opt_apertures; number++)); do
		fault=
		[ "$opt_unmapped" != "ap$number" ] || fault=,x-no-mmap=on
		qemu_root_port "ap$number" $((16 + number))
		qemu_add -device "vfio-pci,id=ap$number,host=@ap$number@,bus=port-ap$number$fault"
	done
	sim_passed_devices
	options_has_device nvme || return 0
	qemu_root_port nvme 9
	qemu_add -device "vfio-pci,id=nvme-vf,host=@nvme@,bus=port-nvme"
}

passthrough_guest() {
	vm_dir=$guest_dir vm_iommu=$opt_guest_iommu vm_memory=$opt_memory vm_accel=kvm
	vm_cpu=host,kvm-pv-eoi=off,kvm-asyncpf=off,kvm-asyncpf-int=off,kvm-steal-time=off,kvm-pv-unhalt=off,kvm-poll-control=off
	vm_cpus=1 vm_sim=no
	qemu_args=(qemu-system-x86_64)
	qemu_machine
	passthrough_guest_iommu
	passthrough_devices
	passthrough_guest_rest
	printf '%s\0' "${qemu_args[@]}" >"$guest_dir/qemu.words"
	qemu_args=()
	qemu_console
	passthrough_guest_rest
	printf '%s\0' "${qemu_args[@]}" >"$guest_dir/qemu.rest"
}

# What any machine needs to serve as the lab's guest.
passthrough_guest_rest() {
	qemu_shares
	qemu_ports
	sim_control_port pipe,id=sim,path=@sim@
	! options_has_device rdma || qemu_rdma
	qemu_boot "$guest_dir/boot"
}

# Leaves the host's command line in qemu_args, the guest's in a file.
passthrough_command_lines() {
	passthrough_dirs
	passthrough_tell
	passthrough_guest
	passthrough_host
}

# Forgets what an earlier try left.
passthrough_again() {
	local dir

	for dir in "$host_dir" "$guest_dir"; do
		rm -f "$dir"/control/{boots,failed,passed,started,dmesg*}
		mv "$dir/console.log" "$dir/console.log.before"
		: >"$dir/console.log"
	done
	: >"$run_dir/stdout"
	: >"$run_dir/stderr"
}
