# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2034 # the opt_ variables are what other files read
# The command line of tests/lab/run.

opt_kernel=6.12 opt_iommu='' opt_flush='' opt_devices=''
opt_append='' opt_memory=1500M opt_bar_size=64M opt_apertures=1 opt_attach=yes opt_load=yes
opt_hotplug=acpi opt_cpu=''
opt_firmware=bios opt_sign=none opt_keep_log='' opt_expect_fault=no opt_timeout=300
opt_scratch='' opt_backing='' opt_machine=''
opt_passthrough=no opt_on_host=no opt_host_iommu=intel opt_guest_iommu=none opt_unmapped=''
passthrough_only=() opt_faults=()
opt_command=()

options_help() {
	cat <<'END'
usage: tests/lab/run [OPTION]... -- COMMAND...
Runs COMMAND as root in a fresh guest that has vpeer loaded, an aperture attached and RDMA devices up;
with --devices it has just those, of which apertures are attached, and vgpu are not:
--devices 'vgpu*1' -- sh -c 'vpeer attach $VPEER_VGPU_PCI && vpeer list'.

  --kernel 6.1|6.12|7.3                    guest kernel (6.12)
  --iommu NAME                             guest IOMMU: none, intel, intel-pt, amd, amd-pt, virtio or
                                           virtio-pt (intel); -pt lets addresses through
  --strict | --lazy                        when IOMMU unmaps take effect (the kernel's default)
  --devices LIST                           of aperture,rdma,nvme,ats,edu, or none (all five);
                                           vgpu*N and vrnic*N, device models, each followed by its
                                           options: vgpu*2,aperture=64M,clique=1,vrnic*4,no-ats; see
                                           tests/sim/README.md
  --apertures N                            how many apertures (1)
  --bar-size SIZE                          size of each aperture (64M)
  --hotplug acpi|pciehp                    who handles hot-plug in the guest (acpi)
  --memory SIZE                            guest memory (1500M)
  --cpu NAME                               QEMU's name of the processor that is emulated (max; EPYC with
                                           --iommu amd). Linux lets devices behind different ports reach
                                           each other's BARs, where it judges that, on EPYC alone
  --append 'ARGS'                          more kernel arguments
  --no-attach                              load vpeer, attach nothing
  --no-load                                do not load vpeer either
  --firmware bios|uefi                     guest firmware (bios)
  --sign none|db|unknown                   sign vpeer.ko with no key, a key in UEFI db, another key
  --timeout S                              seconds COMMAND may take (300); then exit 124
  --expect-fault                           IOMMU faults in the guest's log are no failure
  --fault NAME[=VALUE]                     vrnic misbehaves, may be repeated: drop, mirror, read-fail,
                                           one-way, late, page-error, high-fail, bar-unmapped, no-ats,
                                           atc-stale, bounce, gone, cqe-error, slow or hang;
                                           implies --expect-fault; see tests/sim/README.md
  --keep-log FILE                          copy the guest's console and kernel log there
  --scratch DIR                            directory of this machine to show at /scratch; what
                                           COMMAND writes there stays
  --backing DIR                            where the apertures' backing files go
  --machine DIR                            another system than the lab's tree: DIR holds release, vmlinuz
                                           and initramfs, and in layers the directories of its root

  --passthrough                            emulate a host with an IOMMU and KVM, and run COMMAND in a guest
                                           on it that gets apertures and NVMe VF by VFIO; its system is a
                                           Debian 13 (kernel 6.12 or 7.3) with vpeer's packages
  --on-host                                run COMMAND on that host; /run/vpeer-lab/start-guest there
                                           starts the guest
  --host-iommu intel|amd                   the host's IOMMU (intel)
  --guest-iommu NAME                       the guest's IOMMU, named as with --iommu (none)
  --fault bar-unmapped[=NAME]              the VMM does not map the BAR of NAME (ap0, ap1, vgpu0, ...),
                                           by default the last aperture

In the guest: apertures (first one $VPEER_AP_PCI), soft-RoCE devices rxe0 (on a virtio-net VF) and
rxe1, NVMe disk $VPEER_NVME_DISK behind an SR-IOV VF, virtio disk $VPEER_ATS_DISK with ATS, a DMA
engine $VPEER_EDU_PCI, the apertures' memory seen from outside in $VPEER_OWNER_DIR, this tree at its
own path (changes are thrown away), /scratch. /run/vpeer-lab/unplug N and replug N take aperture N
away and bring it back; /run/vpeer-lab/monitor 'COMMAND' speaks to QEMU, /run/vpeer-lab/sim 'COMMAND'
to the device models. $VPEER_VGPU_ALL and $VPEER_VRNIC_ALL have their PCI addresses,
$VPEER_VRNIC_DEVICES the RDMA devices. tests/lab/pair runs two guests that see each other.

Exit status: COMMAND's; 1 if it was 0 but the kernel warned, oopsed or saw an IOMMU fault;
2 for options that cannot be; 124 on --timeout; 125 if the guest did not come up, died, or the lab
could not be made.
END
}

options_bad() {
	lab_bad_usage "$* (see tests/lab/run --help)"
}

options_one_of() {
	local name=$1 value=$2 word

	shift 2
	for word; do
		[ "$word" != "$value" ] || return 0
	done
	options_bad "$name cannot be '$value'; take one of: $*"
}

options_number() {
	case $2 in
	'' | *[!0-9]* | 0* | ??????????*) options_bad "$1 is '$2'; give a number from 1 to 999999999" ;;
	esac
}

options_size() {
	[[ $2 =~ ^[1-9][0-9]*[KMGT]?$ ]] ||
		options_bad "$1 is '$2'; give a size such as 64M or 4G"
}

options_parse() {
	while [ $# -gt 0 ]; do
		case $1 in
		--strict) opt_flush=strict ;;
		--lazy) opt_flush=lazy ;;
		--passthrough) opt_passthrough=yes ;;
		--on-host) opt_on_host=yes passthrough_only+=("$1") ;;
		--no-attach) opt_attach=no ;;
		--no-load) opt_load=no opt_attach=no ;;
		--expect-fault) opt_expect_fault=yes ;;
		--help | -h) options_help; exit 0 ;;
		--) shift; opt_command=("$@"); break ;;
		--*)
			[ $# -ge 2 ] || options_bad "$1 needs a value"
			options_value "$1" "$2"
			shift
			;;
		*) options_bad "unexpected '$1'; put COMMAND after --" ;;
		esac
		shift
	done
	options_check
}

options_value() {
	case $1 in
	--kernel) opt_kernel=$2 ;;
	--iommu) opt_iommu=$2 ;;
	--devices) opt_devices=$2 ;;
	--cpu) opt_cpu=$2 ;;
	--append) opt_append=$2 ;;
	--memory) opt_memory=$2 ;;
	--bar-size) opt_bar_size=$2 ;;
	--apertures) opt_apertures=$2 ;;
	--hotplug) opt_hotplug=$2 ;;
	--host-iommu) opt_host_iommu=$2 passthrough_only+=("$1") ;;
	--guest-iommu) opt_guest_iommu=$2 passthrough_only+=("$1") ;;
	--fault) opt_faults+=("$2") opt_expect_fault=yes ;;
	--pair) pair_take "$2" ;;
	--firmware) opt_firmware=$2 ;;
	--sign) opt_sign=$2 ;;
	--keep-log) opt_keep_log=$2 ;;
	--timeout) opt_timeout=$2 ;;
	--scratch)
		[ -d "$2" ] || options_bad "--scratch $2: no such directory"
		opt_scratch=$2
		;;
	--backing) opt_backing=$2 ;;
	--machine)
		[ -f "$2/layers" ] || options_bad "--machine $2: no file $2/layers"
		opt_machine=$2
		;;
	*) options_bad "unknown option $1" ;;
	esac
}

options_check() {
	[ ${#opt_command[@]} -gt 0 ] || options_bad "no COMMAND; put it after --"
	kernel_check_name "$opt_kernel"
	options_number --apertures "$opt_apertures"
	[ "$opt_apertures" -le 13 ] || options_bad "--apertures is $opt_apertures; the machine has 13 places"
	options_take_sim
	if [ "$opt_passthrough" = yes ]; then
		options_check_passthrough
	else
		[ ${#passthrough_only[@]} -eq 0 ] ||
			options_bad "${passthrough_only[0]} needs --passthrough"
		opt_iommu=${opt_iommu:-intel} opt_devices=${opt_devices:-aperture,rdma,nvme,ats,edu}
		options_take_faults
	fi
	options_one_of --iommu "$opt_iommu" none intel intel-pt amd amd-pt virtio virtio-pt
	options_one_of --hotplug "$opt_hotplug" acpi pciehp
	options_one_of --firmware "$opt_firmware" bios uefi
	options_one_of --sign "$opt_sign" none db unknown
	options_number --timeout "$opt_timeout"
	options_size --memory "$opt_memory"
	options_size --bar-size "$opt_bar_size"
	options_check_devices
	[ "$opt_sign" != db ] || opt_firmware=uefi
}

options_check_devices() {
	local device devices

	[ "$opt_devices" != none ] || opt_devices=
	IFS=, read -ra devices <<<"$opt_devices"
	for device in "${devices[@]}"; do
		options_one_of --devices "$device" aperture rdma nvme ats edu 'vgpu*N' 'vrnic*N'
	done
	options_has_device aperture || opt_apertures=0
	sim_wanted || return 0
	[ -z "$opt_machine" ] || options_bad "--machine does not go with vgpu and vrnic"
}

# What is left of opt_devices are the devices of QEMU itself.
options_take_sim() {
	local word words rest=''

	IFS=, read -ra words <<<"$opt_devices"
	for word in "${words[@]}"; do
		sim_take "$word" || rest+=,$word
	done
	sim_wanted || return 0
	opt_devices=${rest#,}
	opt_devices=${opt_devices:-none}
}

options_take_faults() {
	local fault

	for fault in ${opt_faults[@]+"${opt_faults[@]}"}; do
		sim_fault "$fault"
	done
}

options_check_passthrough() {
	[ -z "$opt_iommu" ] ||
		options_bad "--passthrough has --host-iommu and --guest-iommu instead of --iommu"
	[ "$opt_kernel" != 6.1 ] || options_bad "the guest of --passthrough has kernel 6.12 or 7.3"
	[ "$opt_firmware:$opt_sign$opt_machine" = bios:none ] ||
		options_bad "--firmware, --sign and --machine do not go with --passthrough"
	options_one_of --host-iommu "$opt_host_iommu" intel amd
	options_one_of --guest-iommu "$opt_guest_iommu" none intel intel-pt amd amd-pt virtio virtio-pt
	opt_iommu=$opt_guest_iommu opt_devices=${opt_devices:-aperture,rdma,nvme}
	[ -z "$opt_cpu" ] || options_bad "--cpu does not go with --passthrough"
	options_take_vmm_fault
	options_take_faults
	case ,$opt_devices, in
	*,ats,* | *,edu,*) options_bad "--passthrough passes aperture and nvme, not ats and edu" ;;
	*,aperture,*) ;;
	*) [ "${sim_count[vgpu]}" -gt 0 ] || options_bad "--devices of --passthrough needs aperture or vgpu" ;;
	esac
}

# What the VMM does with real BARs is not left to a device model.
options_take_vmm_fault() {
	local fault rest=()

	for fault in ${opt_faults[@]+"${opt_faults[@]}"}; do
		case $fault in
		bar-unmapped) options_take_unmapped "$(options_last_bar)" ;;
		bar-unmapped=*) options_take_unmapped "${fault#*=}" ;;
		*) rest+=("$fault") ;;
		esac
	done
	opt_faults=(${rest[@]+"${rest[@]}"})
	sim_wanted || [ ${#opt_faults[@]} -eq 0 ] ||
		options_one_of --fault "${opt_faults[0]}" bar-unmapped
}

options_last_bar() {
	if options_has_device aperture; then
		echo "ap$((opt_apertures - 1))"
	else
		echo "vgpu$((sim_count[vgpu] - 1))"
	fi
}

# usage: options_take_unmapped NAME
options_take_unmapped() {
	local number names=()

	for ((number = 0; number < opt_apertures; number++)); do
		names+=("ap$number")
	done
	for ((number = 0; number < sim_count[vgpu]; number++)); do
		names+=("vgpu$number")
	done
	options_one_of '--fault bar-unmapped' "$1" "${names[@]}"
	opt_unmapped=$1
}

options_has_device() {
	case ,$opt_devices, in
	*,"$1",*) return 0 ;;
	esac
	return 1
}
