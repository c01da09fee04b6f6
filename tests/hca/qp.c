// SPDX-License-Identifier: GPL-2.0-only
/* Queue pairs: users post to them, the kernel makes them and changes their state. */
#include <linux/log2.h>

#include "vrnic.h"

#define VRNIC_FIRST_QP	2	/* 0 and 1 are those of management, which is not there */

/* Attributes that the device is told of. */
#define VRNIC_QP_TOLD	(IB_QP_STATE | IB_QP_DEST_QPN | IB_QP_AV | IB_QP_QKEY |		\
			 IB_QP_ACCESS_FLAGS | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |	\
			 IB_QP_TIMEOUT | IB_QP_MIN_RNR_TIMER | IB_QP_SQ_PSN | IB_QP_RQ_PSN)
/* Those that mean nothing to it, but have values. */
#define VRNIC_QP_KEPT	(IB_QP_CUR_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_PATH_MTU | \
			 IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC)

static const struct {
	enum ib_qp_state ib;
	enum vrnic_qp_state device;
} vrnic_states[] = {
	{ IB_QPS_RESET, VRNIC_QPS_RESET },
	{ IB_QPS_INIT, VRNIC_QPS_INIT },
	{ IB_QPS_RTR, VRNIC_QPS_RTR },
	{ IB_QPS_RTS, VRNIC_QPS_RTS },
	{ IB_QPS_ERR, VRNIC_QPS_ERROR },
};

static int vrnic_state_to_device(enum ib_qp_state ib)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vrnic_states); i++)
		if (vrnic_states[i].ib == ib)
			return vrnic_states[i].device;
	return -EOPNOTSUPP;
}

static enum ib_qp_state vrnic_state_from_device(u32 device)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vrnic_states); i++)
		if (vrnic_states[i].device == device)
			return vrnic_states[i].ib;
	return IB_QPS_ERR;
}

static int vrnic_qp_check_init(const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IB_QPT_RC && attr->qp_type != IB_QPT_UD)
		return -EOPNOTSUPP;
	if (attr->srq || attr->create_flags || attr->rwq_ind_tbl)
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	if (cap->max_send_wr > VRNIC_MAX_WR || cap->max_recv_wr > VRNIC_MAX_WR ||
	    cap->max_send_sge > VRNIC_MAX_SGE || cap->max_recv_sge > VRNIC_MAX_SGE ||
	    cap->max_inline_data > VRNIC_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static void vrnic_qp_settle_cap(struct ib_qp_cap *cap)
{
	cap->max_send_wr = roundup_pow_of_two(max(cap->max_send_wr, 1u));
	cap->max_recv_wr = roundup_pow_of_two(max(cap->max_recv_wr, 1u));
	cap->max_send_sge = VRNIC_MAX_SGE;
	cap->max_recv_sge = VRNIC_MAX_SGE;
	cap->max_inline_data = VRNIC_MAX_INLINE;
}

static int vrnic_qp_memory(struct vrnic_qp *qp, struct ib_ucontext *context,
			   const struct ib_qp_cap *cap)
{
	struct vrnic *dev = to_vrnic(context->device);

	qp->send = vrnic_queue_alloc(context, cap->max_send_wr * sizeof(struct vrnic_send_wr),
				     false);
	if (IS_ERR(qp->send))
		return PTR_ERR(qp->send);
	qp->receive = vrnic_queue_alloc(context,
					cap->max_recv_wr * sizeof(struct vrnic_receive_wr), false);
	if (IS_ERR(qp->receive)) {
		vrnic_queue_free(dev, qp->send);
		return PTR_ERR(qp->receive);
	}
	return 0;
}

static int vrnic_qp_start(struct vrnic_qp *qp, const struct ib_qp_init_attr *attr, u32 doorbell)
{
	struct vrnic_cmd_create_qp cmd = {
		.head.opcode = VRNIC_CMD_CREATE_QP,
		.qp = qp->ib.qp_num,
		.pd = to_vrnic_pd(qp->ib.pd)->number,
		.type = attr->qp_type == IB_QPT_RC ? VRNIC_QP_RC : VRNIC_QP_UD,
		.doorbell = doorbell,
		.send_cq = to_vrnic_cq(attr->send_cq)->number,
		.receive_cq = to_vrnic_cq(attr->recv_cq)->number,
		.send_entries = attr->cap.max_send_wr,
		.receive_entries = attr->cap.max_recv_wr,
		.send_address = qp->send->ring_dma,
		.receive_address = qp->receive->ring_dma,
		.all_signaled = attr->sq_sig_type == IB_SIGNAL_ALL_WR,
	};

	return vrnic_command(to_vrnic(qp->ib.device), &cmd, sizeof(cmd), 0);
}

static int vrnic_qp_answer(struct vrnic_qp *qp, const struct ib_qp_cap *cap,
			   struct ib_udata *udata)
{
	struct vrnic_create_qp_answer answer = {
		.send_key = rdma_user_mmap_get_offset(&qp->send->entry),
		.receive_key = rdma_user_mmap_get_offset(&qp->receive->entry),
		.send_size = vrnic_queue_size(qp->send),
		.receive_size = vrnic_queue_size(qp->receive),
		.qp = qp->ib.qp_num,
		.send_entries = cap->max_send_wr,
		.receive_entries = cap->max_recv_wr,
	};

	return vrnic_answer(udata, &answer, sizeof(answer));
}

int vrnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct vrnic_context *context =
		rdma_udata_to_drv_context(udata, struct vrnic_context, ib);
	struct vrnic *dev = to_vrnic(ib->device);
	struct vrnic_qp *qp = to_vrnic_qp(ib);
	int ret;

	if (!context)
		return -EOPNOTSUPP;
	ret = vrnic_qp_check_init(attr);
	if (ret)
		return ret;
	vrnic_qp_settle_cap(&attr->cap);
	mutex_init(&qp->lock);
	qp->attr.qp_state = IB_QPS_RESET;
	qp->attr.port_num = 1;
	qp->attr.cap = attr->cap;
	qp->sig_type = attr->sq_sig_type;
	ret = vrnic_qp_memory(qp, &context->ib, &attr->cap);
	if (ret)
		return ret;
	ret = xa_alloc_cyclic(&dev->qps, &ib->qp_num, qp, XA_LIMIT(VRNIC_FIRST_QP, dev->max_qp),
			      &dev->next_qp, GFP_KERNEL);
	if (ret < 0)
		goto free;
	ret = vrnic_qp_start(qp, attr, context->doorbell);
	if (ret)
		goto erase;
	ret = vrnic_qp_answer(qp, &attr->cap, udata);
	if (ret)
		goto destroy;
	return 0;

destroy:
	vrnic_command_obeyed(dev, VRNIC_CMD_DESTROY_QP, ib->qp_num);
erase:
	xa_erase(&dev->qps, ib->qp_num);
	vrnic_events_settle(dev, 0);
free:
	vrnic_queue_free(dev, qp->receive);
	vrnic_queue_free(dev, qp->send);
	return ret;
}

int vrnic_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct vrnic *dev = to_vrnic(ib->device);
	struct vrnic_qp *qp = to_vrnic_qp(ib);

	vrnic_command_obeyed(dev, VRNIC_CMD_DESTROY_QP, ib->qp_num);
	xa_erase(&dev->qps, ib->qp_num);
	vrnic_events_settle(dev, 0);
	vrnic_queue_free(dev, qp->receive);
	vrnic_queue_free(dev, qp->send);
	mutex_destroy(&qp->lock);
	return 0;
}

/* The device makes a QP that failed an erroneous one by itself. */
static int vrnic_qp_refresh(struct vrnic_qp *qp)
{
	struct vrnic_cmd_modify_qp cmd = {
		.head.opcode = VRNIC_CMD_QUERY_QP,
		.qp = qp->ib.qp_num,
	};
	int ret;

	static_assert(offsetof(struct vrnic_cmd_modify_qp, qp) ==
		      offsetof(struct vrnic_cmd_number, number));
	ret = vrnic_command(to_vrnic(qp->ib.device), &cmd, sizeof(struct vrnic_cmd_number),
			    sizeof(cmd));
	if (ret)
		return ret;
	qp->attr.qp_state = vrnic_state_from_device(cmd.state);
	if (qp->attr.qp_state == IB_QPS_RESET)
		return 0;
	qp->attr.sq_psn = cmd.send_psn;
	qp->attr.rq_psn = cmd.receive_psn;
	return 0;
}

static int vrnic_qp_check(const struct vrnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state now = qp->attr.qp_state;
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : now;

	if (mask & ~(VRNIC_QP_TOLD | VRNIC_QP_KEPT))
		return -EOPNOTSUPP;
	if (vrnic_state_to_device(next) < 0)
		return -EOPNOTSUPP;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != now)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(now, next, qp->ib.qp_type, mask))
		return -EINVAL;
	if (mask & IB_QP_AV && !vrnic_is_destination(&attr->ah_attr))
		return -EINVAL;
	if (mask & IB_QP_PORT && attr->port_num != 1)
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index)
		return -EINVAL;
	if (mask & IB_QP_PATH_MTU && ib_mtu_enum_to_int(attr->path_mtu) < 0)
		return -EINVAL;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > VRNIC_MAX_READS)
		return -EINVAL;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > VRNIC_MAX_READS)
		return -EINVAL;
	return 0;
}

static u32 vrnic_qp_fields(int mask)
{
	static const struct {
		int ib;
		u32 device;
	} fields[] = {
		{ IB_QP_STATE, VRNIC_QP_STATE },
		{ IB_QP_DEST_QPN, VRNIC_QP_DESTINATION },
		{ IB_QP_AV, VRNIC_QP_PATH },
		{ IB_QP_QKEY, VRNIC_QP_QKEY },
		{ IB_QP_ACCESS_FLAGS, VRNIC_QP_ACCESS },
		{ IB_QP_RETRY_CNT, VRNIC_QP_RETRIES },
		{ IB_QP_RNR_RETRY, VRNIC_QP_RNR_RETRIES },
		{ IB_QP_TIMEOUT, VRNIC_QP_TIMEOUT },
		{ IB_QP_MIN_RNR_TIMER, VRNIC_QP_RNR_TIMER },
		{ IB_QP_SQ_PSN, VRNIC_QP_SEND_PSN },
		{ IB_QP_RQ_PSN, VRNIC_QP_RECEIVE_PSN },
	};
	unsigned int i;
	u32 ret = 0;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (mask & fields[i].ib)
			ret |= fields[i].device;
	return ret;
}

static int vrnic_qp_tell(struct vrnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct vrnic_cmd_modify_qp cmd = {
		.head.opcode = VRNIC_CMD_MODIFY_QP,
		.qp = qp->ib.qp_num,
		.mask = vrnic_qp_fields(mask),
		.destination_qp = attr->dest_qp_num,
		.qkey = attr->qkey,
		.access = vrnic_access(attr->qp_access_flags),
		.retries = attr->retry_cnt,
		.rnr_retries = attr->rnr_retry,
		.timeout = attr->timeout,
		.rnr_timer = attr->min_rnr_timer,
		.send_psn = attr->sq_psn,
		.receive_psn = attr->rq_psn,
	};

	if (mask & IB_QP_STATE)
		cmd.state = vrnic_state_to_device(attr->qp_state);
	if (mask & IB_QP_AV)
		cmd.destination_lid = rdma_ah_get_dlid(&attr->ah_attr);
	if (!cmd.mask)
		return 0;
	return vrnic_command(to_vrnic(qp->ib.device), &cmd, sizeof(cmd), 0);
}

static void vrnic_qp_keep_path(struct ib_qp_attr *to, const struct ib_qp_attr *from, int mask)
{
	if (mask & IB_QP_AV) {
		to->ah_attr = from->ah_attr;
		/* The core's reference to it is not ours to keep. */
		to->ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = from->dest_qp_num;
	if (mask & IB_QP_QKEY)
		to->qkey = from->qkey;
	if (mask & IB_QP_PORT)
		to->port_num = from->port_num;
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = from->path_mtu;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = from->sq_psn;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = from->rq_psn;
}

static void vrnic_qp_keep(struct ib_qp_attr *to, const struct ib_qp_attr *from, int mask)
{
	vrnic_qp_keep_path(to, from, mask);
	if (mask & IB_QP_STATE)
		to->qp_state = from->qp_state;
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = from->qp_access_flags;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = from->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
}

int vrnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct vrnic_qp *qp = to_vrnic_qp(ib);
	int ret;

	mutex_lock(&qp->lock);
	ret = vrnic_qp_refresh(qp);
	if (!ret)
		ret = vrnic_qp_check(qp, attr, mask);
	if (!ret)
		ret = vrnic_qp_tell(qp, attr, mask);
	if (!ret)
		vrnic_qp_keep(&qp->attr, attr, mask);
	mutex_unlock(&qp->lock);
	return ret;
}

int vrnic_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init)
{
	struct vrnic_qp *qp = to_vrnic_qp(ib);
	int ret;

	mutex_lock(&qp->lock);
	ret = vrnic_qp_refresh(qp);
	*attr = qp->attr;
	mutex_unlock(&qp->lock);
	attr->cur_qp_state = attr->qp_state;
	init->cap = attr->cap;
	init->sq_sig_type = qp->sig_type;
	init->qp_type = ib->qp_type;
	init->send_cq = ib->send_cq;
	init->recv_cq = ib->recv_cq;
	init->qp_context = ib->qp_context;
	return ret;
}

void vrnic_qp_event(struct vrnic *dev, u32 number, enum ib_event_type type)
{
	struct vrnic_qp *qp = xa_load(&dev->qps, number);
	struct ib_event event = {
		.device = &dev->ib,
		.event = type,
	};

	if (!qp || !qp->ib.event_handler)
		return;
	event.element.qp = &qp->ib;
	qp->ib.event_handler(&event, qp->ib.qp_context);
}
