// SPDX-License-Identifier: GPL-2.0-only
/* Completion queues, polled by users. */
#include <linux/log2.h>

#include "vrnic.h"

static int vrnic_cq_start(struct vrnic_cq *cq, u32 entries, u32 doorbell)
{
	struct vrnic_cmd_cq cmd = {
		.head.opcode = VRNIC_CMD_CREATE_CQ,
		.cq = cq->number,
		.eq = cq->eq,
		.doorbell = doorbell,
		.entries = entries,
		.address = cq->mapping->ring_dma,
		.consumer = cq->mapping->index_dma,
	};

	return vrnic_command(to_vrnic(cq->ib.device), &cmd, sizeof(cmd), 0);
}

static int vrnic_cq_answer(struct vrnic_cq *cq, u32 entries, struct ib_udata *udata)
{
	struct vrnic_create_cq_answer answer = {
		.ring_key = rdma_user_mmap_get_offset(&cq->mapping->entry),
		.ring_size = vrnic_queue_size(cq->mapping),
		.cq = cq->number,
		.entries = entries,
	};

	return vrnic_answer(udata, &answer, sizeof(answer));
}

int vrnic_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		    vrnic_compat_cq_attrs_t *attrs)
{
	struct ib_udata *udata = vrnic_compat_cq_udata(attrs);
	struct vrnic_context *context =
		rdma_udata_to_drv_context(udata, struct vrnic_context, ib);
	struct vrnic *dev = to_vrnic(ib->device);
	struct vrnic_cq *cq = to_vrnic_cq(ib);
	u32 entries;
	int ret;

	if (!context || attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > VRNIC_MAX_CQE)
		return -EINVAL;
	entries = roundup_pow_of_two(attr->cqe);
	cq->eq = 1 + attr->comp_vector % (dev->vectors - 1);
	cq->mapping = vrnic_queue_alloc(&context->ib, entries * sizeof(struct vrnic_completion),
					true);
	if (IS_ERR(cq->mapping))
		return PTR_ERR(cq->mapping);
	ret = xa_alloc_cyclic(&dev->cqs, &cq->number, cq, XA_LIMIT(1, dev->max_cq),
			      &dev->next_cq, GFP_KERNEL);
	if (ret < 0)
		goto free;
	ret = vrnic_cq_start(cq, entries, context->doorbell);
	if (ret)
		goto erase;
	ret = vrnic_cq_answer(cq, entries, udata);
	if (ret)
		goto destroy;
	ib->cqe = entries;
	return 0;

destroy:
	vrnic_command_obeyed(dev, VRNIC_CMD_DESTROY_CQ, cq->number);
erase:
	xa_erase(&dev->cqs, cq->number);
	vrnic_events_settle(dev, cq->eq);
	vrnic_events_settle(dev, 0);
free:
	vrnic_queue_free(dev, cq->mapping);
	return ret;
}

int vrnic_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct vrnic *dev = to_vrnic(ib->device);
	struct vrnic_cq *cq = to_vrnic_cq(ib);

	vrnic_command_obeyed(dev, VRNIC_CMD_DESTROY_CQ, cq->number);
	xa_erase(&dev->cqs, cq->number);
	vrnic_events_settle(dev, cq->eq);
	vrnic_events_settle(dev, 0);
	vrnic_queue_free(dev, cq->mapping);
	return 0;
}

void vrnic_cq_completion(struct vrnic *dev, u32 number)
{
	struct vrnic_cq *cq = xa_load(&dev->cqs, number);

	if (cq && cq->ib.comp_handler)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

void vrnic_cq_error(struct vrnic *dev, u32 number)
{
	struct vrnic_cq *cq = xa_load(&dev->cqs, number);
	struct ib_event event = {
		.device = &dev->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (!cq || !cq->ib.event_handler)
		return;
	event.element.cq = &cq->ib;
	cq->ib.event_handler(&event, cq->ib.cq_context);
}
