/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions of libibverbs, by the addresses that libibverbs itself has for them: a
 * library that interposes them does not see the calls made here.
 */
#ifndef VPEER_VERBS_H
#define VPEER_VERBS_H

#include <infiniband/verbs.h>

#include "vpeer.h"

struct vpeer_verbs {
	void *handle;	/* of dlopen(); NULL: nothing is to be closed */
	const char *(*get_device_name)(struct ibv_device *device);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *device);
	int (*dealloc_pd)(struct ibv_pd *pd);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				 unsigned int access);
	/* NULL where libibverbs is older than DMA-bufs. */
	struct ibv_mr *(*reg_dmabuf_mr)(struct ibv_pd *pd, uint64_t offset, size_t length,
					uint64_t iova, int fd, int access);
	int (*dereg_mr)(struct ibv_mr *mr);
	struct ibv_cq *(*create_cq)(struct ibv_context *device, int entries, void *argument,
				    struct ibv_comp_channel *channel, int vector);
	int (*destroy_cq)(struct ibv_cq *cq);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attributes);
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask);
	int (*destroy_qp)(struct ibv_qp *qp);
	/* Fills in less than all of it: to be zeroed before. */
	int (*query_port)(struct ibv_context *device, uint8_t port,
			  struct ibv_port_attr *attributes);
	int (*query_gid)(struct ibv_context *device, uint8_t port, int index,
			 union ibv_gid *gid);
};

/* -ENOSYS and VPEER_REASON_NO_LIBIBVERBS: not there, or too old. */
int vpeer_verbs_load(struct vpeer_verbs *verbs, struct vpeer_error *error);
void vpeer_verbs_unload(struct vpeer_verbs *verbs);

#endif /* VPEER_VERBS_H */
