/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kinds of memory share when they look for what a pointer points to. */
#ifndef VPEER_FINDER_H
#define VPEER_FINDER_H

#include <pthread.h>

#include "maps.h"
#include "memory.h"

struct vpeer_finder {
	pthread_mutex_t lock;		/* all below */
	int eventfd;			/* the caller's, or -1 */
	struct vpeer_owner *owners;	/* with and without memory */
	/* NULL as long as the process has no CUDA driver; set once, without the lock. */
	struct vpeer_cuda *cuda;
};

/* The CUDA driver, if the process has it; it stays as long as the finder. */
const struct vpeer_cuda *vpeer_finder_cuda(struct vpeer_finder *finder);

#endif /* VPEER_FINDER_H */
