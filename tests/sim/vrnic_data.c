// SPDX-License-Identifier: GPL-2.0-only
/* The responder's answers that carry data, one after another: reads, and results of atomic operations. */
#include <stdlib.h>

#include "vrnic_nic.h"

#define TURN	16

static struct data_answer *answer_at(struct receive_queue *receive, unsigned int position)
{
	return &receive->answers[(receive->first_answer + position) % QP_READS];
}

static uint32_t end_of(const struct data_answer *answer)
{
	return psn_add(answer->psn, answer->is_atomic ? 1 : psn_count(answer->left));
}

/* A place at the end, or that of the same answer when it waits already. NULL: none is free. */
static struct data_answer *place(struct receive_queue *receive, uint32_t end)
{
	unsigned int i;

	for (i = 0; i < receive->answer_count; i++)
		if (end_of(answer_at(receive, i)) == end)
			return answer_at(receive, i);
	if (receive->answer_count == QP_READS)
		return NULL;
	return answer_at(receive, receive->answer_count++);
}

static void expect_next(struct vrnic_qp *qp, uint32_t count)
{
	qp->receive.expected = psn_add(qp->receive.expected, count);
	qp->receive.nak_sent = false;
}

static enum mr_result may_read(struct vrnic_qp *qp, const struct frame_head *head)
{
	struct mr_access access = { qp->pd, head->key, VRNIC_REMOTE_READ };

	if (!(qp->attributes.access & VRNIC_REMOTE_READ))
		return MR_REFUSED;
	if (!head->operand[0])
		return MR_OK;
	return mr_check(qp->nic, &access, head->address, head->operand[0]);
}

void data_read(struct vrnic_qp *qp, const struct frame_head *head, bool again)
{
	struct data_answer answer = {
		.psn = head->psn,
		.key = head->key,
		.address = head->address,
		.left = head->operand[0],
	};
	enum mr_result result = may_read(qp, head);
	struct data_answer *at;

	if (result) {
		respond_mr(qp, result, head->psn);
		return;
	}
	at = place(&qp->receive, end_of(&answer));
	if (!at)
		return;
	*at = answer;
	if (!again)
		expect_next(qp, psn_count(answer.left));
	qp_activate(qp);
}

static struct atomic_done *find_done(struct receive_queue *receive, uint32_t psn)
{
	unsigned int i;

	for (i = 0; i < QP_READS; i++)
		if (receive->atomics[i].valid && receive->atomics[i].psn == psn)
			return &receive->atomics[i];
	return NULL;
}

static void put_atomic(struct vrnic_qp *qp, uint32_t psn, uint64_t before)
{
	struct data_answer answer = { .psn = psn, .is_atomic = true, .before = before };
	struct data_answer *at = place(&qp->receive, end_of(&answer));

	if (at)
		*at = answer;
	qp_activate(qp);
}

static enum mr_result operate(struct vrnic_qp *qp, const struct frame_head *head, uint64_t *before)
{
	struct mr_access access = { qp->pd, head->key, VRNIC_REMOTE_ATOMIC };

	if (!(qp->attributes.access & VRNIC_REMOTE_ATOMIC))
		return MR_REFUSED;
	return mr_atomic(qp->nic, &access, head->address, head, before);
}

static void do_atomic(struct vrnic_qp *qp, const struct frame_head *head)
{
	struct receive_queue *receive = &qp->receive;
	struct atomic_done *done = &receive->atomics[receive->next_atomic];
	enum mr_result result;
	uint64_t before;

	if (head->address % sizeof(before)) {
		respond_refuse(qp, NAK_REQUEST, head->psn);
		return;
	}
	if (receive->answer_count == QP_READS)
		return;
	result = operate(qp, head, &before);
	if (result) {
		respond_mr(qp, result, head->psn);
		return;
	}
	receive->next_atomic = (receive->next_atomic + 1) % QP_READS;
	done->valid = true;
	done->psn = head->psn;
	done->before = before;
	expect_next(qp, 1);
	put_atomic(qp, head->psn, before);
}

void data_atomic(struct vrnic_qp *qp, const struct frame_head *head, bool again)
{
	struct atomic_done *done = again ? find_done(&qp->receive, head->psn) : NULL;

	if (!again)
		do_atomic(qp, head);
	else if (done)
		put_atomic(qp, head->psn, done->before);
}

static void pop(struct receive_queue *receive)
{
	receive->first_answer = (receive->first_answer + 1) % QP_READS;
	receive->answer_count--;
}

static void send_atomic(struct vrnic_qp *qp, const struct data_answer *answer)
{
	struct frame *frame = respond_frame(qp, FRAME_ATOMIC_DATA, answer->psn, 0);

	if (frame) {
		frame->head.operand[0] = answer->before;
		fabric_send(qp->nic, frame);
	}
	pop(&qp->receive);
}

static void send_part(struct vrnic_qp *qp, struct data_answer *answer)
{
	struct mr_access access = { qp->pd, answer->key, VRNIC_REMOTE_READ };
	size_t part = answer->left < FRAME_SEGMENT ? answer->left : FRAME_SEGMENT;
	struct frame *frame = respond_frame(qp, FRAME_READ_DATA, answer->psn, part);
	enum mr_result result = MR_OK;

	if (!frame) {
		pop(&qp->receive);
		return;
	}
	if (part)
		result = mr_read(qp->nic, &access, answer->address, frame->payload, part);
	if (result) {
		uint32_t psn = answer->psn;

		/* What came after it is asked for again, or is of no use. */
		free(frame);
		qp->receive.answer_count = 0;
		respond_mr(qp, result, psn);
		return;
	}
	answer->psn = psn_add(answer->psn, 1);
	answer->address += part;
	answer->left -= part;
	if (!answer->left)
		pop(&qp->receive);
	fabric_send(qp->nic, frame);
}

bool data_run(struct vrnic_qp *qp)
{
	struct receive_queue *receive = &qp->receive;
	unsigned int turn;

	for (turn = 0; turn < TURN && receive->answer_count; turn++) {
		struct data_answer *answer = answer_at(receive, 0);

		if (qp->nic->budget <= 0)
			return true;
		if (!fabric_has_room(qp->nic, qp->attributes.destination_lid)) {
			qp->blocked = true;
			return false;
		}
		qp->nic->budget -= NIC_ACCESS_COST;
		if (answer->is_atomic)
			send_atomic(qp, answer);
		else
			send_part(qp, answer);
	}
	if (!receive->answer_count && receive->refusal.waits) {
		receive->refusal.waits = false;
		respond_refuse(qp, receive->refusal.code, receive->refusal.psn);
	}
	return receive->answer_count > 0;
}
