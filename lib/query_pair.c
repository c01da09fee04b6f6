// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "context.h"
#include "route.h"
#include "sysfs.h"
#include "topology.h"

#define VENDOR_NVIDIA	0x10de

static const struct vpeer_memory_ops *const kinds[] = {
	[VPEER_MEMORY_WINDOW] = &vpeer_memory_window,
	[VPEER_MEMORY_DMABUF] = &vpeer_memory_dmabuf,
	[VPEER_MEMORY_CUDA] = &vpeer_memory_cuda,
};

/* Why a kind of memory never goes a route, whatever the device. */
static const uint32_t never[VPEER_ROUTES] = {
	[VPEER_ROUTE_DMABUF] = VPEER_REASON_NO_DMABUF_EXPORT,
	[VPEER_ROUTE_PAGES] = VPEER_REASON_NOT_PINNABLE,
	[VPEER_ROUTE_PEERMEM] = VPEER_REASON_NO_PEERMEM,
};

static bool has_aperture(const char *sysfs, const struct vpeer_pci_address *pci)
{
	struct vpeer_entry *entries;
	bool found = false;
	size_t count;

	if (vpeer_list_at(sysfs, &entries, &count, NULL))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!vpeer_pci_compare(&entries[i].pci, pci))
			found = true;
	vpeer_list_free(entries);
	return found;
}

static unsigned int kind_of(const char *sysfs, const struct vpeer_pci_address *pci)
{
	char name[VPEER_PCI_LEN];
	uint64_t vendor;

	if (has_aperture(sysfs, pci))
		return VPEER_MEMORY_WINDOW;
	if (!vpeer_sysfs_u64(&vendor, "%s/bus/pci/devices/%s/vendor", sysfs,
			     vpeer_pci_format(pci, name)) &&
	    vendor == VENDOR_NVIDIA)
		return VPEER_MEMORY_CUDA;
	return VPEER_MEMORY_DMABUF;
}

static void fill_routes(struct vpeer_context *context, unsigned int kind,
			struct vpeer_pair_info *info)
{
	struct vpeer_verdict verdict;

	for (unsigned int route = VPEER_ROUTE_DMABUF; route < VPEER_ROUTES; route++) {
		if (!(kinds[kind]->routes & VPEER_ROUTE_BIT(route)))
			info->reasons[route] = never[route];
		else if (vpeer_verdict_get(context, kind, route, &verdict) && verdict.err)
			info->reasons[route] = verdict.reason;
		else
			info->routes |= VPEER_ROUTE_BIT(route);
	}
}

int vpeer_query_pair_at(const char *sysfs, struct vpeer_context *context,
			const struct vpeer_pci_address *memory, struct vpeer_pair_info *info,
			struct vpeer_error *error)
{
	int err;

	if (!vpeer_context_alive(context))
		return vpeer_context_fail_forked(context, error);
	err = vpeer_pair_read(sysfs, memory, context->device, info, error);
	if (!err)
		fill_routes(context, kind_of(sysfs, memory), info);
	return err;
}

int vpeer_query_pair(struct vpeer_context *context, const struct vpeer_pci_address *memory,
		     struct vpeer_pair_info *info, struct vpeer_error *error)
{
	return vpeer_query_pair_at("/sys", context, memory, info, error);
}
