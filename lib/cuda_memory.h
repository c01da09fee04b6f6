/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of the CUDA driver, in the files that deal with it. */
#ifndef VPEER_CUDA_MEMORY_H
#define VPEER_CUDA_MEMORY_H

#include "cuda.h"
#include "memory.h"

/* One allocation, or one mapping of those that a range consists of. */
struct vpeer_cuda_piece {
	uint64_t start;
	uint64_t length;
	uint64_t id;
};

/* Never changed once it is made, but for its users. */
struct vpeer_cuda_memory {
	const struct vpeer_cuda *cuda;
	unsigned int users;
	int device;
	void *context;	/* NULL: of none in particular */
	int identity;	/* attribute that the ids of pieces are of */
	size_t count;
	size_t room;
	struct vpeer_cuda_piece *pieces;
};

/* What the driver says of a pointer. */
struct vpeer_cuda_pointer {
	unsigned int type;
	int managed;
	int ordinal;
	uint64_t id;
	uint64_t start;
	size_t length;
	void *context;
	int identity;	/* attribute that id is of */
};

/* false: it has nothing there. */
bool vpeer_cuda_ask(const struct vpeer_cuda *cuda, uint64_t pointer,
		    struct vpeer_cuda_pointer *got);

/* A context in which the driver can be called about it; vpeer_cuda_leave() ends that. */
int vpeer_cuda_memory_enter(const struct vpeer_memory *memory, struct vpeer_cuda_scope *scope,
			    struct vpeer_error *error);

/* See struct vpeer_memory_ops. */
int vpeer_cuda_memory_export(struct vpeer_memory *memory, uint64_t start, uint64_t length,
			     unsigned int flags, int *fd, uint64_t *offset,
			     struct vpeer_error *error);

#endif /* VPEER_CUDA_MEMORY_H */
