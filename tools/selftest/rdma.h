/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two reliable queue pairs of one RDMA device, connected to each other. */
#ifndef RDMA_H
#define RDMA_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "../../lib/vpeer.h"

struct rdma {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint8_t port_number;
	int gid_index;
	enum ibv_atomic_cap atomics;
	const char *who;
};

struct transfer {
	enum ibv_wr_opcode opcode;
	const struct ibv_mr *local;
	const struct ibv_mr *remote;
	uint64_t offset;	/* in both regions */
	uint32_t length;
	uint32_t rkey;		/* of @remote, or a wrong one on purpose */
	uint64_t compare_add;
	uint64_t swap;
};

/* 0 or a negative errno with @error filled; rdma_close() in both cases. */
int rdma_open(struct rdma *rdma, const char *name, struct vpeer_error *error);
void rdma_close(struct rdma *rdma);

/* Makes and connects the queue pairs, anew if there are some. */
int rdma_connect(struct rdma *rdma, struct vpeer_error *error);

/* NULL with errno set when refused. */
struct ibv_mr *rdma_register(struct rdma *rdma, void *address, size_t length);

/*
 * One transfer from queue pair 0 to 1, to its completion. 0; -EIO for a
 * completion with an error, which *status then holds; else a negative errno.
 * @error says it in words. The queue pairs are dead after a failure.
 */
int rdma_transfer(struct rdma *rdma, const struct transfer *transfer,
		  enum ibv_wc_status *status, struct vpeer_error *error);

#endif /* RDMA_H */
