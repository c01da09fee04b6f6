// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <unistd.h>

#include "memory.h"
#include "range.h"

/* What was exported must be what the pointer points to still. */
static int export_it(struct vpeer_memory *memory, struct vpeer_export *export,
		     struct vpeer_error *error)
{
	int err = 0;

	if (memory->ops->prepare)
		err = memory->ops->prepare(memory, error);
	if (!err)
		err = vpeer_memory_export(memory, memory->start, memory->length, 0, &export->fd,
					  &export->offset, error);
	if (!err && vpeer_memory_valid(memory)) {
		vpeer_error_clear(error);
		return 0;
	}
	if (err)
		return err;
	close(export->fd);
	export->fd = -1;
	return vpeer_fail_reason(error, ENODEV, VPEER_REASON_MR_STALE, memory->who,
				 "cannot export");
}

int vpeer_export(const void *address, size_t length, struct vpeer_export *export,
		 struct vpeer_error *error)
{
	struct vpeer_finder *finder;
	struct vpeer_memory memory;
	int err = vpeer_check_range(address, length, error);

	*export = (struct vpeer_export){ .fd = -1, .length = length };
	if (err)
		return err;
	err = vpeer_finder_create(&finder, -1, error);
	if (err)
		return err;
	err = vpeer_memory_identify(finder, (uintptr_t)address, length, &memory, error);
	if (!err) {
		err = export_it(&memory, export, error);
		vpeer_memory_release(&memory);
	}
	vpeer_finder_destroy(finder);
	return err;
}
