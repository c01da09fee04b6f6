// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "range.h"

static void describe(const struct vpeer_memory *memory, struct vpeer_memory_info *info)
{
	*info = (struct vpeer_memory_info){
		.kind = memory->kind,
		.device_known = memory->device_known,
		.base = memory->base,
		.length = memory->base_length,
		.device = memory->device,
		.identity = memory->seen,
		.exportable = memory->exportable,
	};
	if (memory->kind == VPEER_MEMORY_WINDOW) {
		info->window_offset = memory->window.offset;
		snprintf(info->node, sizeof(info->node), "%s", memory->window.node);
	} else if (memory->kind == VPEER_MEMORY_DMABUF) {
		snprintf(info->node, sizeof(info->node), "%s", memory->dmabuf.name);
	}
}

int vpeer_query_memory(const void *address, size_t length, struct vpeer_memory_info *info,
		       struct vpeer_error *error)
{
	struct vpeer_finder *finder;
	struct vpeer_memory memory;
	int err = vpeer_check_range(address, length, error);

	memset(info, 0, sizeof(*info));
	if (err)
		return err;
	err = vpeer_finder_create(&finder, -1, error);
	if (err)
		return err;
	err = vpeer_memory_identify(finder, (uintptr_t)address, length, &memory, error);
	if (!err) {
		describe(&memory, info);
		vpeer_memory_release(&memory);
		vpeer_error_clear(error);
	}
	vpeer_finder_destroy(finder);
	return err;
}
