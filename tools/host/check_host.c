// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "../util.h"
#include "check.h"

static void check_iommu(struct findings *all, const struct host *host)
{
	const struct iommu *iommu = &host->iommu;
	char count[32];

	finding_add(all, "iommu", "host");
	text_format(count, sizeof(count), "%zu groups", iommu->groups);
	finding_saw(all, count, "%s/kernel/iommu_groups", host->place->sysfs);
	finding_saw(all, iommu->unit, "%s/class/iommu", host->place->sysfs);
	if (iommu->groups) {
		finding_says(all, STATE_OK, "an IOMMU translates (%s, %zu groups)",
			     iommu->driver[0] ? iommu->driver : "driver not named", iommu->groups);
		return;
	}
	finding_says(all, STATE_FAIL, "no IOMMU is in use: nothing can be given to a guest");
	if (!strcmp(host->cpu.vendor, "GenuineIntel"))
		finding_remedy(all, job_host, "switch VT-d on in the firmware setup, and boot "
			       "with intel_iommu=on");
	else if (!strcmp(host->cpu.vendor, "AuthenticAMD"))
		finding_remedy(all, job_host, "switch IOMMU (AMD-Vi) on in the firmware setup, "
			       "and boot without amd_iommu=off or iommu=off");
	else
		finding_remedy(all, job_setup, "switch the IOMMU on in the firmware setup");
}

static void check_remapping(struct findings *all, const struct host *host)
{
	finding_add(all, "interrupt-remapping", "host");
	finding_saw(all, host->iommu.remapping == ANSWER_YES ? "IR-" : "no IR-",
		    "%s/interrupts", host->place->procfs);
	if (host->iommu.remapping == ANSWER_YES) {
		finding_says(all, STATE_OK, "interrupts of devices are remapped");
		return;
	}
	if (!host->iommu.groups) {
		finding_says(all, STATE_UNKNOWN, "no IOMMU is in use: look again once one is");
		return;
	}
	if (host->iommu.remapping == ANSWER_UNKNOWN) {
		finding_says(all, STATE_UNKNOWN, "the file names no interrupt controller by "
			     "which remapping shows");
		return;
	}
	finding_saw(all, host->vfio.unsafe_interrupts == ANSWER_YES ? "Y" : "N",
		    "%s/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts",
		    host->place->sysfs);
	if (host->vfio.unsafe_interrupts == ANSWER_YES)
		finding_says(all, STATE_WARN, "interrupts are not remapped, and VFIO is told to "
			     "accept that: a guest can send interrupts to the host");
	else
		finding_says(all, STATE_FAIL, "interrupts are not remapped: VFIO refuses to give "
			     "devices away");
	finding_remedy(all, job_setup, "switch interrupt remapping (x2APIC) on in the firmware "
		       "setup, and boot without intremap=off");
}

/* Words of the kernel's command line that change what peer DMA does. */
struct word {
	const char *text;
	enum state state;
	const char *meaning;
};

static const struct word words[] = {
	{ "noats", STATE_FAIL, "ATS is off for all: every peer request goes by the IOMMU" },
	{ "pcie_acs_override", STATE_WARN,
	  "groups are split that the hardware does not isolate" },
	{ "disable_acs_redir", STATE_WARN,
	  "peer requests of these ports pass by the IOMMU, and groups merge" },
	{ "config_acs", STATE_OK, "ACS bits are set at boot" },
	{ "iommu=pt", STATE_OK,
	  "the host's own devices are not translated; a guest's are all the same" },
	{ "iommu.passthrough=1", STATE_OK,
	  "the host's own devices are not translated; a guest's are all the same" },
};

/* As an option or a value of one, not within another word. */
static bool has_word(const char *line, const char *word)
{
	static const char between[] = " \t\",=";
	size_t length = strlen(word);

	for (const char *at = strstr(line, word); at; at = strstr(at + 1, word))
		if ((at == line || strchr(between, at[-1])) &&
		    (!at[length] || strchr(between, at[length])))
			return true;
	return false;
}

static void check_cmdline(struct findings *all, const struct host *host)
{
	bool spoke = false;

	finding_add(all, "kernel-command-line", "host");
	finding_saw(all, host->cmdline, "%s/cmdline", host->place->procfs);
	if (host->cmdline_err) {
		finding_says(all, STATE_UNKNOWN, "cannot be read: %s",
			     strerror(-host->cmdline_err));
		return;
	}
	finding_says(all, STATE_OK, "nothing in it changes peer DMA");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!has_word(host->cmdline, words[i].text) ||
		    (spoke && words[i].state == STATE_OK))
			continue;
		finding_says(all, words[i].state, "%s: %s", words[i].text, words[i].meaning);
		if (words[i].state != STATE_OK)
			finding_remedy(all, job_host, "boot without %s", words[i].text);
		spoke = true;
		if (words[i].state == STATE_FAIL)
			return;
	}
}

static void check_kvm(struct findings *all, const struct host *host)
{
	const struct kvm *kvm = &host->kvm;

	finding_add(all, "kvm", "host");
	finding_saw(all, kvm->there ? "present" : "absent", "%s/class/misc/kvm",
		    host->place->sysfs);
	if (kvm->there) {
		finding_says(all, STATE_OK, "KVM is there (%s%s)",
			     kvm->module[0] ? kvm->module : "module not named",
			     kvm->nested == ANSWER_YES ? ", nested" : "");
		return;
	}
	finding_says(all, STATE_FAIL, "there is no KVM: guests cannot run at speed");
	finding_remedy(all, job_host, "switch virtualisation (VT-x, SVM) on in the firmware "
		       "setup, then 'modprobe kvm_intel' or 'modprobe kvm_amd'");
}

static void saw_there(struct findings *all, const struct host *host, bool there,
		      const char *path)
{
	finding_saw(all, there ? "present" : "absent", "%s/%s", host->place->sysfs, path);
}

static void saw_vfio(struct findings *all, const struct host *host)
{
	const struct vfio *vfio = &host->vfio;

	saw_there(all, host, vfio->pci, "bus/pci/drivers/vfio-pci");
	saw_there(all, host, vfio->type1, "module/vfio_iommu_type1");
	saw_there(all, host, vfio->container, "class/misc/vfio");
	saw_there(all, host, vfio->iommufd, "class/misc/iommu");
	finding_saw(all, host->release, "%s/sys/kernel/osrelease", host->place->procfs);
}

static void check_vfio(struct findings *all, const struct host *host)
{
	const struct vfio *vfio = &host->vfio;

	finding_add(all, "vfio", "host");
	saw_vfio(all, host);
	if (!vfio->pci || (!vfio->type1 && !vfio->iommufd)) {
		finding_says(all, STATE_FAIL, "%s is not loaded: no device can be given away",
			     vfio->pci ? "neither vfio_iommu_type1 nor iommufd" : "vfio-pci");
		finding_remedy(all, job_host,
			       "'modprobe vfio-pci' and 'modprobe vfio_iommu_type1'");
	} else if (vfio->type1) {
		finding_says(all, STATE_OK, "VFIO by type1 containers%s; type1 maps BARs for peers",
			     vfio->iommufd ? " and by iommufd" : "");
	} else if (host_iommufd_maps_bars(host)) {
		finding_says(all, STATE_OK, "VFIO by iommufd only; from Linux 6.19 on it maps "
			     "BARs, if the VMM asks for it by dma-buf");
	} else {
		finding_says(all, STATE_WARN, "VFIO by iommufd only, which before Linux 6.19 "
			     "does not map BARs: guests run, but peers do not reach them");
		finding_remedy(all, job_host, "'modprobe vfio_iommu_type1', and let the VMM use "
			       "a container");
	}
}

static void check_hugepages(struct findings *all, const struct host *host)
{
	char value[64], size[BYTES_LEN];
	uint64_t bytes = 0;

	finding_add(all, "hugepages", "host");
	for (size_t i = 0; i < host->pool_count; i++) {
		const struct pool *pool = &host->pools[i];

		if (pool->node != NO_NODE)
			continue;
		bytes += pool->free * pool->size;
		text_format(value, sizeof(value), "%llu free of %llu",
			    (unsigned long long)pool->free, (unsigned long long)pool->total);
		finding_saw(all, value, "%s/kernel/mm/hugepages/hugepages-%llukB",
			    host->place->sysfs, (unsigned long long)pool->size >> 10);
	}
	finding_saw(all, host->thp, "%s/kernel/mm/transparent_hugepage/enabled",
		    host->place->sysfs);
	if (bytes) {
		finding_says(all, STATE_OK, "%s in free huge pages", format_bytes(bytes, size));
		return;
	}
	finding_says(all, host->pool_count ? STATE_WARN : STATE_UNKNOWN, "no huge page is free: "
		     "guest memory is mapped in 4 KiB pages%s, with more misses of IOTLB and ATC",
		     !strcmp(host->thp, "never") ? "" : " or what transparent huge pages give");
	finding_remedy(all, job_host, "reserve them at boot ('default_hugepagesz=1G "
		       "hugepagesz=1G hugepages=N'), or by nr_hugepages of each node");
}

static void check_address_width(struct findings *all, const struct host *host)
{
	const struct iommu *iommu = &host->iommu;
	char text[64];

	finding_add(all, "address-width", "host");
	text_format(text, sizeof(text), "%u bits physical", host->cpu.physical);
	finding_saw(all, text, "%s/cpuinfo", host->place->procfs);
	if (!host->cpu.physical) {
		finding_says(all, STATE_UNKNOWN, "the CPU's address width is not told");
		return;
	}
	if (!iommu->width) {
		finding_says(all, STATE_OK, "the CPU has %u address bits%s", host->cpu.physical,
			     iommu->groups ? "; the IOMMU's width is not in sysfs" : "");
		return;
	}
	text_format(text, sizeof(text), "%u bits (MGAW)", iommu->width);
	finding_saw(all, text, "%s/class/iommu/%s/intel-iommu/cap", host->place->sysfs,
		    iommu->unit);
	if (iommu->width >= host->cpu.physical) {
		finding_says(all, STATE_OK, "CPU %u bits, IOMMU %u bits", host->cpu.physical,
			     iommu->width);
		return;
	}
	finding_says(all, STATE_WARN, "the IOMMU translates %u bits, the CPU has %u: what a "
		     "guest with all of them places above is out of reach for DMA", iommu->width,
		     host->cpu.physical);
	finding_remedy(all, job_vm, "-cpu host,host-phys-bits=on,host-phys-bits-limit=%u, as "
		       "'vpeer host qemu' emits it", iommu->width);
}

void check_host(struct findings *all, const struct host *host)
{
	check_iommu(all, host);
	check_remapping(all, host);
	check_cmdline(all, host);
	check_kvm(all, host);
	check_vfio(all, host);
	check_hugepages(all, host);
	check_address_width(all, host);
}
