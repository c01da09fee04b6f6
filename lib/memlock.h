/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RLIMIT_MEMLOCK, as the RDMA core counts against it. Sizes are bytes. */
#ifndef VPEER_MEMLOCK_H
#define VPEER_MEMLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct vpeer_memlock {
	uint64_t limit;
	uint64_t pinned;
	uint64_t wanted;
};

/* Would pinning the range exceed the limit, and does it hold for this process? */
bool vpeer_memlock_exceeded(uint64_t start, uint64_t length, struct vpeer_memlock *lock);

#endif /* VPEER_MEMLOCK_H */
