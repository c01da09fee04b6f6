/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions that are interposed, as the next library has them, or libibverbs. */
#ifndef PRELOAD_REAL_H
#define PRELOAD_REAL_H

#include <infiniband/verbs.h>

/* Of verbs.h, which has macros of these names. */
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* As of libibverbs: NULL and errno EOPNOTSUPP where it has no such function. */
struct ibv_mr *real_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access);
struct ibv_mr *real_reg_mr_iova(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				int access);
struct ibv_mr *real_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				 unsigned int access);
int real_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *address, size_t length,
		  int access);
int real_dereg_mr(struct ibv_mr *mr);
int real_dealloc_pd(struct ibv_pd *pd);

#endif /* PRELOAD_REAL_H */
