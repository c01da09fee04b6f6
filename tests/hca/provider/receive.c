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
	vrnic_set_sges(entry->sge, wr->sg_list, wr->num_sge);
	queue_add(queue, wr->wr_id);
	return 0;
}

static int may_post(const struct vrnic_qp *qp)
{
	return !qp->receive.entries || qp->verbs.qp.state == IBV_QPS_RESET ? -EINVAL : 0;
}

int vrnic_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vrnic_qp *qp = to_qp(base);
	uint32_t before;
	int error = may_post(qp);

	*bad = wr;
	if (error)
		return -error;
	before = vrnic_queue_begin(&qp->receive);
	for (; wr && !error; wr = wr->next) {
		*bad = wr;
		error = post(qp, wr);
	}
	vrnic_queue_end(&qp->receive, base, VRNIC_DOORBELL_RECEIVE, before);
	return -error;
}
