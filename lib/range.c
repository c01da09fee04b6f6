// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "range.h"

#include <errno.h>
#include <stdio.h>

int vpeer_check_range(const void *address, size_t length, struct vpeer_error *error)
{
	uint64_t start = (uintptr_t)address;
	char who[64];

	if (length && start + (length - 1) >= start)
		return 0;
	snprintf(who, sizeof(who), "%zu bytes at %#llx", length, (unsigned long long)start);
	if (!length)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, who,
				  "give at least 1 byte", "the range is empty");
	return vpeer_fail(error, EOVERFLOW, VPEER_REASON_BAD_ARGUMENT, who,
			  "check address and length", "the range leaves the address space");
}
