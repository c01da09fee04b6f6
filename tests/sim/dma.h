/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a function reads and writes: only by the IOVA that it was given, through the regions that QEMU
 * announced or by the protocol's messages. Every access to a peer's BAR is logged, and every access that
 * finds no translation. Misbehaviours (fault.h) act here.
 */
#ifndef SIM_DMA_H
#define SIM_DMA_H

#include <stddef.h>
#include <stdint.h>

struct function;

/*
 * All return 0, or -EFAULT for an access that failed: no translation, no right, no bus master, a misbehaviour;
 * part of the bytes may have been moved. They are called from deferred work and timers only, never
 * from a device's read or write, and may serve requests of the same QEMU while they wait for it; other deferred
 * work does not run meanwhile.
 */
int dma_read(struct function *function, uint64_t iova, void *to, size_t length);
int dma_write(struct function *function, uint64_t iova, const void *from, size_t length);

enum dma_atomic {
	DMA_COMPARE_SWAP,	/* operand 1: compare, 2: swap */
	DMA_FETCH_ADD,		/* operand 1: add */
};

/* 8 bytes, naturally aligned, else -EINVAL; *before gets what was there. */
int dma_atomic(struct function *function, uint64_t iova, enum dma_atomic operation,
	       uint64_t operand1, uint64_t operand2, uint64_t *before);

#endif
