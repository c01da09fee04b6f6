// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The IOMMU that the machine sees, and what its domains mean for peers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "device.h"

/* VT-d's capability register: guest address width less one. */
#define INTEL_CAP_MGAW(cap)	(((cap) >> 16 & 0x3f) + 1)
#define MOST_UNITS		64

static bool has_groups(const struct site *site)
{
	char **names;
	size_t count = site_names(site, &names, "sys/kernel/iommu_groups");

	site_names_free(names, count);
	return count;
}

static void say_none(struct findings *all, const struct site *site)
{
	finding_add(all, "iommu-domain", "machine");
	finding_saw(all, "no groups", "/sys/kernel/iommu_groups");
	if (machine_is_guest(site))
		finding_says(all, STATE_OK, "the guest has no IOMMU of its own: functions use its "
			     "addresses, and the host's IOMMU must have the BARs mapped (not "
			     "measured)");
	else
		finding_says(all, STATE_OK, "no IOMMU translates: functions use the CPU's "
			     "addresses");
}

/* The first GPU whose driver maps its memory for peers itself, if it does; NULL for none. */
static const struct function *mapped_by_nvidia(const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (!strcmp(site->functions[i].driver, "nvidia"))
			return &site->functions[i];
	return NULL;
}

static void say_translated(struct findings *all, const struct site *site,
			   const struct function *function)
{
	const struct function *gpu = mapped_by_nvidia(site);

	if (!gpu) {
		finding_says(all, STATE_OK, "translated (%s): the routes dmabuf and pages of vpeer "
			     "map memory for it, and refuse a raw address", function->group.type);
		return;
	}
	device_saw(all, gpu, "driver", gpu->driver);
	finding_says(all, STATE_WARN, "translated (%s): NVIDIA's driver must map memory of %s for "
		     "it, and some versions give raw BAR addresses instead, which the IOMMU drops "
		     "without a word (open-gpu-kernel-modules#1324)", function->group.type,
		     gpu->pci);
	finding_remedy(all, job_guest, "boot with iommu=pt, or keep NVreg_DmaRemapPeerMmio=1 and "
		       "measure with vpeer-selftest(1)");
}

/* The first function with memory that is in the same group, and so in the same domain. */
static const char *memory_in(const struct site *site, const struct group *group)
{
	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (function->group.known && function->group.number == group->number &&
		    device_is_memory(site, function))
			return function->pci;
	}
	return "none";
}

static void domain(struct findings *all, const struct site *site,
		   const struct function *function)
{
	const struct group *group = &function->group;
	char text[128];

	if (!group->known || device_is_memory(site, function))
		return;
	finding_add(all, "iommu-domain", function->pci);
	text_format(text, sizeof(text), "group %u, %s; memory in it: %s", group->number,
		    group->type[0] ? group->type : "type not told", memory_in(site, group));
	finding_saw(all, text, "/sys/kernel/iommu_groups/%u/type", group->number);
	if (device_is_translated(function))
		say_translated(all, site, function);
	else
		finding_says(all, STATE_OK, "%s: it uses the %s", group->type[0] ? group->type :
			     "not translated", machine_is_guest(site) ?
			     "guest's addresses, and the host's IOMMU translates" :
			     "CPU's addresses");
}

void check_iommu_domain(struct findings *all, const struct site *site)
{
	if (!device_count(site, device_is_either))
		return;
	if (has_groups(site))
		device_each(all, site, site_is_initiator, domain);
	else
		say_none(all, site);
}

/* Of the narrowest unit, 0 when unknown; @unit: its name. */
static unsigned int width_of(const struct site *site, char *unit, size_t size)
{
	unsigned int width, narrowest = 0;
	char **names, text[32], *end;
	size_t count = site_names(site, &names, "sys/class/iommu");

	for (size_t i = 0; i < count && i < MOST_UNITS; i++) {
		if (site_text(site, text, sizeof(text), "sys/class/iommu/%s/intel-iommu/cap",
			      names[i]))
			continue;
		width = (unsigned int)INTEL_CAP_MGAW(strtoull(text, &end, 16));
		if (end == text || *end || (narrowest && width >= narrowest))
			continue;
		narrowest = width;
		text_format(unit, size, "%s", names[i]);
	}
	site_names_free(names, count);
	return narrowest;
}

static bool is_translated(const struct site *site, const struct function *function)
{
	return site_is_initiator(site, function) && device_is_translated(function);
}

static void width(struct findings *all, const struct site *site, const struct function *function)
{
	const struct pci_bar *bar = device_aperture(function);
	char unit[64], text[64];
	unsigned int bits = width_of(site, unit, sizeof(unit));

	if (!bits || bits >= 64 || !bar || !bar->size || bar->unassigned)
		return;
	text_format(text, sizeof(text), "0x%" PRIx64 " to 0x%" PRIx64, bar->start, bar_last(bar));
	device_begin(all, function, "iommu-width", "resource", text);
	text_format(text, sizeof(text), "%u bits (MGAW)", bits);
	finding_saw(all, text, "/sys/class/iommu/%s/intel-iommu/cap", unit);
	if (!(bar_last(bar) >> bits)) {
		finding_says(all, STATE_OK, "its BAR is within the IOMMU's %u address bits", bits);
		return;
	}
	finding_says(all, STATE_FAIL, "its BAR is above the IOMMU's %u address bits: a mapping of "
		     "it faults in functions that are translated", bits);
	finding_remedy(all, job_vm, "QEMU: '-device intel-iommu,aw-bits=48', or boot the guest "
		       "with iommu=pt");
}

/* Only where some function is translated. */
void check_iommu_width(struct findings *all, const struct site *site)
{
	if (device_count(site, is_translated))
		device_each(all, site, device_is_memory, width);
}
