/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options of callers, and what is wrong with them, in words. */
#ifndef VPEER_OPTIONS_H
#define VPEER_OPTIONS_H

#include "context.h"

/* Every device has these. */
#define VPEER_ACCESS_BASIC	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
				 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* Of the interface to the kernel: every kernel's, and those that one may leave out. */
#define VPEER_ACCESS_KNOWN	(0x3ffU | 0x3ff00000U)

/* The first is asked for by an option of its own; the second gives work requests other addresses. */
#define VPEER_ACCESS_NEVER	(IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_ZERO_BASED)

/* Kernels let nobody change from afar what may not be changed here. */
static inline bool vpeer_access_lacks_local(uint32_t access)
{
	return (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	       !(access & IBV_ACCESS_LOCAL_WRITE);
}

/* 0, or -EINVAL with the member and its value. */
int vpeer_reg_options_check(const struct vpeer_reg_options *options, const char *who,
			    struct vpeer_error *error);
int vpeer_context_options_check(const struct vpeer_context_options *options, const char *who,
				struct vpeer_error *error);

#endif /* VPEER_OPTIONS_H */
