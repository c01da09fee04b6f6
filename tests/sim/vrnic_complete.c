// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "function.h"
#include "vrnic_nic.h"

static uint8_t opcode_of(uint8_t wr_opcode)
{
	switch (wr_opcode) {
	case VRNIC_WR_WRITE:
	case VRNIC_WR_WRITE_IMM:
		return VRNIC_WC_WRITE;
	case VRNIC_WR_READ:
		return VRNIC_WC_READ;
	case VRNIC_WR_COMPARE_SWAP:
		return VRNIC_WC_COMPARE_SWAP;
	case VRNIC_WR_FETCH_ADD:
		return VRNIC_WC_FETCH_ADD;
	default:
		return VRNIC_WC_SEND;
	}
}

static void complete(struct vrnic_qp *qp, struct vrnic_cq *cq, struct vrnic_completion *completion,
		     bool solicited)
{
	if (completion->status == VRNIC_WC_OK &&
	    fault_is_on(&qp->nic->function->faults, FAULT_CQE_ERROR)) {
		completion->status = VRNIC_WC_GENERAL;
		completion->vendor_error = NIC_ERROR_INJECTED;
	}
	completion->qp = qp->number;
	if (cq_complete(cq, completion, solicited || completion->status != VRNIC_WC_OK))
		qp_fatal(qp);
}

void complete_send(struct vrnic_qp *qp, const struct send_work *work, unsigned int status,
		   unsigned int vendor_error)
{
	struct vrnic_completion completion = {
		.id = work->wr.id,
		.length = work->length,
		.vendor_error = vendor_error,
		.status = status,
		.opcode = opcode_of(work->wr.opcode),
	};

	if (status == VRNIC_WC_OK && !qp->all_signaled && !(work->wr.flags & VRNIC_WR_SIGNALED))
		return;
	complete(qp, qp->send_cq, &completion, false);
}

void complete_receive(struct vrnic_qp *qp, const struct frame_head *head, uint32_t length,
		      unsigned int status, unsigned int vendor_error)
{
	struct vrnic_completion completion = {
		.id = qp->receive.wr.id,
		.length = length,
		.vendor_error = vendor_error,
		.status = status,
		.opcode = VRNIC_WC_RECEIVE,
	};
	bool solicited = false;

	if (head) {
		completion.source_qp = head->source_qp;
		completion.source_lid = head->source_lid;
		if (head->op == FRAME_WRITE)
			completion.opcode = VRNIC_WC_RECEIVE_WRITE_IMM;
		if (head->flags & FRAME_IMMEDIATE) {
			completion.immediate = head->immediate;
			completion.flags |= VRNIC_WC_IMMEDIATE;
		}
		solicited = head->flags & FRAME_SOLICITED;
	}
	complete(qp, qp->receive_cq, &completion, solicited);
}

/* True: one was flushed. */
static bool flush_send(struct vrnic_qp *qp)
{
	struct send_queue *send = &qp->send;
	struct send_work work = { 0 };
	int error;

	if (send->count) {
		complete_send(qp, send_at(send, 0), VRNIC_WC_FLUSHED, 0);
		send_pop(send);
		return true;
	}
	error = ring_fetch(qp->nic, &send->ring, &work.wr);
	if (error && error != -EAGAIN)
		qp->flush_failed = true;
	if (error)
		return false;
	complete_send(qp, &work, VRNIC_WC_FLUSHED, 0);
	return true;
}

static bool flush_receive(struct vrnic_qp *qp)
{
	struct receive_queue *receive = &qp->receive;
	int error = receive->has_wr ? 0 : ring_fetch(qp->nic, &receive->ring, &receive->wr);

	if (error && error != -EAGAIN)
		qp->flush_failed = true;
	if (error)
		return false;
	complete_receive(qp, NULL, 0, VRNIC_WC_FLUSHED, 0);
	receive_drop(qp);
	return true;
}

bool complete_flush(struct vrnic_qp *qp)
{
	while (!qp->flush_failed && qp->nic->budget > 0)
		if (!flush_send(qp) && (qp->flush_failed || !flush_receive(qp)))
			return false;
	if (qp->flush_failed)
		qp_fatal(qp);
	return !qp->flush_failed;
}
