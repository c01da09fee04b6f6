/* SPDX-License-Identifier: GPL-2.0-only */
/* A pair of queue pairs: both on one RDMA device, or each on a device of its own. */
#ifndef RDMA_H
#define RDMA_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#define RDMA_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct rdma {
	struct rdma *other;	/* the device of the far one, if it is another */
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

/*
 * Two devices of one fabric: the far one first, which has no queue pair of its
 * own and is closed last.
 */
void rdma_open_far(struct rdma *far, const char *name);
void rdma_open_to(struct rdma *r, const char *name, struct rdma *far);

/* A fresh pair: also after an error, which ends the old one. */
void rdma_connect(struct rdma *r);

/* The same pair, reset. */
void rdma_connect_again(struct rdma *r);

struct ibv_mr *rdma_reg(struct rdma *r, void *addr, size_t size);

/* Of a DMA-buf. A copy of the MR with IOVA for its address is what can be sent from. */
struct ibv_mr *rdma_reg_dmabuf(struct rdma *r, int dmabuf, uint64_t offset, size_t size,
			       uint64_t iova);

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
