/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DMA-bufs that other drivers export, and an MR of one: RDMA of one function through another to its memory,
 * which the exporter's own means look at.
 */
#ifndef EXPORTER_H
#define EXPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma.h"

/* How its owner sees the memory. Places count from the start of the DMA-buf. */
struct exporter_owner {
	void *context;
	void (*fill)(void *context, uint64_t at, uint64_t size, uint64_t word);
	/* The whole DMA-buf, and what is beside it, is just that. */
	bool (*holds)(void *context, const void *image);
};

struct exporter {
	const struct exporter_owner *owner;
	struct rdma near, far;	/* the function that asks, and the one that reaches the memory */
	char *plain;
	struct ibv_mr *plain_mr;
	int dmabuf;
	uint64_t size;		/* of the DMA-buf, a multiple of pages */
	char *image;		/* what it is to hold */
	struct ibv_mr *mr;
	uint64_t at, length;	/* in the DMA-buf */
	uint64_t iova;
	uint64_t address;	/* the device's, of a BAR, once exporter_find_address() found it */
};

/* The descriptor is the structure's from then on. */
void exporter_begin(struct exporter *e, const struct exporter_owner *owner, int dmabuf,
		    uint64_t size);
void exporter_end(struct exporter *e);

/* An MR of a part that need not begin nor end with a page: 0, or the errno of its refusal. */
int exporter_reg(struct exporter *e, const char *mode, uint64_t at, uint64_t length);
void exporter_dereg(struct exporter *e);

/* Write, read and atomics; what is beside them stays. */
void exporter_check(struct exporter *e);

/* There are no MRs beyond the DMA-buf's end. */
void exporter_check_end(struct exporter *e);

/* Other bytes in all of it. */
void exporter_poison(struct exporter *e, uint64_t word);

/* By this key nothing is reached, in no direction. The function refuses, or has no pages. */
void exporter_check_dead(struct exporter *e, uint32_t rkey);

/* Of a BAR: where the function has the MR's first byte, which a write that no one asked for reaches, or not. */
void exporter_find_address(struct exporter *e);
void exporter_check_poke(struct exporter *e, bool lands);

#endif /* EXPORTER_H */
