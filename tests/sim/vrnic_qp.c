// SPDX-License-Identifier: GPL-2.0-only
/* Queue pairs: their life and their states. What they do is in vrnic_send.c and vrnic_respond.c. */
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "vrnic_nic.h"

#define ALL_ACCESS	(VRNIC_LOCAL_WRITE | VRNIC_REMOTE_WRITE | VRNIC_REMOTE_READ | \
			 VRNIC_REMOTE_ATOMIC | VRNIC_RELAXED_ORDERING)

static struct vrnic_qp *find(struct vrnic *nic, uint32_t number)
{
	return number <= NIC_QPS ? nic->qps[number] : NULL;
}

static struct vrnic_cq *find_cq(struct vrnic *nic, uint32_t number)
{
	return number <= NIC_CQS ? nic->cqs[number] : NULL;
}

static bool ring_is_sound(uint32_t entries, uint64_t address)
{
	return !(entries & (entries - 1)) && entries <= VRNIC_MAX_WR && !(address % 8);
}

unsigned int qp_create(struct vrnic *nic, const struct vrnic_cmd_create_qp *cmd)
{
	struct vrnic_qp *qp;

	if (!cmd->qp || cmd->qp > NIC_QPS || nic->qps[cmd->qp] || !find_cq(nic, cmd->send_cq) ||
	    !find_cq(nic, cmd->receive_cq))
		return VRNIC_BAD_NUMBER;
	if ((cmd->type != VRNIC_QP_RC && cmd->type != VRNIC_QP_UD) ||
	    cmd->doorbell >= NIC_DOORBELLS ||
	    !ring_is_sound(cmd->send_entries, cmd->send_address) ||
	    !ring_is_sound(cmd->receive_entries, cmd->receive_address))
		return VRNIC_BAD_ARGUMENT;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return VRNIC_BAD_ARGUMENT;
	qp->nic = nic;
	qp->number = cmd->qp;
	qp->pd = cmd->pd;
	qp->type = cmd->type;
	qp->doorbell = cmd->doorbell;
	qp->all_signaled = cmd->all_signaled;
	qp->send_cq = find_cq(nic, cmd->send_cq);
	qp->receive_cq = find_cq(nic, cmd->receive_cq);
	qp->send_cq->users++;
	qp->receive_cq->users++;
	qp->send.ring.address = cmd->send_address;
	qp->send.ring.entries = cmd->send_entries;
	qp->receive.ring.address = cmd->receive_address;
	qp->receive.ring.entries = cmd->receive_entries;
	nic->qps[cmd->qp] = qp;
	return VRNIC_OK;
}

static void stop_timer(struct vrnic_qp *qp)
{
	if (qp->timer)
		loop_cancel(qp->timer);
	qp->timer = 0;
	qp->send.hold_until = 0;
	qp->send.answer_by = 0;
	qp->timed_out = false;
}

/* As created: indices, PSNs and attributes are forgotten, rings and CQs are kept. */
static void reset(struct vrnic_qp *qp)
{
	struct vrnic_ring send = { qp->send.ring.address, qp->send.ring.entries, 0, 0 };
	struct vrnic_ring receive = { qp->receive.ring.address, qp->receive.ring.entries, 0, 0 };

	stop_timer(qp);
	memset(&qp->attributes, 0, sizeof(qp->attributes));
	memset(&qp->send, 0, sizeof(qp->send));
	memset(&qp->receive, 0, sizeof(qp->receive));
	qp->send.ring = send;
	qp->receive.ring = receive;
	qp->fatal = false;
	qp->flush_failed = false;
}

static bool may_become(uint32_t from, uint32_t to)
{
	switch (to) {
	case VRNIC_QPS_RESET:
	case VRNIC_QPS_ERROR:
		return true;
	case VRNIC_QPS_INIT:
		return from == VRNIC_QPS_RESET || from == VRNIC_QPS_INIT;
	case VRNIC_QPS_RTR:
		return from == VRNIC_QPS_INIT;
	case VRNIC_QPS_RTS:
		return from == VRNIC_QPS_RTR || from == VRNIC_QPS_RTS;
	default:
		return false;
	}
}

static bool is_sound(const struct vrnic_cmd_modify_qp *cmd)
{
	uint32_t mask = cmd->mask;

	return !(mask & VRNIC_QP_RNR_RETRIES && cmd->rnr_retries > 7) &&
	       !(mask & VRNIC_QP_RETRIES && cmd->retries > 7) &&
	       !(mask & VRNIC_QP_TIMEOUT && cmd->timeout > 31) &&
	       !(mask & VRNIC_QP_RNR_TIMER && cmd->rnr_timer > 31) &&
	       !(mask & VRNIC_QP_ACCESS && cmd->access & ~ALL_ACCESS) &&
	       !(mask & VRNIC_QP_SEND_PSN && cmd->send_psn & ~PSN_MASK) &&
	       !(mask & VRNIC_QP_RECEIVE_PSN && cmd->receive_psn & ~PSN_MASK);
}

static void take_attributes(struct vrnic_qp *qp, const struct vrnic_cmd_modify_qp *cmd)
{
	struct vrnic_cmd_modify_qp *own = &qp->attributes;
	uint32_t mask = cmd->mask;

	if (mask & VRNIC_QP_DESTINATION)
		own->destination_qp = cmd->destination_qp;
	if (mask & VRNIC_QP_PATH)
		own->destination_lid = cmd->destination_lid;
	if (mask & VRNIC_QP_QKEY)
		own->qkey = cmd->qkey;
	if (mask & VRNIC_QP_ACCESS)
		own->access = cmd->access;
	if (mask & VRNIC_QP_RETRIES) {
		own->retries = cmd->retries;
		qp->send.retries = cmd->retries;
	}
	if (mask & VRNIC_QP_RNR_RETRIES) {
		own->rnr_retries = cmd->rnr_retries;
		qp->send.rnr_retries = cmd->rnr_retries;
	}
	if (mask & VRNIC_QP_TIMEOUT)
		own->timeout = cmd->timeout;
	if (mask & VRNIC_QP_RNR_TIMER)
		own->rnr_timer = cmd->rnr_timer;
	if (mask & VRNIC_QP_SEND_PSN)
		own->send_psn = cmd->send_psn;
	if (mask & VRNIC_QP_RECEIVE_PSN)
		own->receive_psn = cmd->receive_psn;
}

static void enter(struct vrnic_qp *qp, uint32_t state)
{
	uint32_t before = qp_state(qp);

	if (state == VRNIC_QPS_ERROR) {
		qp_error(qp);
		return;
	}
	qp->attributes.state = state;
	if (state == VRNIC_QPS_RTR)
		qp->receive.expected = qp->attributes.receive_psn;
	if (state == VRNIC_QPS_RTS && before == VRNIC_QPS_RTR) {
		qp->send.next_psn = qp->attributes.send_psn;
		qp->send.acknowledged = qp->attributes.send_psn;
		qp->send.sent = qp->attributes.send_psn;
	}
	qp_activate(qp);
}

unsigned int qp_modify(struct vrnic *nic, const struct vrnic_cmd_modify_qp *cmd)
{
	struct vrnic_qp *qp = find(nic, cmd->qp);
	bool has_state = cmd->mask & VRNIC_QP_STATE;

	if (!qp)
		return VRNIC_BAD_NUMBER;
	if (has_state && !may_become(qp_state(qp), cmd->state))
		return VRNIC_BAD_STATE;
	if (!is_sound(cmd))
		return VRNIC_BAD_ARGUMENT;
	if (has_state && cmd->state == VRNIC_QPS_RESET) {
		reset(qp);
		return VRNIC_OK;
	}
	take_attributes(qp, cmd);
	if (has_state)
		enter(qp, cmd->state);
	return VRNIC_OK;
}

unsigned int qp_query(struct vrnic *nic, uint32_t number, struct vrnic_cmd_modify_qp *answer)
{
	struct vrnic_qp *qp = find(nic, number);
	struct vrnic_command_head head = answer->head;

	if (!qp)
		return VRNIC_BAD_NUMBER;
	*answer = qp->attributes;
	answer->head = head;
	answer->qp = number;
	if (qp_state(qp) >= VRNIC_QPS_RTS)
		answer->send_psn = qp->send.next_psn;
	if (qp_state(qp) >= VRNIC_QPS_RTR)
		answer->receive_psn = qp->receive.expected;
	return VRNIC_OK;
}

unsigned int qp_destroy(struct vrnic *nic, uint32_t number)
{
	struct vrnic_qp *qp = find(nic, number);

	if (!qp)
		return VRNIC_BAD_NUMBER;
	stop_timer(qp);
	if (qp->active)
		TAILQ_REMOVE(&nic->active, qp, active_link);
	qp->send_cq->users--;
	qp->receive_cq->users--;
	nic->qps[number] = NULL;
	free(qp);
	return VRNIC_OK;
}

void qp_ring(struct vrnic *nic, uint32_t doorbell, bool receive, uint64_t value)
{
	struct vrnic_qp *qp = find(nic, value >> 32);

	if (!qp || qp->doorbell != doorbell)
		return;
	if (receive)
		qp->receive.ring.producer = value & VRNIC_INDEX_MASK;
	else
		qp->send.ring.producer = value & VRNIC_INDEX_MASK;
	qp_activate(qp);
}

void qp_activate(struct vrnic_qp *qp)
{
	if (!qp->active) {
		qp->active = true;
		TAILQ_INSERT_TAIL(&qp->nic->active, qp, active_link);
	}
	nic_defer(qp->nic);
}

void qp_error(struct vrnic_qp *qp)
{
	if (qp_state(qp) == VRNIC_QPS_ERROR)
		return;
	stop_timer(qp);
	qp->attributes.state = VRNIC_QPS_ERROR;
	qp->receive.answer_count = 0;
	qp->receive.refusal.waits = false;
	qp_activate(qp);
}

void qp_fatal(struct vrnic_qp *qp)
{
	if (!qp->fatal)
		eq_event(qp->nic, 0, VRNIC_EVENT_QP_FATAL, qp->number);
	qp->fatal = true;
	qp_error(qp);
}

static void timer_ran(void *arg)
{
	struct vrnic_qp *qp = arg;
	uint64_t now = loop_now();

	qp->timer = 0;
	if (qp->send.hold_until && now >= qp->send.hold_until)
		qp->send.hold_until = 0;
	if (qp->send.answer_by && now >= qp->send.answer_by)
		qp->timed_out = true;
	qp_arm_timer(qp);
	qp_activate(qp);
}

/* A timer that runs too early is left: it looks again. */
void qp_arm_timer(struct vrnic_qp *qp)
{
	uint64_t at = qp->send.hold_until, now = loop_now();

	if (qp->send.answer_by && !qp->timed_out && (!at || qp->send.answer_by < at))
		at = qp->send.answer_by;
	if (!at || (qp->timer && qp->timer_at <= at))
		return;
	if (qp->timer)
		loop_cancel(qp->timer);
	qp->timer_at = at;
	qp->timer = loop_timer(at > now ? at - now : 0, timer_ran, qp);
}

void qp_run(struct vrnic_qp *qp)
{
	bool more = false;

	if (qp->timed_out && qp_state(qp) == VRNIC_QPS_RTS)
		answer_timeout(qp);
	if (qp_state(qp) == VRNIC_QPS_RTS)
		more |= send_run(qp);
	if (qp_state(qp) == VRNIC_QPS_RTR || qp_state(qp) == VRNIC_QPS_RTS)
		more |= data_run(qp);
	if (qp_state(qp) == VRNIC_QPS_ERROR)
		more |= complete_flush(qp);
	if (more)
		qp_activate(qp);
}
