// SPDX-License-Identifier: GPL-2.0-only
/* The requester, when answers come or do not. */
#include <string.h>

#include "loop.h"
#include "vrnic_nic.h"

#define PAGE_WAIT		1000
#define PENDING_WAIT		2000
#define RNR_WITHOUT_END		7
/* A loaded machine answers late; the specification lets a timer run longer than asked. */
#define SHORTEST_TIMEOUT	100000
#define UNREACHABLE_TIMEOUT	200000

/* Microseconds; InfiniBand specification, 9.7.5.2.8. */
static const uint32_t rnr_delays[32] = {
	655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920,
	2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880,
	163840, 245760, 327680, 491520,
};

static uint64_t timeout_of(const struct vrnic_qp *qp)
{
	uint64_t time = (4096ull << qp->attributes.timeout) / 1000;

	if (!qp->attributes.timeout)
		return 0;
	return time < SHORTEST_TIMEOUT ? SHORTEST_TIMEOUT : time;
}

void send_await(struct vrnic_qp *qp)
{
	uint64_t time = timeout_of(qp);

	qp->send.answer_by = time ? loop_now() + time : 0;
	qp->timed_out = false;
	qp_arm_timer(qp);
}

/* Something that was sent has no answer. */
static bool is_awaited(struct vrnic_qp *qp)
{
	struct send_queue *send = &qp->send;

	return send->count && psn_distance(send->sent, send_at(send, 0)->psn) > 0;
}

static void progress(struct vrnic_qp *qp)
{
	qp->send.retries = qp->attributes.retries;
	qp->send.rnr_retries = qp->attributes.rnr_retries;
	if (qp_state(qp) != VRNIC_QPS_RTS)
		return;
	if (is_awaited(qp)) {
		send_await(qp);
	} else {
		qp->send.answer_by = 0;
		qp->timed_out = false;
	}
	qp_activate(qp);
}

static bool is_done(const struct send_queue *send, const struct send_work *work)
{
	if (send_wants_data(work))
		return work->received == work->psns;
	return psn_distance(send->acknowledged, work->psn) >= (int32_t)work->psns;
}

void answer_finish(struct vrnic_qp *qp)
{
	struct send_queue *send = &qp->send;

	while (send->count && qp_state(qp) == VRNIC_QPS_RTS) {
		struct send_work *work = send_at(send, 0);

		if (!work->status && !is_done(send, work))
			return;
		complete_send(qp, work, work->status, work->vendor_error);
		if (work->status)
			qp_error(qp);
		send_pop(send);
	}
}

static void acknowledge(struct vrnic_qp *qp, uint32_t before)
{
	if (psn_distance(before, qp->send.acknowledged) > 0)
		qp->send.acknowledged = before;
}

/* Sent, and not acknowledged. */
static bool is_out(const struct send_queue *send, uint32_t psn)
{
	return psn_distance(psn, send->acknowledged) >= 0 && psn_distance(send->sent, psn) > 0;
}

static void take_ack(struct vrnic_qp *qp, const struct frame_head *head)
{
	if (!is_out(&qp->send, head->psn))
		return;
	acknowledge(qp, psn_add(head->psn, 1));
	answer_finish(qp);
	progress(qp);
}

/* The oldest that waits for data. */
static struct send_work *data_work(struct send_queue *send)
{
	unsigned int i;

	for (i = 0; i < send->count; i++) {
		struct send_work *work = send_at(send, i);

		if (send_wants_data(work) && work->received < work->psns)
			return work;
	}
	return NULL;
}

static bool is_next_data(struct send_queue *send, const struct send_work *work, uint32_t psn)
{
	return work && !work->status && psn == psn_add(work->psn, work->received) &&
	       psn_distance(send->sent, psn) > 0;
}

static void store(struct vrnic_qp *qp, struct send_work *work, const struct frame_head *head,
		  const void *data, size_t length)
{
	enum mr_result result = sge_scatter(qp, work->wr.sge, work->wr.sges,
					    (uint64_t)work->received * FRAME_SEGMENT, data, length);

	if (result == MR_PENDING) {
		/* It is asked for again when the pages may be there. */
		send_rewind(qp, head->psn);
		send_hold(qp, PAGE_WAIT);
		progress(qp);
		return;
	}
	acknowledge(qp, head->psn);
	if (result) {
		send_fail(work, result);
	} else {
		work->received++;
		acknowledge(qp, psn_add(head->psn, 1));
	}
	answer_finish(qp);
	progress(qp);
}

static void take_data(struct vrnic_qp *qp, const struct frame *frame)
{
	struct send_work *work = data_work(&qp->send);
	uint64_t left;

	if (!is_next_data(&qp->send, work, frame->head.psn) || work->wr.opcode != VRNIC_WR_READ)
		return;
	left = work->length - (uint64_t)work->received * FRAME_SEGMENT;
	if (frame->head.length != (left < FRAME_SEGMENT ? left : FRAME_SEGMENT))
		return;
	store(qp, work, &frame->head, frame->payload, frame->head.length);
}

static void take_atomic(struct vrnic_qp *qp, const struct frame_head *head)
{
	struct send_work *work = data_work(&qp->send);

	if (!is_next_data(&qp->send, work, head->psn) || work->wr.opcode == VRNIC_WR_READ)
		return;
	store(qp, work, head, &head->operand[0], sizeof(head->operand[0]));
}

static struct send_work *find_work(struct send_queue *send, uint32_t psn)
{
	unsigned int i;

	for (i = 0; i < send->count; i++) {
		struct send_work *work = send_at(send, i);
		int32_t segment = psn_distance(psn, work->psn);

		if (segment >= 0 && segment < (int32_t)work->psns)
			return work;
	}
	return NULL;
}

static void fail(struct vrnic_qp *qp, struct send_work *work, unsigned int status)
{
	if (work && !work->status) {
		work->status = status;
		work->vendor_error = 0;
	}
	answer_finish(qp);
}

static void take_rnr(struct vrnic_qp *qp, const struct frame_head *head)
{
	struct send_queue *send = &qp->send;
	uint64_t delay = rnr_delays[head->timer % 32];

	qp->nic->counters.rnr++;
	if (qp->attributes.rnr_retries != RNR_WITHOUT_END) {
		if (!send->rnr_retries) {
			fail(qp, find_work(send, head->psn), VRNIC_WC_RNR_RETRIES);
			return;
		}
		send->rnr_retries--;
	}
	send_rewind(qp, head->psn);
	send_hold(qp, delay);
	/* The peer lives; the answer's time begins when it is asked again. */
	send->answer_by = 0;
	qp->timed_out = false;
}

static void lost(struct vrnic_qp *qp, uint32_t psn)
{
	qp->nic->counters.retries++;
	if (!qp->send.retries) {
		fail(qp, find_work(&qp->send, psn), VRNIC_WC_RETRIES);
		return;
	}
	qp->send.retries--;
	send_rewind(qp, psn);
	send_await(qp);
}

static unsigned int nak_status(uint8_t code)
{
	switch (code) {
	case NAK_ACCESS:
		return VRNIC_WC_REMOTE_ACCESS;
	case NAK_OPERATION:
		return VRNIC_WC_REMOTE_OPERATION;
	default:
		return VRNIC_WC_REMOTE_REQUEST;
	}
}

static void take_nak(struct vrnic_qp *qp, const struct frame_head *head)
{
	struct send_queue *send = &qp->send;

	if (!is_out(send, head->psn) && !is_next_data(send, data_work(send), head->psn))
		return;
	if (psn_distance(head->psn, send->acknowledged) > 0) {
		acknowledge(qp, head->psn);
		answer_finish(qp);
		progress(qp);
	}
	if (qp_state(qp) != VRNIC_QPS_RTS)
		return;
	switch (head->code) {
	case NAK_SEQUENCE:
		lost(qp, head->psn);
		return;
	case NAK_RNR:
		take_rnr(qp, head);
		return;
	case NAK_PENDING:
		send_rewind(qp, head->psn);
		send_hold(qp, PENDING_WAIT);
		progress(qp);
		return;
	default:
		fail(qp, find_work(send, head->psn), nak_status(head->code));
	}
}

void answer_take(struct vrnic_qp *qp, const struct frame *frame)
{
	if (qp_state(qp) != VRNIC_QPS_RTS)
		return;
	switch (frame->head.op) {
	case FRAME_ACK:
		take_ack(qp, &frame->head);
		return;
	case FRAME_NAK:
		take_nak(qp, &frame->head);
		return;
	case FRAME_READ_DATA:
		take_data(qp, frame);
		return;
	case FRAME_ATOMIC_DATA:
		take_atomic(qp, &frame->head);
		return;
	}
}

/* First PSN that has no answer. */
static uint32_t oldest(struct send_queue *send)
{
	struct send_work *work = send_at(send, 0);

	if (send_wants_data(work))
		return psn_add(work->psn, work->received);
	if (psn_distance(send->acknowledged, work->psn) > 0)
		return send->acknowledged;
	return work->psn;
}

void answer_timeout(struct vrnic_qp *qp)
{
	qp->timed_out = false;
	qp->send.answer_by = 0;
	if (is_awaited(qp))
		lost(qp, oldest(&qp->send));
}

/* Without a timeout of its own the QP would wait for ever. */
void answer_unreachable(struct vrnic_qp *qp)
{
	if (qp_state(qp) != VRNIC_QPS_RTS || qp->send.answer_by || !is_awaited(qp))
		return;
	qp->send.answer_by = loop_now() + UNREACHABLE_TIMEOUT;
	qp_arm_timer(qp);
}
