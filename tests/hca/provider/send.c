// SPDX-License-Identifier: GPL-2.0-only
/* Posting to send queues. */
#include <errno.h>
#include <string.h>

#include "vrnic.h"

static int opcode_of(const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
		return VRNIC_WR_SEND;
	case IBV_WR_SEND_WITH_IMM:
		return VRNIC_WR_SEND_IMM;
	case IBV_WR_RDMA_WRITE:
		return VRNIC_WR_WRITE;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return VRNIC_WR_WRITE_IMM;
	case IBV_WR_RDMA_READ:
		return VRNIC_WR_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return VRNIC_WR_COMPARE_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return VRNIC_WR_FETCH_ADD;
	default:
		return 0;
	}
}

static uint8_t flags_of(const struct vrnic_qp *qp, const struct ibv_send_wr *wr)
{
	return (qp->all_signaled || wr->send_flags & IBV_SEND_SIGNALED ? VRNIC_WR_SIGNALED : 0) |
	       (wr->send_flags & IBV_SEND_SOLICITED ? VRNIC_WR_SOLICITED : 0) |
	       (wr->send_flags & IBV_SEND_FENCE ? VRNIC_WR_FENCE : 0) |
	       (wr->send_flags & IBV_SEND_INLINE ? VRNIC_WR_INLINE : 0);
}

static int set_inline(const struct vrnic_qp *qp, struct vrnic_send_wr *entry,
		      const struct ibv_send_wr *wr)
{
	size_t length = 0;

	if (entry->opcode >= VRNIC_WR_READ)
		return -EINVAL;
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length > qp->max_inline - length)
			return -ENOMEM;
		memcpy(entry->data + length, (const void *)(uintptr_t)sge->addr, sge->length);
		length += sge->length;
	}
	entry->inline_length = length;
	return 0;
}

static int set_data(const struct vrnic_qp *qp, struct vrnic_send_wr *entry,
		    const struct ibv_send_wr *wr)
{
	if (wr->num_sge < 0)
		return -EINVAL;
	if (wr->send_flags & IBV_SEND_INLINE)
		return set_inline(qp, entry, wr);
	if ((uint32_t)wr->num_sge > qp->send.sges)
		return -EINVAL;
	entry->sges = wr->num_sge;
	vrnic_set_sges(entry->sge, wr->sg_list, wr->num_sge);
	return 0;
}

static int set_datagram(struct vrnic_send_wr *entry, const struct ibv_send_wr *wr)
{
	if (entry->opcode > VRNIC_WR_SEND_IMM || !wr->wr.ud.ah)
		return -EINVAL;
	entry->destination_lid = to_ah(wr->wr.ud.ah)->lid;
	entry->destination_qp = wr->wr.ud.remote_qpn;
	entry->qkey = wr->wr.ud.remote_qkey;
	return 0;
}

static void set_remote(struct vrnic_send_wr *entry, const struct ibv_send_wr *wr)
{
	switch (entry->opcode) {
	case VRNIC_WR_WRITE:
	case VRNIC_WR_WRITE_IMM:
	case VRNIC_WR_READ:
		entry->remote_address = wr->wr.rdma.remote_addr;
		entry->remote_key = wr->wr.rdma.rkey;
		break;
	case VRNIC_WR_COMPARE_SWAP:
	case VRNIC_WR_FETCH_ADD:
		entry->remote_address = wr->wr.atomic.remote_addr;
		entry->remote_key = wr->wr.atomic.rkey;
		entry->compare_add = wr->wr.atomic.compare_add;
		entry->swap = wr->wr.atomic.swap;
		break;
	}
}

static int post(struct vrnic_qp *qp, const struct ibv_send_wr *wr)
{
	struct vrnic_queue *queue = &qp->send;
	struct vrnic_send_wr entry = {};
	uint32_t slot;
	int error = 0;

	if (queue_full(queue))
		return -ENOMEM;
	slot = queue_slot(queue);
	entry.id = (uint64_t)qp->generation << ID_GENERATION_SHIFT | slot;
	entry.opcode = opcode_of(wr);
	entry.flags = flags_of(qp, wr);
	entry.immediate = wr->imm_data;
	if (!entry.opcode)
		return -EINVAL;
	if (qp->verbs.qp.qp_type == IBV_QPT_UD)
		error = set_datagram(&entry, wr);
	else
		set_remote(&entry, wr);
	error = error ?: set_data(qp, &entry, wr);
	if (error)
		return error;
	((struct vrnic_send_wr *)queue->ring)[slot] = entry;
	queue_add(queue, wr->wr_id);
	return 0;
}

static int may_post(const struct vrnic_qp *qp)
{
	return !qp->send.entries || qp->verbs.qp.state < IBV_QPS_RTS ? -EINVAL : 0;
}

int vrnic_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct vrnic_qp *qp = to_qp(base);
	uint32_t before;
	int error = may_post(qp);

	*bad = wr;
	if (error)
		return -error;
	before = vrnic_queue_begin(&qp->send);
	for (; wr && !error; wr = wr->next) {
		*bad = wr;
		error = post(qp, wr);
	}
	vrnic_queue_end(&qp->send, base, VRNIC_DOORBELL_SEND, before);
	return -error;
}
