// SPDX-License-Identifier: GPL-2.0-only
/* Datagrams that arrive: what cannot be taken is dropped, the sender never knows. */
#include <string.h>

#include "vrnic_nic.h"

static void drop(struct vrnic_qp *qp)
{
	qp->nic->counters.dropped++;
}

static void fail(struct vrnic_qp *qp, const struct frame_head *head, enum mr_result result)
{
	if (result == MR_UNREACHED)
		complete_receive(qp, head, 0, VRNIC_WC_LOCAL_QP, NIC_ERROR_DMA);
	else
		complete_receive(qp, head, 0, VRNIC_WC_LOCAL_PROTECTION,
				 result == MR_FAILED ? NIC_ERROR_PAGE : NIC_ERROR_KEY);
	receive_drop(qp);
	qp_error(qp);
}

void ud_take(struct vrnic_qp *qp, const struct frame *frame)
{
	const struct frame_head *head = &frame->head;
	struct vrnic_receive_wr *wr = &qp->receive.wr;
	uint8_t message[VRNIC_GRH + VRNIC_MTU];
	size_t length = VRNIC_GRH + head->length;
	enum mr_result result;

	if ((qp_state(qp) != VRNIC_QPS_RTR && qp_state(qp) != VRNIC_QPS_RTS) ||
	    head->qkey != qp->attributes.qkey || receive_get(qp) ||
	    (int64_t)length > sge_length(wr->sge, wr->sges)) {
		drop(qp);
		return;
	}
	memset(message, 0, VRNIC_GRH);
	memcpy(message + VRNIC_GRH, frame->payload, head->length);
	result = sge_check(qp, wr->sge, wr->sges, VRNIC_LOCAL_WRITE);
	if (!result)
		result = sge_scatter(qp, wr->sge, wr->sges, 0, message, length);
	if (result == MR_PENDING) {
		drop(qp);
		return;
	}
	if (result) {
		fail(qp, head, result);
		return;
	}
	complete_receive(qp, head, length, VRNIC_WC_OK, 0);
	receive_drop(qp);
}
