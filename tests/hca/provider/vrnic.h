/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the provider share. */
#ifndef VRNIC_H
#define VRNIC_H

#include <assert.h>
#include <endian.h>
#include <infiniband/driver.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vrnic_abi.h"

static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "the device's numbers are used as they are");

struct vrnic_context {
	struct verbs_context verbs;
	void *doorbell;			/* a page of BAR 2 */
	atomic_uint generation;
};

struct vrnic_ah {
	struct ibv_ah ah;
	uint16_t lid;
};

/*
 * The device gives back the id that it was posted with. Users' ids are kept aside, as the slot must be
 * known to know how much of the ring is free, and the generation to tell what a QP left behind
 * that was destroyed or reset.
 */
#define ID_SLOT_MASK		0x7fffffff
#define ID_RECEIVE		(1u << 31)
#define ID_GENERATION_SHIFT	32

/* One direction of a QP. Counters run on and are taken modulo the ring's size. */
struct vrnic_queue {
	pthread_spinlock_t lock;	/* of those who post */
	void *ring;
	size_t size;			/* bytes */
	uint32_t entries;		/* power of 2 */
	uint32_t sges;			/* of an entry */
	uint32_t posted;
	atomic_uint done;		/* only whoever holds the CQ's lock changes it */
	uint64_t *ids;			/* by slot */
};

struct vrnic_qp {
	struct verbs_qp verbs;
	uint32_t generation;
	uint32_t max_inline;
	bool all_signaled;
	struct vrnic_queue send, receive;
};

struct vrnic_cq {
	struct verbs_cq verbs;
	pthread_spinlock_t lock;
	uint32_t number;
	uint32_t entries;		/* power of 2 */
	uint32_t taken;			/* runs on */
	void *ring;
	size_t size;			/* bytes, with the consumer's page */
	uint32_t *consumer;
	struct vrnic_qp **qps;		/* that complete here, by number; changed under the lock */
	uint32_t qps_size;
};

static inline struct vrnic_context *to_context(struct ibv_context *context)
{
	return container_of(context, struct vrnic_context, verbs.context);
}

static inline struct vrnic_cq *to_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct vrnic_cq, verbs.cq);
}

static inline struct vrnic_qp *to_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct vrnic_qp, verbs.qp);
}

static inline struct vrnic_ah *to_ah(struct ibv_ah *ah)
{
	return container_of(ah, struct vrnic_ah, ah);
}

/* context.c */
struct verbs_context *vrnic_alloc_context(struct ibv_device *device, int fd, void *private);
void *vrnic_map(struct ibv_context *context, uint64_t key, size_t size);	/* NULL: see errno */
void vrnic_ring(struct ibv_context *context, enum vrnic_doorbell doorbell, uint32_t number,
		uint32_t value);

/* pd.c */
struct ibv_pd *vrnic_alloc_pd(struct ibv_context *context);
int vrnic_dealloc_pd(struct ibv_pd *pd);

/* mr.c */
struct ibv_mr *vrnic_reg_mr(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
			    int access);
struct ibv_mr *vrnic_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				   int fd, int access);
int vrnic_dereg_mr(struct verbs_mr *mr);

/* ah.c */
struct ibv_ah *vrnic_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int vrnic_destroy_ah(struct ibv_ah *ah);

/* cq.c */
struct ibv_cq *vrnic_create_cq(struct ibv_context *context, int entries,
			       struct ibv_comp_channel *channel, int vector);
int vrnic_destroy_cq(struct ibv_cq *cq);
int vrnic_req_notify_cq(struct ibv_cq *cq, int solicited_only);
/* Completions of a QP are taken for it from then on; 0 or -errno. */
int vrnic_cq_add(struct vrnic_cq *cq, struct vrnic_qp *qp);
/* Both CQs of a QP, which may be one. */
void vrnic_cq_lock_both(struct vrnic_qp *qp);
void vrnic_cq_unlock_both(struct vrnic_qp *qp);
/* With both locked. */
void vrnic_cq_forget(struct vrnic_qp *qp);

/* poll.c */
int vrnic_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);

/* qp.c */
struct ibv_qp *vrnic_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
int vrnic_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int vrnic_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init);
int vrnic_destroy_qp(struct ibv_qp *qp);

/* queue.c */
int vrnic_queue_open(struct vrnic_queue *queue, struct ibv_context *context, uint64_t key,
		     size_t size, uint32_t entries, uint32_t sges);	/* 0 or -errno */
void vrnic_queue_close(struct vrnic_queue *queue);
void vrnic_queue_reset(struct vrnic_queue *queue);
/* Between these it is the caller's to post to; the second tells the device. */
uint32_t vrnic_queue_begin(struct vrnic_queue *queue);
void vrnic_queue_end(struct vrnic_queue *queue, struct ibv_qp *qp, enum vrnic_doorbell doorbell,
		     uint32_t before);
void vrnic_set_sges(struct vrnic_sge *to, const struct ibv_sge *from, int count);

static inline bool queue_full(struct vrnic_queue *queue)
{
	uint32_t done = atomic_load_explicit(&queue->done, memory_order_acquire);

	return queue->posted - done == queue->entries;
}

static inline uint32_t queue_slot(const struct vrnic_queue *queue)
{
	return queue->posted & (queue->entries - 1);
}

/* The entry of the slot is written. */
static inline void queue_add(struct vrnic_queue *queue, uint64_t id)
{
	queue->ids[queue_slot(queue)] = id;
	queue->posted++;
}

/* send.c */
int vrnic_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* receive.c */
int vrnic_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif
