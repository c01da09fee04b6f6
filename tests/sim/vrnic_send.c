// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requester's way out. Work requests are fetched into a window, get their PSNs, and leave in
 * segments; a position in the window tells what leaves next, and goes back when something was lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "vrnic_nic.h"

#define PAGE_WAIT	1000	/* microseconds until a page that was requested is looked for again */
#define TURN		16	/* segments of a QP before others have their turn */
#define RIGHTS_READ	0

enum step {
	STEP_SENT,	/* or put aside: look again */
	STEP_WAIT,	/* something will activate the QP */
};

struct send_work *send_at(struct send_queue *send, unsigned int position)
{
	return &send->work[(send->first + position) % QP_WINDOW];
}

static bool is_atomic(const struct send_work *work)
{
	return work->wr.opcode == VRNIC_WR_COMPARE_SWAP || work->wr.opcode == VRNIC_WR_FETCH_ADD;
}

bool send_wants_data(const struct send_work *work)
{
	return work->wr.opcode == VRNIC_WR_READ || is_atomic(work);
}

void send_pop(struct send_queue *send)
{
	send->first = (send->first + 1) % QP_WINDOW;
	send->count--;
	if (send->position)
		send->position--;
	else
		send->segment = 0;
}

static void refuse(struct send_work *work, unsigned int status, unsigned int vendor_error)
{
	work->status = status;
	work->vendor_error = vendor_error;
}

void send_fail(struct send_work *work, enum mr_result result)
{
	if (result == MR_UNREACHED)
		refuse(work, VRNIC_WC_LOCAL_QP, NIC_ERROR_DMA);
	else
		refuse(work, VRNIC_WC_LOCAL_PROTECTION,
		       result == MR_FAILED ? NIC_ERROR_PAGE : NIC_ERROR_KEY);
}

static bool is_sound(const struct vrnic_qp *qp, const struct vrnic_send_wr *wr)
{
	if (wr->opcode < VRNIC_WR_SEND || wr->opcode > VRNIC_WR_FETCH_ADD)
		return false;
	if (qp->type == VRNIC_QP_UD && wr->opcode > VRNIC_WR_SEND_IMM)
		return false;
	if (wr->flags & VRNIC_WR_INLINE)
		return wr->opcode <= VRNIC_WR_WRITE_IMM && wr->inline_length <= VRNIC_MAX_INLINE;
	return wr->sges <= VRNIC_MAX_SGE;
}

static int64_t length_of(const struct vrnic_qp *qp, const struct send_work *work)
{
	int64_t length;

	if (work->wr.flags & VRNIC_WR_INLINE)
		return work->wr.inline_length;
	length = sge_length(work->wr.sge, work->wr.sges);
	if (qp->type == VRNIC_QP_UD && length > VRNIC_MTU)
		return -1;
	return is_atomic(work) && length != sizeof(uint64_t) ? -1 : length;
}

static void prepare(struct vrnic_qp *qp, struct send_work *work)
{
	int64_t length;

	work->psn = qp->send.next_psn;
	work->psns = 1;
	if (!is_sound(qp, &work->wr)) {
		refuse(work, VRNIC_WC_LOCAL_QP, NIC_ERROR_REQUEST);
		return;
	}
	length = length_of(qp, work);
	if (length < 0) {
		refuse(work, VRNIC_WC_LOCAL_LENGTH, NIC_ERROR_REQUEST);
		return;
	}
	work->length = length;
	work->psns = psn_count(length);
	qp->send.next_psn = psn_add(work->psn, work->psns);
}

static bool fetch(struct vrnic_qp *qp)
{
	struct send_queue *send = &qp->send;
	struct send_work *work;
	int error;

	if (send->count == QP_WINDOW)
		return false;
	work = send_at(send, send->count);
	memset(work, 0, sizeof(*work));
	error = ring_fetch(qp->nic, &send->ring, &work->wr);
	if (error) {
		if (error != -EAGAIN)
			qp_fatal(qp);
		return false;
	}
	send->count++;
	prepare(qp, work);
	return true;
}

void send_hold(struct vrnic_qp *qp, uint64_t microseconds)
{
	qp->send.hold_until = loop_now() + microseconds;
	qp_arm_timer(qp);
}

static uint32_t position_psn(struct send_queue *send)
{
	if (send->position == send->count)
		return send->next_psn;
	return psn_add(send_at(send, send->position)->psn, send->segment);
}

void send_rewind(struct vrnic_qp *qp, uint32_t psn)
{
	struct send_queue *send = &qp->send;
	unsigned int i;

	if (psn_distance(psn, position_psn(send)) >= 0)
		return;
	for (i = 0; i < send->count; i++) {
		struct send_work *work = send_at(send, i);
		int32_t segment = psn_distance(psn, work->psn);

		if (segment >= (int32_t)work->psns)
			continue;
		send->position = i;
		send->segment = segment > 0 ? segment : 0;
		if (send_wants_data(work))
			send->segment = work->received;
		break;
	}
	qp_activate(qp);
}

/* Segments of messages that are out without an answer. */
static unsigned int under_way(struct send_queue *send)
{
	unsigned int i, sum = 0;

	for (i = 0; i <= send->position && i < send->count; i++) {
		struct send_work *work = send_at(send, i);
		uint32_t out = i < send->position ? work->psns : send->segment;
		int32_t answered = psn_distance(send->acknowledged, work->psn);

		if (send_wants_data(work))
			continue;
		if (answered < 0)
			answered = 0;
		if (out > (uint32_t)answered)
			sum += out - answered;
	}
	return sum;
}

static unsigned int reads_under_way(struct send_queue *send)
{
	unsigned int i, sum = 0;

	for (i = 0; i < send->position; i++) {
		struct send_work *work = send_at(send, i);

		sum += send_wants_data(work) && work->received < work->psns;
	}
	return sum;
}

static bool may_leave(struct vrnic_qp *qp, struct send_work *work)
{
	struct send_queue *send = &qp->send;
	bool is_ud = qp->type == VRNIC_QP_UD;
	uint16_t lid = is_ud ? work->wr.destination_lid : qp->attributes.destination_lid;

	if (!is_ud && work->wr.flags & VRNIC_WR_FENCE && reads_under_way(send))
		return false;
	if (send_wants_data(work) ? reads_under_way(send) >= QP_READS :
				    under_way(send) >= QP_SEGMENTS)
		return false;
	if (fabric_has_room(qp->nic, lid))
		return true;
	qp->blocked = true;
	return false;
}

/* Its elements, once before anything of it leaves. */
static enum mr_result check(struct vrnic_qp *qp, struct send_work *work)
{
	uint32_t rights = send_wants_data(work) ? VRNIC_LOCAL_WRITE : RIGHTS_READ;
	enum mr_result result;

	if (work->checked || work->wr.flags & VRNIC_WR_INLINE)
		return MR_OK;
	result = sge_check(qp, work->wr.sge, work->wr.sges, rights);
	work->checked = result == MR_OK;
	return result;
}

static enum mr_result fill(struct vrnic_qp *qp, struct send_work *work, struct frame *frame,
			   uint64_t offset)
{
	if (!frame->head.length)
		return MR_OK;
	if (work->wr.flags & VRNIC_WR_INLINE) {
		memcpy(frame->payload, work->wr.data + offset, frame->head.length);
		return MR_OK;
	}
	return sge_gather(qp, work->wr.sge, work->wr.sges, offset, frame->payload,
			  frame->head.length);
}

static void address_frame(struct vrnic_qp *qp, struct frame *frame, const struct send_work *work,
			  uint32_t segment)
{
	struct frame_head *head = &frame->head;

	head->source_qp = qp->number;
	head->psn = psn_add(work->psn, segment);
	if (qp->type == VRNIC_QP_UD) {
		head->op = FRAME_DATAGRAM;
		head->destination_lid = work->wr.destination_lid;
		head->destination_qp = work->wr.destination_qp;
		/* The specification lets the highest bit name the QP's own. */
		head->qkey = work->wr.qkey >> 31 ? qp->attributes.qkey : work->wr.qkey;
	} else {
		head->destination_lid = qp->attributes.destination_lid;
		head->destination_qp = qp->attributes.destination_qp;
	}
}

static void describe_message(struct frame_head *head, const struct send_work *work,
			     uint32_t segment)
{
	const struct vrnic_send_wr *wr = &work->wr;

	if (segment == 0)
		head->flags |= FRAME_FIRST;
	if (segment == work->psns - 1) {
		head->flags |= FRAME_LAST;
		if (wr->opcode == VRNIC_WR_SEND_IMM || wr->opcode == VRNIC_WR_WRITE_IMM)
			head->flags |= FRAME_IMMEDIATE;
		if (wr->flags & VRNIC_WR_SOLICITED)
			head->flags |= FRAME_SOLICITED;
		head->immediate = wr->immediate;
	}
}

static void describe(struct frame_head *head, const struct send_work *work, uint32_t segment)
{
	const struct vrnic_send_wr *wr = &work->wr;

	head->key = wr->remote_key;
	head->address = wr->remote_address + (uint64_t)segment * FRAME_SEGMENT;
	switch (wr->opcode) {
	case VRNIC_WR_READ:
		head->op = FRAME_READ;
		head->operand[0] = work->length - (uint64_t)segment * FRAME_SEGMENT;
		return;
	case VRNIC_WR_COMPARE_SWAP:
		head->op = FRAME_COMPARE_SWAP;
		head->operand[0] = wr->compare_add;
		head->operand[1] = wr->swap;
		return;
	case VRNIC_WR_FETCH_ADD:
		head->op = FRAME_FETCH_ADD;
		head->operand[0] = wr->compare_add;
		return;
	case VRNIC_WR_WRITE:
	case VRNIC_WR_WRITE_IMM:
		head->op = FRAME_WRITE;
		head->operand[0] = work->length;
		break;
	default:
		if (head->op != FRAME_DATAGRAM)
			head->op = FRAME_SEND;
		break;
	}
	describe_message(head, work, segment);
}

static void advance(struct send_queue *send, const struct send_work *work)
{
	send->segment = send_wants_data(work) ? work->psns : send->segment + 1;
	if (psn_distance(psn_add(work->psn, send->segment), send->sent) > 0)
		send->sent = psn_add(work->psn, send->segment);
	if (send->segment >= work->psns) {
		send->position++;
		send->segment = 0;
	}
}

static enum step put_aside(struct vrnic_qp *qp, struct send_work *work, enum mr_result result)
{
	if (result == MR_PENDING) {
		send_hold(qp, PAGE_WAIT);
		return STEP_WAIT;
	}
	send_fail(work, result);
	return STEP_SENT;
}

static void datagram_left(struct vrnic_qp *qp)
{
	struct send_work *work = send_at(&qp->send, 0);

	complete_send(qp, work, VRNIC_WC_OK, 0);
	send_pop(&qp->send);
}

static enum step send_segment(struct vrnic_qp *qp, struct send_work *work)
{
	struct send_queue *send = &qp->send;
	uint64_t offset = (uint64_t)send->segment * FRAME_SEGMENT;
	uint64_t length = work->length - offset;
	enum mr_result result = check(qp, work);
	struct frame *frame;

	if (result)
		return put_aside(qp, work, result);
	if (length > FRAME_SEGMENT)
		length = FRAME_SEGMENT;
	frame = frame_new(send_wants_data(work) ? 0 : length);
	if (!frame) {
		send_hold(qp, PAGE_WAIT);
		return STEP_WAIT;
	}
	address_frame(qp, frame, work, send->segment);
	describe(&frame->head, work, send->segment);
	result = fill(qp, work, frame, offset);
	if (result) {
		free(frame);
		return put_aside(qp, work, result);
	}
	qp->nic->budget -= NIC_ACCESS_COST;
	fabric_send(qp->nic, frame);
	advance(send, work);
	if (qp->type == VRNIC_QP_UD)
		datagram_left(qp);
	else if (!send->answer_by)
		send_await(qp);
	return STEP_SENT;
}

/* What was acknowledged before it went again does not go again. */
static bool skip(struct send_queue *send, const struct send_work *work)
{
	int32_t answered = psn_distance(send->acknowledged, work->psn);

	if (send_wants_data(work)) {
		if (work->received < work->psns)
			return false;
	} else {
		if (answered > (int32_t)send->segment)
			send->segment = answered;
		if (send->segment < work->psns)
			return false;
	}
	send->position++;
	send->segment = 0;
	return true;
}

static enum step step(struct vrnic_qp *qp)
{
	struct send_queue *send = &qp->send;
	struct send_work *work;

	if (send->hold_until)
		return STEP_WAIT;
	if (send->position == send->count && !fetch(qp))
		return STEP_WAIT;
	work = send_at(send, send->position);
	if (work->status) {
		/* It completes, and all after it is flushed, when all before it is done. */
		answer_finish(qp);
		return STEP_WAIT;
	}
	if (qp->type == VRNIC_QP_RC && skip(send, work))
		return STEP_SENT;
	if (!may_leave(qp, work))
		return STEP_WAIT;
	return send_segment(qp, work);
}

bool send_run(struct vrnic_qp *qp)
{
	unsigned int turn;

	for (turn = 0; turn < TURN; turn++) {
		if (qp->nic->budget <= 0)
			return true;
		if (step(qp) == STEP_WAIT || qp_state(qp) != VRNIC_QPS_RTS)
			return false;
	}
	return true;
}
