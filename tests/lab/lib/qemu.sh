# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The guest's machine. Every tested device sits behind a root port at a fixed place of bus 0,
# by which the guest's scripts (tests/lab/guest) find it.

# Of the machine whose command line is being made: where its files go, which IOMMU it has, its
# memory and how it is emulated, whether device models are connected to it.
qemu_args=() vm_dir='' vm_iommu='' vm_memory='' vm_accel='' vm_cpu='' vm_cpus=2 vm_sim=no

qemu_add() {
	qemu_args+=("$@")
}

# A big BAR lies beyond the addresses that an emulated CPU has without being told.
qemu_cpu() {
	local bits=

	[ "$(numfmt --from=iec "$opt_bar_size")" -lt $((16 << 30)) ] || bits=,phys-bits=46
	case $vm_iommu:$vm_accel in
	*:kvm) echo "${opt_cpu:-host}" ;;
	amd*) echo "${opt_cpu:-EPYC}$bits" ;;
	*) echo "${opt_cpu:-max}$bits" ;;
	esac
}

# Those who serve a device from another process reach memory that is a file.
qemu_memory() {
	ram=
	[ "$vm_sim" = yes ] || return 0
	ram=,memory-backend=ram
	qemu_add -object "memory-backend-memfd,id=ram,size=$vm_memory,share=on"
}

qemu_machine() {
	local mode='' chip='' ram

	[ "$vm_accel" = kvm ] || mode=,thread=multi
	# What remaps interrupts needs the interrupt controller in QEMU.
	[[ $vm_accel:$vm_iommu != kvm:intel* ]] || chip=,kernel-irqchip=split
	qemu_memory
	qemu_add -M "q35$chip$ram" -accel "$vm_accel$mode" -cpu "$vm_cpu" -smp "$vm_cpus" -m "$vm_memory" \
		-nodefaults -no-user-config -display none
	[ "$opt_hotplug" = acpi ] || qemu_add -global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off
	qemu_console
}

qemu_console() {
	qemu_add -serial "file:$vm_dir/console.log"
	qemu_add -chardev "socket,id=qmp,path=$vm_dir/qmp,server=on,wait=off" -object monitor-qmp,id=host-qmp,chardev=qmp
}

# Without SMM the firmware takes variables from plain flash, which is all that a key in db needs.
qemu_firmware() {
	[ "$opt_firmware" = uefi ] || return 0
	qemu_add -drive if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd \
		-drive "if=pflash,format=raw,unit=1,file=$run_dir/variables.fd"
}

# Device models learn of mappings only if the guest's kernel tells of those that it makes.
qemu_iommu() {
	local caching=

	[ "$vm_sim" = no ] || caching=,caching-mode=on
	case $vm_iommu in
	intel | intel-pt) qemu_add -device "intel-iommu,intremap=off,device-iotlb=on$caching" ;;
	amd | amd-pt) qemu_add -device amd-iommu,intremap=on,dma-remap=on,xtsup=on,device-iotlb=on ;;
	virtio | virtio-pt) qemu_add -device virtio-iommu-pci,addr=0x2 ;;
	esac
}

qemu_share() {
	local tag=$1 path=$2 addr=$3 readonly=$4

	qemu_add -fsdev "local,id=$tag,path=$path,security_model=none,multidevs=remap,readonly=$readonly" \
		-device "virtio-9p-pci,fsdev=$tag,mount_tag=vpeer-$tag,addr=$addr"
}

qemu_shares() {
	qemu_share root /.guest 0x3 on
	qemu_share control "$vm_dir/control" 0x4 off
	qemu_share scratch "$run_scratch" 0x5 off
	qemu_share backing "$run_backing" 0x6 off
}

# Output goes to files, which never make the guest wait; the guest's monitor port is a client of
# QEMU's own control socket.
qemu_ports() {
	qemu_add -device virtio-serial-pci,addr=0x7,max_ports=8 \
		-chardev "file,id=stdout,path=$vm_dir/stdout,append=on" \
		-device virtserialport,chardev=stdout,name=vpeer.stdout \
		-chardev "file,id=stderr,path=$vm_dir/stderr,append=on" \
		-device virtserialport,chardev=stderr,name=vpeer.stderr \
		-chardev "socket,id=monitor,path=$vm_dir/guest-qmp,server=on,wait=off" \
		-object monitor-qmp,id=guest-qmp,chardev=monitor \
		-chardev "socket,id=guestmonitor,path=$vm_dir/guest-qmp" \
		-device virtserialport,chardev=guestmonitor,name=vpeer.monitor
	[ "$vm_sim" = no ] || sim_control_port "socket,id=sim,path=$sim_dir/control"
}

# usage: qemu_root_port NAME PLACE [FUNCTION]
qemu_root_port() {
	local name=$1 addr=$2 number=$2 function=

	[ -z "${3-}" ] || function=.$3,multifunction=on number=$((32 + addr * 8 + $3))
	# QEMU reads addr as hexadecimal, chassis and slot as decimal.
	qemu_add -device "pcie-root-port,id=port-$name,addr=$(printf 0x%x "$addr")$function,chassis=$number,slot=$number"
}

qemu_apertures() {
	local number

	for ((number = 0; number < opt_apertures; number++)); do
		qemu_root_port "ap$number" $((16 + number))
		qemu_add -object "memory-backend-file,id=mem-ap$number,mem-path=$run_backing/ap$number,size=$opt_bar_size,share=on" \
			-device "ivshmem-plain,id=ap$number,memdev=mem-ap$number,bus=port-ap$number"
	done
}

qemu_rdma() {
	local feature=disable-legacy=on,iommu_platform=on,ats=on

	qemu_root_port rdma 8
	qemu_add -netdev hubport,id=net-pf,hubid=0 -netdev hubport,id=net-vf,hubid=0 \
		-device "virtio-net-pci,bus=port-rdma,addr=0x0.0x1,netdev=net-vf,sriov-pf=rdma-pf,romfile=,$feature" \
		-device "virtio-net-pci,bus=port-rdma,addr=0x0.0x0,netdev=net-pf,id=rdma-pf,romfile=,$feature"
}

qemu_nvme() {
	qemu_root_port nvme 9
	qemu_add -drive "if=none,id=nvme-disk,file=$run_dir/disk/nvme.img,format=raw" \
		-device nvme-subsys,id=nvme-subsys \
		-device nvme,id=nvme-pf,serial=vpeer-lab,subsys=nvme-subsys,bus=port-nvme,sriov_max_vfs=1,sriov_vq_flexible=2,sriov_vi_flexible=1 \
		-device nvme-ns,drive=nvme-disk,bus=nvme-pf,nsid=1,shared=on
}

qemu_ats() {
	qemu_root_port ats 10
	qemu_add -drive "if=none,id=ats-disk,file=$run_dir/disk/ats.img,format=raw" \
		-device virtio-blk-pci,drive=ats-disk,bus=port-ats,ats=on,iommu_platform=on,disable-legacy=on,serial=vpeer-ats
}

qemu_edu() {
	qemu_root_port edu 11
	qemu_add -device edu,id=edu,bus=port-edu,dma_mask=0xffffffffffffffff
}

qemu_devices() {
	! options_has_device aperture || qemu_apertures
	! options_has_device rdma || qemu_rdma
	! options_has_device nvme || qemu_nvme
	! options_has_device ats || qemu_ats
	! options_has_device edu || qemu_edu
	sim_devices
	pair_network
}

qemu_kernel_arguments() {
	local words="console=ttyS0 panic=-1 quiet loglevel=5 mitigations=off net.ifnames=0 audit=0"

	# An emulated processor that had to wait for a real one sees too few ticks in the time of the check.
	words="$words no_timer_check"
	words="$words watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=180 nvme_core.multipath=N"
	case $vm_iommu in
	intel) words="$words intel_iommu=on" ;;
	intel-pt) words="$words intel_iommu=on iommu=pt" ;;
	amd-pt | virtio-pt) words="$words iommu=pt" ;;
	esac
	case $opt_flush in
	strict) words="$words iommu.strict=1" ;;
	lazy) words="$words iommu.strict=0" ;;
	esac
	echo "$words $opt_append"
}

# usage: qemu_boot DIRECTORY (of a kernel)
qemu_boot() {
	qemu_add -kernel "$1/vmlinuz" -initrd "$1/initramfs" -append "$(qemu_kernel_arguments)"
}

qemu_command_line() {
	vm_dir=$run_dir vm_iommu=$opt_iommu vm_memory=$opt_memory vm_accel=$accel
	! sim_wanted || vm_sim=yes
	vm_cpu=$(qemu_cpu)
	qemu_machine
	qemu_add -no-reboot
	qemu_firmware
	qemu_iommu
	qemu_shares
	qemu_ports
	qemu_devices
	qemu_boot "$(kernel_dir "$opt_kernel")"
}
