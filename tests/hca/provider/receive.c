// SPDX-License-Identifier: GPL-2.0-only
/* Posting to receive queues. */
#include <errno.h>

#include "vrnic.h"

static int post(struct vrnic_qp *qp, const struct ibv_recv_wr *wr)
{
	struct vrnic_queue *queue = &qp->receive;
	struct vrnic_receive_wr *entry = queue->ring;
	uint32_t slot = queue_slot(queue);

	if (queue_full(queue))
		return -ENOMEM;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > queue->sges)
		return -EINVAL;
	entry += slot;
	entry->id = (uint64_t)qp->generation << ID_GENERATION_SHIFT | ID_RECEIVE | slot;
	entry->sges = wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++)
		entry->sge[i] = (struct vrnic_sge) {
			.address = wr->sg_list[i].addr,
			.length = wr->sg_list[i].length,
			.key = wr->sg_list[i].lkey,
		};
	queue->ids[slot] = wr->wr_id;
	queue->posted++;
	return 0;
}

static int may_post(const struct vrnic_qp *qp)
{
	return !qp->receive.entries || qp->verbs.qp.state == IBV_QPS_RESET ? -EINVAL : 0;
}

int vrnic_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vrnic_qp *qp = to_qp(base);
	struct vrnic_queue *queue = &qp->receive;
	uint32_t before;
	int error = may_post(qp);

	if (error) {
		*bad = wr;
		return -error;
	}
	pthread_spin_lock(&queue->lock);
	before = queue->posted;
	for (; wr; wr = wr->next) {
		error = post(qp, wr);
		if (error) {
			*bad = wr;
			break;
		}
	}
	if (queue->posted != before)
		vrnic_ring(base->context, VRNIC_DOORBELL_RECEIVE, base->qp_num,
			   queue->posted & VRNIC_INDEX_MASK);
	pthread_spin_unlock(&queue->lock);
	return -error;
}
