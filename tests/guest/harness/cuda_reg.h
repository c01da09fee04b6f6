/* SPDX-License-Identifier: GPL-2.0-only */
/* CUDA memory that the library registers, on a device of the models or soft-RoCE. */
#ifndef HARNESS_CUDA_REG_H
#define HARNESS_CUDA_REG_H

#include "../../../lib/vpeer.h"
#include "cuda.h"
#include "rdma.h"
#include "vgpu.h"

#define CUDA_UNIT	(64 * KIB)
#define CUDA_PLAIN	(256 * KIB)	/* of ordinary memory */

struct cuda_reg {
	struct rdma r;
	struct vpeer_context *context;
	char *plain;
	struct ibv_mr *plain_mr;	/* not by the library */
	int ordinal;			/* of the GPU */
	char *memory;			/* the GPU's, as CPUs see it */
	struct vgpu *gpu;		/* if it is one, its own engine looks at the memory */
};

/* The RDMA device: a model where the machine has one, else soft-RoCE. No context yet. */
void cuda_reg_open(struct cuda_reg *t);

/* A GPU of ordinary memory whose own driver exports it, and a context. @options: NULL for the defaults. */
void cuda_reg_begin(struct cuda_reg *t, const struct vpeer_context_options *options);
void cuda_reg_context(struct cuda_reg *t, const struct vpeer_context_options *options);
void cuda_reg_end(struct cuda_reg *t);

/* A refusal fails the case with its words. */
struct vpeer_mr *cuda_reg_must(struct cuda_reg *t, uint64_t at, size_t length,
			       const struct vpeer_reg_options *options);

/* It must be refused with @err, and leave nothing behind; what the refusal says. */
struct vpeer_error cuda_reg_refused(struct cuda_reg *t, uint64_t at, size_t length,
				    const struct vpeer_reg_options *options, int err);

/* The GPU has just these bytes at an address, as its driver, or its engine, sees them. */
bool cuda_reg_holds(struct cuda_reg *t, uint64_t at, const void *bytes, size_t length);

/* Moves new bytes both ways between ordinary memory and the GPU's. */
void cuda_reg_check(struct cuda_reg *t, uint64_t at, uint32_t rkey, uint32_t size);

/* What the device must refuse; the next write on a new pair is possible. */
void cuda_reg_check_denied(struct cuda_reg *t, uint64_t at, uint32_t rkey, uint32_t size);

struct vpeer_stats cuda_reg_stats(const struct cuda_reg *t);

#endif /* HARNESS_CUDA_REG_H */
