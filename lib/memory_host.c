// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whatever else is mapped: heaps, files, and mappings of other drivers. */
#include "memory.h"

#include <errno.h>
#include <stdio.h>

#include "maps.h"
#include "memory_kinds.h"
#include "owner.h"

/* Of the same file as @before: nothing new. */
static bool is_host(const struct vpeer_mapping *mapping, const struct vpeer_mapping *before)
{
	struct vpeer_pci_address device;
	bool known;

	if (!mapping->inode || (before && before->device == mapping->device &&
				before->inode == mapping->inode))
		return true;
	return !vpeer_mapping_is_dmabuf(mapping) &&
	       (mapping->offset >= VPEER_MMAP_GENERATION ||
		vpeer_node_look(mapping, &device, &known) != VPEER_NODE_YES);
}

static int identify(struct vpeer_finder *finder, const struct vpeer_maps *maps,
		    struct vpeer_memory *memory, struct vpeer_error *error)
{
	const struct vpeer_mapping *at = &maps->mappings[maps->first], *before = NULL;
	size_t i;

	(void)finder;
	memory->ops = &vpeer_memory_host;
	memory->kind = VPEER_MEMORY_HOST;
	memory->writable = true;
	snprintf(memory->who, sizeof(memory->who), "%llu bytes at %#llx%s%.70s",
		 (unsigned long long)memory->length, (unsigned long long)memory->start,
		 at->path[0] ? " of " : "", at->path);
	for (i = maps->first; i <= maps->last; i++) {
		memory->writable &= maps->mappings[i].writable;
		if (!is_host(&maps->mappings[i], before))
			return vpeer_fail(error, EINVAL, VPEER_REASON_MIXED_MEMORY, memory->who,
					  vpeer_reason_remedy(VPEER_REASON_MIXED_MEMORY),
					  "at %#llx host memory ends and %.200s begins",
					  (unsigned long long)maps->mappings[i].start,
					  maps->mappings[i].path);
		before = &maps->mappings[i];
	}
	memory->base = at->start;
	memory->base_length = maps->mappings[maps->last].end - at->start;
	return 1;
}

/* Drivers map registers and device memory without pages: nothing is there to be pinned. */
static unsigned int explain(const struct vpeer_memory *memory, unsigned int route, int err)
{
	if (route != VPEER_ROUTE_PAGES || err != EFAULT)
		return VPEER_REASON_NONE;
	return memory->writable ? VPEER_REASON_NOT_PINNABLE : VPEER_REASON_ACCESS;
}

const struct vpeer_memory_ops vpeer_memory_host = {
	.name = "host memory",
	.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES) | VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING),
	.identify = identify,
	.explain = explain,
};
