// SPDX-License-Identifier: GPL-2.0-only
/* Completion queues, and which QPs complete there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "vrnic.h"

struct cq_reply {
	struct ib_uverbs_create_cq_resp base;
	struct vrnic_create_cq_answer answer;
};

static int map_ring(struct vrnic_cq *cq, const struct vrnic_create_cq_answer *answer)
{
	size_t entries = (size_t)answer->entries * sizeof(struct vrnic_completion);

	if (answer->ring_size < entries + VRNIC_DOORBELL_PAGE)
		return -EPROTO;
	cq->ring = vrnic_map(cq->verbs.cq.context, answer->ring_key, answer->ring_size);
	if (!cq->ring)
		return -errno;
	cq->size = answer->ring_size;
	cq->number = answer->cq;
	cq->entries = answer->entries;
	cq->consumer = (uint32_t *)((char *)cq->ring + cq->size - VRNIC_DOORBELL_PAGE);
	return 0;
}

struct ibv_cq *vrnic_create_cq(struct ibv_context *context, int entries,
			       struct ibv_comp_channel *channel, int vector)
{
	struct ibv_create_cq command;
	struct cq_reply reply = {};
	struct vrnic_cq *cq;
	int error;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	error = -ibv_cmd_create_cq(context, entries, channel, vector, &cq->verbs.cq, &command,
				   sizeof(command), &reply.base, sizeof(reply));
	if (error)
		goto fail;
	error = map_ring(cq, &reply.answer);
	if (error)
		goto fail_map;
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	return &cq->verbs.cq;
fail_map:
	ibv_cmd_destroy_cq(&cq->verbs.cq);
fail:
	free(cq);
	errno = -error;
	return NULL;
}

int vrnic_destroy_cq(struct ibv_cq *base)
{
	struct vrnic_cq *cq = to_cq(base);
	int error = ibv_cmd_destroy_cq(base);

	if (error)
		return error;
	munmap(cq->ring, cq->size);
	pthread_spin_destroy(&cq->lock);
	free(cq->qps);
	free(cq);
	return 0;
}

int vrnic_req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	struct vrnic_cq *cq = to_cq(base);

	pthread_spin_lock(&cq->lock);
	vrnic_ring(base->context, VRNIC_DOORBELL_ARM, cq->number,
		   (cq->taken & VRNIC_INDEX_MASK) | (solicited_only ? VRNIC_ARM_SOLICITED : 0));
	pthread_spin_unlock(&cq->lock);
	return 0;
}

/* Takes the table if it is larger than its own. Returns the one that is left over. */
static struct vrnic_qp **use_larger(struct vrnic_cq *cq, struct vrnic_qp **table, uint32_t size)
{
	struct vrnic_qp **old = cq->qps;

	if (size <= cq->qps_size)
		return table;
	if (old)
		memcpy(table, old, cq->qps_size * sizeof(*old));
	cq->qps = table;
	cq->qps_size = size;
	return old;
}

int vrnic_cq_add(struct vrnic_cq *cq, struct vrnic_qp *qp)
{
	uint32_t number = qp->verbs.qp.qp_num, size = 16;
	struct vrnic_qp **table;

	while (size <= number)
		size *= 2;
	table = calloc(size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	pthread_spin_lock(&cq->lock);
	table = use_larger(cq, table, size);
	cq->qps[number] = qp;
	pthread_spin_unlock(&cq->lock);
	free(table);
	return 0;
}

void vrnic_cq_lock_both(struct vrnic_qp *qp)
{
	struct vrnic_cq *first = to_cq(qp->verbs.qp.send_cq), *second = to_cq(qp->verbs.qp.recv_cq);
	struct vrnic_cq *swap = first;

	if (first > second) {
		first = second;
		second = swap;
	}
	pthread_spin_lock(&first->lock);
	if (second != first)
		pthread_spin_lock(&second->lock);
}

void vrnic_cq_unlock_both(struct vrnic_qp *qp)
{
	struct vrnic_cq *send = to_cq(qp->verbs.qp.send_cq), *receive = to_cq(qp->verbs.qp.recv_cq);

	pthread_spin_unlock(&send->lock);
	if (receive != send)
		pthread_spin_unlock(&receive->lock);
}

/* Another QP may have got the number already. */
static void forget(struct vrnic_cq *cq, const struct vrnic_qp *qp)
{
	uint32_t number = qp->verbs.qp.qp_num;

	if (number < cq->qps_size && cq->qps[number] == qp)
		cq->qps[number] = NULL;
}

void vrnic_cq_forget(struct vrnic_qp *qp)
{
	forget(to_cq(qp->verbs.qp.send_cq), qp);
	forget(to_cq(qp->verbs.qp.recv_cq), qp);
}
