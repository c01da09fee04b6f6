/* SPDX-License-Identifier: GPL-2.0-only */
/* A loopback pair of queue pairs on one RDMA device. */
#ifndef RDMA_H
#define RDMA_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#define RDMA_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct rdma {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *near;	/* posts */
	struct ibv_qp *far;	/* answers */
	uint16_t lid;		/* of InfiniBand; else 0 and a GID */
	union ibv_gid gid;
	int gid_index;
};

/* The device of $VPEER_TEST_RDMA, else rxe0; skips the case without one. */
void rdma_open(struct rdma *r);
void rdma_open_device(struct rdma *r, const char *name);
void rdma_close(struct rdma *r);

/* A fresh pair: also after an error, which ends the old one. */
void rdma_connect(struct rdma *r);

/* A fresh pair over two devices: what is asked of the first is answered by the second. */
void rdma_join(struct rdma *from, struct rdma *to);

/* The same pair, reset. */
void rdma_connect_again(struct rdma *r);

struct ibv_mr *rdma_reg(struct rdma *r, void *addr, size_t size);

/* Each waits for its completion. */
enum ibv_wc_status rdma_write(struct rdma *r, const struct ibv_mr *local,
			      uint64_t remote, uint32_t rkey, uint32_t size);
enum ibv_wc_status rdma_read(struct rdma *r, const struct ibv_mr *local,
			     uint64_t remote, uint32_t rkey, uint32_t size);
enum ibv_wc_status rdma_add(struct rdma *r, const struct ibv_mr *local,
			    uint64_t remote, uint32_t rkey, uint64_t value);
enum ibv_wc_status rdma_swap(struct rdma *r, const struct ibv_mr *local,
			     uint64_t remote, uint32_t rkey, uint64_t expected,
			     uint64_t value);

#endif /* RDMA_H */
