/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef VPEER_RANGE_H
#define VPEER_RANGE_H

#include <stddef.h>

#include "internal.h"

/* 0, or the refusal of a range that is empty (-EINVAL) or wraps (-EOVERFLOW). */
int vpeer_check_range(const void *address, size_t length, struct vpeer_error *error)
	VPEER_NO_ACCESS(1);

#endif /* VPEER_RANGE_H */
