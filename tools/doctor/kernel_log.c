// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the kernel's log tells of this machine's past. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../util.h"
#include "guest.h"
#include "log_class.h"

/*
 * The causes of failed jobs by the Acme study (Hu et al., NSDI 2024): most of the time that is
 * lost, is lost to infrastructure; what programs do wrong fails oftener, and early.
 */
#define INFRASTRUCTURE	"infrastructure"
#define PROGRAM		"framework or script"

static const struct description {
	const char *name;
	const char *cause;
	const char *meaning;
	const char *const *job;
	const char *remedy;
} descriptions[LOG_CLASSES] = {
	[LOG_NVLINK] = { "log-nvlink", INFRASTRUCTURE ": NVLinkError",
		"an NVLink failed: GPUs lose their way to one another", &job_host,
		"'nvidia-smi nvlink -e' tells which; reset the GPUs, and have the NVSwitches and "
		"baseboard looked at if it comes again" },
	[LOG_ECC] = { "log-ecc", INFRASTRUCTURE ": ECCError",
		"memory of a GPU lost bits", &job_host,
		"drain the machine and reset the GPU ('nvidia-smi -q -d ROW_REMAPPER' tells what "
		"is pending); replace it if remapping failed or it comes again" },
	[LOG_GPU] = { "log-gpu", INFRASTRUCTURE ": NodeFailure",
		"a GPU or its firmware stopped answering", &job_host,
		"shut the guest down and start it again, so that the host resets the GPU; if it "
		"comes again, look at power, slot and the host's AER" },
	[LOG_CUDA] = { "log-cuda", INFRASTRUCTURE ": CUDAError",
		"a program made a GPU stop: by its own fault as a rule (an address beyond its "
		"memory, a peer that went away)", &job_user,
		"run it under compute-sanitizer; if several programs do it on one GPU only, "
		"have that GPU tested by 'dcgmi diag -r 3'" },
	[LOG_PCIE] = { "log-pcie", INFRASTRUCTURE ": NodeFailure",
		"the PCI Express link reported errors", &job_host,
		"look at the device's slot, riser and cable; 'dmesg | grep AER' on the host; where "
		"peer DMA runs, at the ACS settings of the ports between" },
	[LOG_IOMMU] = { "log-iommu", INFRASTRUCTURE ": NodeFailure",
		"an IOMMU refused a device's DMA", &job_guest,
		"see what the device was doing then; if it was peer DMA: give the guest no IOMMU, "
		"or boot it with iommu=pt, and prove the path by 'vpeer selftest'" },
	[LOG_RDMA] = { "log-rdma", INFRASTRUCTURE ": NetworkError",
		"an RDMA device refused a command or reported errors", &job_host,
		"look the syndrome up in NVIDIA's list; 'mstfwmanager' on the host shows whether "
		"its firmware is old; reset the VF by unbinding and binding it" },
	[LOG_MACHINE] = { "log-machine", INFRASTRUCTURE ": NodeFailure",
		"the machine itself had errors or stood still", &job_host,
		"look at the host's load, its machine checks and its memory; CPUs of the guest "
		"should be pinned" },
	[LOG_MEMORY] = { "log-memory", PROGRAM ": OutOfMemoryError",
		"host memory ran out, and a process was killed", &job_user,
		"give the job more memory, or have it use less (data loaders, staging buffers)" },
	[LOG_BOUNCE] = { "log-bounce", INFRASTRUCTURE,
		"DMA was to be bounced through host memory, and that failed", &job_guest,
		"boot without swiotlb=force; else a device's DMA mask is too short for the "
		"address: give the guest an IOMMU, or place BARs lower" },
	[LOG_BAR] = { "log-bar", INFRASTRUCTURE,
		"a BAR got no address: its memory cannot be reached", &job_vm,
		"a larger 64-bit window: OVMF's opt/ovmf/X-PciMmio64Mb, or more bits by "
		"host-phys-bits=on; 'vpeer host qemu' lays it out" },
	[LOG_PEERMEM] = { "log-peermem", INFRASTRUCTURE,
		"GPU memory was not handed to the RDMA stack", &job_guest,
		"use DMA-bufs: NVIDIA's open kernel modules and an RDMA driver that imports them; "
		"else build nvidia-peermem against the OFED that is installed" },
	[LOG_VPEER] = { "log-vpeer", INFRASTRUCTURE,
		"vpeer.ko refused something, or could not take memory back", &job_guest,
		"the line tells what; 'vpeer list' shows the state now" },
};

struct tally {
	size_t count;
	enum state state;
	char line[256];		/* the first */
	uint64_t fault;		/* the first that lies in a BAR of another function */
	char target[VPEER_PCI_LEN];
};

struct reading {
	const struct site *site;
	size_t lines;
	struct tally tallies[LOG_CLASSES];
};

/* Bridges ask for more than they need at first; a BAR may get its address later. */
static bool is_mended(const struct site *site, const char *line)
{
	const struct function *function;
	char pci[32];

	if (strstr(line, "bridge window") || !log_address(line, pci, sizeof(pci)))
		return true;
	function = site_function(site, pci);
	if (!function || function_is_bridge(function))
		return true;
	for (size_t i = 0; i < PCI_BARS; i++)
		if (function->bars[i].unassigned)
			return false;
	return true;
}

static void find_target(const struct site *site, struct tally *tally, const char *line)
{
	uint64_t address;

	if (tally->fault || !log_fault_address(line, &address))
		return;
	for (size_t i = 0; i < site->function_count; i++) {
		for (size_t j = 0; j < PCI_BARS; j++) {
			const struct pci_bar *bar = &site->functions[i].bars[j];

			if (!bar->memory || !bar->start || address < bar->start ||
			    address - bar->start >= bar->size)
				continue;
			tally->fault = address;
			text_format(tally->target, sizeof(tally->target), "%s",
				    site->functions[i].pci);
			return;
		}
	}
}

static void take_line(void *data, const char *line)
{
	struct reading *reading = data;
	enum state state;
	enum log_class class = log_classify(line, &state);
	struct tally *tally = &reading->tallies[class];

	reading->lines++;
	if (class == LOG_CLASSES || (class == LOG_BAR && is_mended(reading->site, line)))
		return;
	if (!tally->count++)
		text_format(tally->line, sizeof(tally->line), "%s", line);
	if (tally->state != STATE_FAIL)
		tally->state = state;
	if (class == LOG_IOMMU)
		find_target(reading->site, tally, line);
}

static void say_tally(struct findings *all, const struct description *description,
		      const struct tally *tally)
{
	char pci[32];

	finding_add(all, description->name,
		    log_address(tally->line, pci, sizeof(pci)) ? pci : "machine");
	finding_saw(all, tally->line, "kernel log, the first of %zu", tally->count);
	if (tally->fault)
		finding_says(all, tally->state, "%s, %zu times (%s); %#" PRIx64 " lies in a BAR of "
			     "%s: peer DMA does not get through", description->meaning,
			     tally->count, description->cause, tally->fault, tally->target);
	else
		finding_says(all, tally->state, "%s; %zu line%s (%s)", description->meaning,
			     tally->count, tally->count == 1 ? "" : "s", description->cause);
	finding_remedy(all, *description->job, "%s", description->remedy);
}

static void say_unread(struct findings *all, const struct site *site, int err)
{
	finding_add(all, "kernel-log", "machine");
	finding_saw(all, strerror(-err), "kernel log");
	site_saw(all, site, "proc/sys/kernel/dmesg_restrict");
	finding_says(all, STATE_UNKNOWN, "needs root: the kernel's log is not for all here%s",
		     site->place->privileged ? "" : " (kernel.dmesg_restrict)");
}

void check_kernel_log(struct findings *all, const struct site *site)
{
	struct reading reading = { .site = site };
	size_t found = 0;
	char lines[32];
	int err = site->place->calls->kernel_log(site->place->data, take_line, &reading);

	if (err) {
		say_unread(all, site, err);
		return;
	}
	for (size_t i = 0; i < LOG_CLASSES; i++) {
		if (!reading.tallies[i].count)
			continue;
		say_tally(all, &descriptions[i], &reading.tallies[i]);
		found++;
	}
	if (found)
		return;
	finding_add(all, "kernel-log", "machine");
	text_format(lines, sizeof(lines), "%zu lines", reading.lines);
	finding_saw(all, lines, "kernel log");
	finding_says(all, STATE_OK, "no sign of faults of GPUs, links, IOMMUs or RDMA devices");
}
