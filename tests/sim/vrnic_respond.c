// SPDX-License-Identifier: GPL-2.0-only
/* The responder of a reliable connection: what comes in order is done once, what comes again is told so. */
#include <errno.h>
#include <string.h>

#include "vrnic_nic.h"

struct frame *respond_frame(struct vrnic_qp *qp, enum frame_op op, uint32_t psn, size_t length)
{
	struct frame *frame = frame_new(length);

	if (!frame)
		return NULL;
	frame->head.op = op;
	frame->head.psn = psn;
	frame->head.source_qp = qp->number;
	frame->head.destination_lid = qp->attributes.destination_lid;
	frame->head.destination_qp = qp->attributes.destination_qp;
	return frame;
}

static void acknowledge(struct vrnic_qp *qp, uint32_t psn)
{
	struct frame *frame = respond_frame(qp, FRAME_ACK, psn, 0);

	/* One that gets lost is asked for again. */
	if (frame)
		fabric_send(qp->nic, frame);
}

void respond_ack(struct vrnic_qp *qp)
{
	acknowledge(qp, psn_add(qp->receive.expected, PSN_MASK));
}

void respond_nak(struct vrnic_qp *qp, enum frame_nak code, uint32_t psn)
{
	struct frame *frame = respond_frame(qp, FRAME_NAK, psn, 0);

	qp->receive.nak_sent = true;
	if (!frame)
		return;
	frame->head.code = code;
	frame->head.timer = qp->attributes.rnr_timer;
	fabric_send(qp->nic, frame);
}

void respond_refuse(struct vrnic_qp *qp, enum frame_nak code, uint32_t psn)
{
	struct refusal *refusal = &qp->receive.refusal;

	if (qp->receive.answer_count) {
		refusal->waits = true;
		refusal->code = code;
		refusal->psn = psn;
		return;
	}
	respond_nak(qp, code, psn);
	if (code == NAK_ACCESS)
		eq_event(qp->nic, 0, VRNIC_EVENT_QP_ACCESS, qp->number);
	if (code == NAK_ACCESS || qp_state(qp) == VRNIC_QPS_ERROR)
		qp_error(qp);
	else
		qp_fatal(qp);
}

void respond_mr(struct vrnic_qp *qp, enum mr_result result, uint32_t psn)
{
	if (result == MR_PENDING)
		respond_nak(qp, NAK_PENDING, psn);
	else
		respond_refuse(qp, result == MR_REFUSED ? NAK_ACCESS : NAK_OPERATION, psn);
}

/* The receive's own fault: it is told by its completion. */
static void fail_receive(struct vrnic_qp *qp, const struct frame_head *head, unsigned int status,
			 unsigned int vendor_error)
{
	complete_receive(qp, head, 0, status, vendor_error);
	receive_drop(qp);
	respond_nak(qp, status == VRNIC_WC_LOCAL_LENGTH ? NAK_REQUEST : NAK_OPERATION, head->psn);
	qp_error(qp);
}

/* False: there is none, and the requester was told. */
static bool get_receive(struct vrnic_qp *qp, const struct frame_head *head)
{
	int error = receive_get(qp);

	if (!error)
		return true;
	if (error == -EAGAIN) {
		qp->nic->counters.rnr++;
		respond_nak(qp, NAK_RNR, head->psn);
	} else {
		respond_nak(qp, NAK_OPERATION, head->psn);
	}
	return false;
}

static void accept(struct vrnic_qp *qp, uint32_t count)
{
	qp->receive.expected = psn_add(qp->receive.expected, count);
	qp->receive.nak_sent = false;
}

static bool finish_receive(struct vrnic_qp *qp, const struct frame_head *head)
{
	complete_receive(qp, head, qp->receive.offset, VRNIC_WC_OK, 0);
	receive_drop(qp);
	if (qp_state(qp) != VRNIC_QPS_ERROR)
		return true;
	respond_nak(qp, NAK_OPERATION, head->psn);
	return false;
}

static enum mr_result land(struct vrnic_qp *qp, const struct frame *frame)
{
	struct receive_queue *receive = &qp->receive;
	enum mr_result result = MR_OK;

	if (!receive->in_send)
		result = sge_check(qp, receive->wr.sge, receive->wr.sges, VRNIC_LOCAL_WRITE);
	if (result)
		return result;
	return sge_scatter(qp, receive->wr.sge, receive->wr.sges, receive->offset, frame->payload,
			   frame->head.length);
}

static bool is_whole(const struct frame_head *head)
{
	return head->flags & FRAME_LAST || head->length == FRAME_SEGMENT;
}

static void take_send(struct vrnic_qp *qp, const struct frame *frame)
{
	const struct frame_head *head = &frame->head;
	struct receive_queue *receive = &qp->receive;
	enum mr_result result;

	if (receive->in_write || receive->in_send == !!(head->flags & FRAME_FIRST) ||
	    !is_whole(head)) {
		respond_refuse(qp, NAK_REQUEST, head->psn);
		return;
	}
	if (!get_receive(qp, head))
		return;
	if (receive->offset + head->length > sge_length(receive->wr.sge, receive->wr.sges)) {
		fail_receive(qp, head, VRNIC_WC_LOCAL_LENGTH, NIC_ERROR_REQUEST);
		return;
	}
	result = land(qp, frame);
	if (result == MR_PENDING) {
		respond_nak(qp, NAK_PENDING, head->psn);
		return;
	}
	if (result == MR_UNREACHED) {
		fail_receive(qp, head, VRNIC_WC_LOCAL_QP, NIC_ERROR_DMA);
		return;
	}
	if (result) {
		fail_receive(qp, head, VRNIC_WC_LOCAL_PROTECTION,
			     result == MR_FAILED ? NIC_ERROR_PAGE : NIC_ERROR_KEY);
		return;
	}
	receive->in_send = true;
	receive->offset += head->length;
	if (head->flags & FRAME_LAST && !finish_receive(qp, head))
		return;
	accept(qp, 1);
	respond_ack(qp);
}

static enum mr_result write_out(struct vrnic_qp *qp, const struct frame *frame)
{
	const struct frame_head *head = &frame->head;
	struct mr_access access = { qp->pd, head->key, VRNIC_REMOTE_WRITE };
	enum mr_result result = MR_OK;

	if (!(qp->attributes.access & VRNIC_REMOTE_WRITE))
		return MR_REFUSED;
	/* The message as a whole first, so that none lands in part. */
	if (head->flags & FRAME_FIRST && head->operand[0])
		result = mr_check(qp->nic, &access, head->address, head->operand[0]);
	if (!result && head->length)
		result = mr_write(qp->nic, &access, head->address, frame->payload, head->length);
	return result;
}

static void take_write(struct vrnic_qp *qp, const struct frame *frame)
{
	const struct frame_head *head = &frame->head;
	struct receive_queue *receive = &qp->receive;
	bool notifies = head->flags & FRAME_LAST && head->flags & FRAME_IMMEDIATE;
	enum mr_result result;

	if (receive->in_send || receive->in_write == !!(head->flags & FRAME_FIRST) ||
	    !is_whole(head)) {
		respond_refuse(qp, NAK_REQUEST, head->psn);
		return;
	}
	if (notifies && !get_receive(qp, head))
		return;
	result = write_out(qp, frame);
	if (result) {
		respond_mr(qp, result, head->psn);
		return;
	}
	receive->offset += head->length;
	receive->in_write = !(head->flags & FRAME_LAST);
	if (notifies && !finish_receive(qp, head))
		return;
	if (!receive->in_write)
		receive->offset = 0;
	accept(qp, 1);
	respond_ack(qp);
}

static void take_new(struct vrnic_qp *qp, const struct frame *frame)
{
	const struct frame_head *head = &frame->head;

	switch (head->op) {
	case FRAME_SEND:
		take_send(qp, frame);
		return;
	case FRAME_WRITE:
		take_write(qp, frame);
		return;
	default:
		if (qp->receive.in_send || qp->receive.in_write)
			respond_refuse(qp, NAK_REQUEST, head->psn);
		else if (head->op == FRAME_READ)
			data_read(qp, head, false);
		else
			data_atomic(qp, head, false);
	}
}

static void take_again(struct vrnic_qp *qp, const struct frame *frame)
{
	switch (frame->head.op) {
	case FRAME_SEND:
	case FRAME_WRITE:
		respond_ack(qp);
		return;
	case FRAME_READ:
		data_read(qp, &frame->head, true);
		return;
	default:
		data_atomic(qp, &frame->head, true);
	}
}

void respond_take(struct vrnic_qp *qp, const struct frame *frame)
{
	int32_t ahead = psn_distance(frame->head.psn, qp->receive.expected);

	if (qp_state(qp) != VRNIC_QPS_RTR && qp_state(qp) != VRNIC_QPS_RTS)
		return;
	if (qp->receive.refusal.waits)
		return;
	if (ahead < 0)
		take_again(qp, frame);
	else if (ahead == 0)
		take_new(qp, frame);
	else if (!qp->receive.nak_sent)
		respond_nak(qp, NAK_SEQUENCE, qp->receive.expected);
}
