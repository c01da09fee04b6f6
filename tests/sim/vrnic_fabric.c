// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delivers frames: to functions of this server by their queues, to others through the link. A queue
 * that is full holds back who wants to send data; answers without data always go, their number is
 * bounded by what they answer.
 */
#include <stdlib.h>

#include "function.h"
#include "vrnic_nic.h"

static bool someone_is_blocked;

static size_t size_of(const struct frame *frame)
{
	return sizeof(*frame) + frame->head.length;
}

struct vrnic *fabric_find(uint16_t lid)
{
	struct vrnic *nic;

	TAILQ_FOREACH(nic, &vrnics, link)
		if (nic->lid == lid)
			return nic;
	return NULL;
}

bool fabric_is_up(void)
{
	return !link_is_used() || link_is_up();
}

void fabric_enqueue(struct vrnic *nic, struct frame *frame)
{
	TAILQ_INSERT_TAIL(&nic->inbound, frame, link);
	nic->inbound_bytes += size_of(frame);
	nic_defer(nic);
}

static bool is_request(const struct frame_head *head)
{
	switch (head->op) {
	case FRAME_SEND:
	case FRAME_WRITE:
	case FRAME_READ:
	case FRAME_COMPARE_SWAP:
	case FRAME_FETCH_ADD:
		return true;
	default:
		return false;
	}
}

bool fabric_turn_back(struct frame *frame)
{
	struct frame_head *head = &frame->head;
	uint16_t lid = head->source_lid;
	uint32_t qp = head->source_qp;

	if (!is_request(head))
		return false;
	head->op = FRAME_NO_SUCH;
	head->length = 0;
	head->source_lid = head->destination_lid;
	head->source_qp = head->destination_qp;
	head->destination_lid = lid;
	head->destination_qp = qp;
	return true;
}

void fabric_send(struct vrnic *nic, struct frame *frame)
{
	struct vrnic *to = fabric_find(frame->head.destination_lid);

	if (nic->dead) {
		free(frame);
		return;
	}
	frame->head.source_lid = nic->lid;
	nic->counters.frames_out++;
	nic->counters.bytes_out += frame->head.length;
	if (to)
		fabric_enqueue(to, frame);
	else if (link_is_up())
		link_send(frame);
	else if (fabric_turn_back(frame))
		fabric_enqueue(nic, frame);
	else
		free(frame);
}

bool fabric_has_room(const struct vrnic *nic, uint16_t lid)
{
	struct vrnic *to = fabric_find(lid);
	bool has_room;

	if (to)
		has_room = to->inbound_bytes < NIC_INBOUND;
	else if (link_is_up())
		has_room = link_has_room();
	else
		has_room = nic->inbound_bytes < NIC_INBOUND;
	if (!has_room)
		someone_is_blocked = true;
	return has_room;
}

static void wake(struct vrnic *nic)
{
	unsigned int i;

	for (i = 1; i <= NIC_QPS; i++) {
		struct vrnic_qp *qp = nic->qps[i];

		if (!qp || !qp->blocked)
			continue;
		qp->blocked = false;
		qp_activate(qp);
	}
}

void fabric_wake(void)
{
	struct vrnic *nic;

	if (!someone_is_blocked)
		return;
	someone_is_blocked = false;
	TAILQ_FOREACH(nic, &vrnics, link)
		wake(nic);
}

static bool is_from_peer(const struct vrnic_qp *qp, const struct frame_head *head)
{
	return head->source_lid == qp->attributes.destination_lid &&
	       head->source_qp == qp->attributes.destination_qp;
}

static void give(struct vrnic_qp *qp, const struct frame *frame)
{
	const struct frame_head *head = &frame->head;

	if (qp->type == VRNIC_QP_UD) {
		if (head->op == FRAME_DATAGRAM)
			ud_take(qp, frame);
		return;
	}
	if (!is_from_peer(qp, head))
		return;
	if (head->op == FRAME_NO_SUCH)
		answer_unreachable(qp);
	else if (is_request(head))
		respond_take(qp, frame);
	else
		answer_take(qp, frame);
}

static struct frame *pop(struct vrnic *nic)
{
	struct frame *frame = TAILQ_FIRST(&nic->inbound);

	TAILQ_REMOVE(&nic->inbound, frame, link);
	nic->inbound_bytes -= size_of(frame);
	if (nic->inbound_bytes < NIC_INBOUND) {
		fabric_wake();
		link_room_in();
	}
	return frame;
}

void fabric_take(struct vrnic *nic)
{
	struct frame *frame = pop(nic);
	uint32_t number = frame->head.destination_qp;
	struct vrnic_qp *qp = number <= NIC_QPS ? nic->qps[number] : NULL;

	nic->budget -= NIC_ACCESS_COST;
	nic->counters.frames_in++;
	nic->counters.bytes_in += frame->head.length;
	if (qp && function_is_master(nic->function))
		give(qp, frame);
	else
		nic->counters.dropped++;
	free(frame);
}

void fabric_forget(struct vrnic *nic)
{
	while (!TAILQ_EMPTY(&nic->inbound))
		free(pop(nic));
}
