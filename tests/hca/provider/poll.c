// SPDX-License-Identifier: GPL-2.0-only
/* Taking completions. */
#include <util/udma_barrier.h>

#include "vrnic.h"

static const enum ibv_wc_status statuses[] = {
	[VRNIC_WC_OK] = IBV_WC_SUCCESS,
	[VRNIC_WC_LOCAL_LENGTH] = IBV_WC_LOC_LEN_ERR,
	[VRNIC_WC_LOCAL_PROTECTION] = IBV_WC_LOC_PROT_ERR,
	[VRNIC_WC_LOCAL_QP] = IBV_WC_LOC_QP_OP_ERR,
	[VRNIC_WC_FLUSHED] = IBV_WC_WR_FLUSH_ERR,
	[VRNIC_WC_REMOTE_REQUEST] = IBV_WC_REM_INV_REQ_ERR,
	[VRNIC_WC_REMOTE_ACCESS] = IBV_WC_REM_ACCESS_ERR,
	[VRNIC_WC_REMOTE_OPERATION] = IBV_WC_REM_OP_ERR,
	[VRNIC_WC_RETRIES] = IBV_WC_RETRY_EXC_ERR,
	[VRNIC_WC_RNR_RETRIES] = IBV_WC_RNR_RETRY_EXC_ERR,
	[VRNIC_WC_GENERAL] = IBV_WC_GENERAL_ERR,
};

static const enum ibv_wc_opcode opcodes[] = {
	[VRNIC_WC_SEND] = IBV_WC_SEND,
	[VRNIC_WC_WRITE] = IBV_WC_RDMA_WRITE,
	[VRNIC_WC_READ] = IBV_WC_RDMA_READ,
	[VRNIC_WC_COMPARE_SWAP] = IBV_WC_COMP_SWAP,
	[VRNIC_WC_FETCH_ADD] = IBV_WC_FETCH_ADD,
	[VRNIC_WC_RECEIVE] = IBV_WC_RECV,
	[VRNIC_WC_RECEIVE_WRITE_IMM] = IBV_WC_RECV_RDMA_WITH_IMM,
};

/* NULL: none is there. */
static const struct vrnic_completion *next_completion(const struct vrnic_cq *cq)
{
	const struct vrnic_completion *completion = cq->ring;
	uint32_t phase = !(cq->taken / cq->entries & 1);

	completion += cq->taken & (cq->entries - 1);
	if (*(const volatile __u32 *)&completion->phase != phase)
		return NULL;
	udma_from_device_barrier();
	return completion;
}

/* What comes earlier in the queue is done too, with or without a completion. */
static uint64_t take_id(struct vrnic_queue *queue, uint32_t slot)
{
	uint32_t done = atomic_load_explicit(&queue->done, memory_order_relaxed);
	uint64_t id = queue->ids[slot];

	done += ((slot - done) & (queue->entries - 1)) + 1;
	atomic_store_explicit(&queue->done, done, memory_order_release);
	return id;
}

static void translate(struct ibv_wc *wc, const struct vrnic_completion *completion)
{
	*wc = (struct ibv_wc) {
		.status = completion->status < sizeof(statuses) / sizeof(statuses[0]) ?
			  statuses[completion->status] : IBV_WC_GENERAL_ERR,
		.opcode = completion->opcode < sizeof(opcodes) / sizeof(opcodes[0]) ?
			  opcodes[completion->opcode] : 0,
		.vendor_err = completion->vendor_error,
		.byte_len = completion->length,
		.imm_data = completion->immediate,
		.qp_num = completion->qp,
		.src_qp = completion->source_qp,
		.slid = completion->source_lid,
		.wc_flags = (completion->flags & VRNIC_WC_IMMEDIATE ? IBV_WC_WITH_IMM : 0) |
			    (completion->flags & VRNIC_WC_GRH ? IBV_WC_GRH : 0),
	};
}

/* False for what a QP left behind that is gone, was reset, or never had such a slot. */
static bool take(const struct vrnic_cq *cq, const struct vrnic_completion *completion,
		 struct ibv_wc *wc)
{
	uint32_t slot = completion->id & ID_SLOT_MASK;
	struct vrnic_queue *queue;
	struct vrnic_qp *qp;

	qp = completion->qp < cq->qps_size ? cq->qps[completion->qp] : NULL;
	if (!qp || qp->generation != completion->id >> ID_GENERATION_SHIFT)
		return false;
	queue = completion->id & ID_RECEIVE ? &qp->receive : &qp->send;
	if (slot >= queue->entries)
		return false;
	translate(wc, completion);
	wc->wr_id = take_id(queue, slot);
	return true;
}

int vrnic_poll_cq(struct ibv_cq *base, int count, struct ibv_wc *wc)
{
	const struct vrnic_completion *completion;
	struct vrnic_cq *cq = to_cq(base);
	uint32_t before;
	int found = 0;

	pthread_spin_lock(&cq->lock);
	before = cq->taken;
	while (found < count) {
		completion = next_completion(cq);
		if (!completion)
			break;
		cq->taken++;
		if (take(cq, completion, &wc[found]))
			found++;
	}
	if (cq->taken != before) {
		/* Their places are free only when they were read. */
		atomic_thread_fence(memory_order_release);
		*(volatile uint32_t *)cq->consumer = cq->taken & VRNIC_INDEX_MASK;
	}
	pthread_spin_unlock(&cq->lock);
	return found;
}
