/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two RDMA functions with ordinary memory at both, and a window of a GPU's aperture that neither has. What is
 * moved is compared by the GPU's own engine.
 */
#ifndef ENDS_H
#define ENDS_H

#include <stdint.h>

#include "gpu_window.h"
#include "rdma.h"

#define ENDS_PLAIN	(4 << 20)	/* bytes of ordinary memory at each end */
#define ENDS_EMPTY	0x5a		/* what they are before something is received */
#define ENDS_IOVA	0x7654321000	/* unlike any address of memory */

struct ends {
	struct gpu_window w;
	struct rdma r, far;
	char *near, *remote;
	struct ibv_mr *near_mr, *remote_mr;
};

/* What an MR makes of the window. */
struct region {
	struct ibv_mr *mr;
	uint64_t iova;		/* of the first byte */
	uint64_t at;		/* of that in the GPU's memory */
	uint64_t size;
};

/* With a window of the first GPU, or of one that is attached, and DMA-bufs taken in MODE. */
void ends_begin(struct ends *e, const char *mode, uint64_t at, uint64_t size);
void ends_begin_at(struct ends *e, unsigned int vgpu, uint64_t at, uint64_t size);

/* The GPU is detached; no DMA may have failed. */
void ends_end(struct ends *e);

/* [offset, offset + size) of a DMA-buf that starts at START of the window, for the function of END. */
struct region region_of(struct rdma *end, const struct ends *e, int dmabuf, uint64_t start,
			uint64_t offset, uint64_t size);
void region_drop(struct region *region);

/* The MR with the address that libibverbs does not know. */
struct ibv_mr local_mr(const struct region *source, uint64_t offset);

/* Marks a range of the GPU's memory and some bytes beside it, which must stay. */
void ends_poison(struct ends *e, uint64_t at, uint64_t size);
void check_guards(struct ends *e, uint64_t at, uint64_t size);

/* New bytes in ordinary memory, and none. */
void ends_fill(char *memory, uint64_t size);
void ends_empty(char *memory, uint64_t size);

/* From and to the near end's ordinary memory. */
enum ibv_wc_status ends_put(struct ends *e, uint64_t iova, uint32_t rkey, uint32_t size);
enum ibv_wc_status ends_get(struct ends *e, uint64_t iova, uint32_t rkey, uint32_t size);

/* Moves bytes, of the target's region by rkey or of the initiator's by lkey. */
void check_write(struct ends *e, const struct region *target, uint64_t offset, uint64_t size);
void check_read(struct ends *e, const struct region *target, uint64_t offset, uint64_t size);
void check_local_write(struct ends *e, const struct region *source, uint64_t offset, uint64_t size);
void check_local_read(struct ends *e, const struct region *sink, uint64_t offset, uint64_t size);
void check_atomics(struct ends *e, const struct region *target, uint64_t offset);
void check_local_atomics(struct ends *e, const struct region *sink, uint64_t offset);

/* The four that move bytes, and all at several places. */
void check_place(struct ends *e, const struct region *target, const struct region *local,
		 uint64_t offset, uint64_t size);
void check_region(struct ends *e, const struct region *target, const struct region *local);

#endif /* ENDS_H */
