// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "device.h"

#include <string.h>

#include "../util.h"

#define CLASS_DISPLAY		0x03
#define CLASS_ACCELERATOR	0x12

static bool has_vendor(const struct function *function, const char *const vendors[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(function->vendor, vendors[i]))
			return true;
	return false;
}

bool device_is_memory(const struct site *site, const struct function *function)
{
	static const char *const makers[] = { "0x10de", "0x1002" };
	uint32_t base = function->class >> 16;

	if (site_is_memory(site, function))
		return true;
	return (base == CLASS_DISPLAY || base == CLASS_ACCELERATOR) &&
	       has_vendor(function, makers, ARRAY_SIZE(makers));
}

bool device_is_rdma(const struct site *site, const struct function *function)
{
	(void)site;
	return function->rdma;
}

bool device_is_either(const struct site *site, const struct function *function)
{
	return device_is_memory(site, function) || site_is_initiator(site, function);
}

bool device_is_emulated(const struct function *function)
{
	static const char *const makers[] = { "0x1234", "0x1b36", "0x1af4" };

	return has_vendor(function, makers, ARRAY_SIZE(makers));
}

bool device_hides_control(const struct function *function)
{
	const struct express *express = &function->express;

	return !function->sriov.physfn[0] && express->presence == PRESENT &&
	       express->payload == 128 && express->read_request == 128 &&
	       !express->relaxed_ordering && !express->ext_tag;
}

bool device_is_given(const struct site *site, const struct function *function)
{
	return function->vfio && !machine_is_guest(site);
}

bool device_is_translated(const struct function *function)
{
	return function->group.known && !strncmp(function->group.type, "DMA", 3);
}

const struct pci_bar *device_aperture(const struct function *function)
{
	const struct pci_bar *largest = NULL;

	for (size_t i = 0; i < PCI_BARS; i++) {
		const struct pci_bar *bar = &function->bars[i];

		if (bar->memory && bar->prefetchable && (!largest || bar->size > largest->size))
			largest = bar;
	}
	return largest;
}

uint64_t bar_last(const struct pci_bar *bar)
{
	return bar->start + (bar->size - 1);
}

size_t device_count(const struct site *site, device_kind *is)
{
	size_t count = 0;

	for (size_t i = 0; i < site->function_count; i++)
		count += is(site, &site->functions[i]);
	return count;
}

void device_each(struct findings *all, const struct site *site, device_kind *is,
		 device_check *check)
{
	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (!is(site, function) || config_is_silent(&function->config) ||
		    device_is_given(site, function))
			continue;
		check(all, site, function);
	}
}

void device_saw(struct findings *all, const struct function *function, const char *name,
		const char *value)
{
	finding_saw(all, value, "/sys/bus/pci/devices/%s/%s", function->pci, name);
}

void device_begin(struct findings *all, const struct function *function, const char *check,
		  const char *name, const char *value)
{
	finding_add(all, check, function->pci);
	device_saw(all, function, name, value);
}

static const struct function *of_site(const void *place, const char *pci)
{
	return site_function(place, pci);
}

static void add_path(const struct site *site, const struct function *memory,
		     const struct function *initiator, struct path **paths, size_t *count)
{
	struct path path = { .memory = memory, .initiator = initiator };

	if (memory == initiator || !site_is_initiator(site, initiator) ||
	    device_is_given(site, memory) || device_is_given(site, initiator))
		return;
	path_find(&path, of_site, site);
	if (!path.common[0])
		return;
	*paths = xrealloc(*paths, *count + 1, sizeof(path));
	(*paths)[(*count)++] = path;
}

size_t device_paths(const struct site *site, struct path **paths)
{
	size_t count = 0;

	*paths = NULL;
	for (size_t i = 0; i < site->function_count; i++) {
		if (!device_is_memory(site, &site->functions[i]))
			continue;
		for (size_t j = 0; j < site->function_count; j++)
			add_path(site, &site->functions[i], &site->functions[j], paths, &count);
	}
	return count;
}
