/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that another process gave and may take away: a file that became shorter ends an access, not the
 * server. All return 0 or -EFAULT.
 */
#ifndef SIM_GUARD_H
#define SIM_GUARD_H

#include <stddef.h>
#include <stdint.h>

#include "dma.h"

void guard_begin(void);	/* once */

/* 1, 2, 4 and 8 bytes go in one piece if aligned, a store after all that was stored before. */
int guard_read(void *to, const void *shared, size_t length);
int guard_write(void *shared, const void *from, size_t length);
int guard_atomic(uint64_t *shared, enum dma_atomic operation, uint64_t operand1, uint64_t operand2,
		 uint64_t *before);

/* The same on a number of this process. */
uint64_t atomic_result(uint64_t before, enum dma_atomic operation, uint64_t operand1,
		       uint64_t operand2);

#endif
