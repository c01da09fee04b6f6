// SPDX-License-Identifier: GPL-2.0-only
/* Queue pairs. */
#include <errno.h>
#include <stdlib.h>

#include "vrnic.h"

struct qp_reply {
	struct ib_uverbs_create_qp_resp base;
	struct vrnic_create_qp_answer answer;
};

static uint32_t next_generation(struct vrnic_qp *qp)
{
	return atomic_fetch_add(&to_context(qp->verbs.qp.context)->generation, 1);
}

static uint32_t at_most(uint32_t value, uint32_t limit)
{
	return value < limit ? value : limit;
}

/* An entry never takes more, whatever was asked for. */
static int open_queues(struct vrnic_qp *qp, const struct vrnic_create_qp_answer *answer,
		       const struct ibv_qp_cap *cap)
{
	struct ibv_context *context = qp->verbs.qp.context;
	int error;

	error = vrnic_queue_open(&qp->send, context, answer->send_key, answer->send_size,
				 answer->send_entries, at_most(cap->max_send_sge, VRNIC_MAX_SGE));
	if (error)
		return error;
	return vrnic_queue_open(&qp->receive, context, answer->receive_key, answer->receive_size,
				answer->receive_entries, at_most(cap->max_recv_sge, VRNIC_MAX_SGE));
}

static int add_to_cqs(struct vrnic_qp *qp)
{
	return vrnic_cq_add(to_cq(qp->verbs.qp.send_cq), qp) ?:
	       vrnic_cq_add(to_cq(qp->verbs.qp.recv_cq), qp);
}

/* So that nothing that polls sees the QP any more. */
static void leave_cqs(struct vrnic_qp *qp)
{
	vrnic_cq_lock_both(qp);
	vrnic_cq_forget(qp);
	vrnic_cq_unlock_both(qp);
}

static void release(struct vrnic_qp *qp)
{
	leave_cqs(qp);
	vrnic_queue_close(&qp->send);
	vrnic_queue_close(&qp->receive);
	free(qp);
}

struct ibv_qp *vrnic_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_create_qp command;
	struct qp_reply reply = {};
	struct vrnic_qp *qp;
	int error;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	error = -ibv_cmd_create_qp(pd, &qp->verbs.qp, attr, &command, sizeof(command), &reply.base,
				   sizeof(reply));
	if (error) {
		free(qp);
		errno = -error;
		return NULL;
	}
	/* libibverbs fills these in later. */
	qp->verbs.qp.context = pd->context;
	qp->verbs.qp.send_cq = attr->send_cq;
	qp->verbs.qp.recv_cq = attr->recv_cq;
	qp->generation = next_generation(qp);
	qp->max_inline = at_most(attr->cap.max_inline_data, VRNIC_MAX_INLINE);
	qp->all_signaled = attr->sq_sig_all;
	error = open_queues(qp, &reply.answer, &attr->cap) ?: add_to_cqs(qp);
	if (error) {
		ibv_cmd_destroy_qp(&qp->verbs.qp);
		release(qp);
		errno = -error;
		return NULL;
	}
	return &qp->verbs.qp;
}

static void reset(struct vrnic_qp *qp)
{
	vrnic_cq_lock_both(qp);
	qp->generation = next_generation(qp);
	vrnic_queue_reset(&qp->send);
	vrnic_queue_reset(&qp->receive);
	vrnic_cq_unlock_both(qp);
}

int vrnic_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp command = {};
	int error;

	error = ibv_cmd_modify_qp(qp, attr, mask, &command, sizeof(command));
	if (!error && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		reset(to_qp(qp));
	return error;
}

int vrnic_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init)
{
	struct ibv_query_qp command;

	return ibv_cmd_query_qp(qp, attr, mask, init, &command, sizeof(command));
}

int vrnic_destroy_qp(struct ibv_qp *qp)
{
	int error = ibv_cmd_destroy_qp(qp);

	if (!error)
		release(to_qp(qp));
	return error;
}
