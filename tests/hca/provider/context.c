// SPDX-License-Identifier: GPL-2.0-only
/* A process's opening of the device, and what it tells of itself. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <util/mmio.h>
#include <util/udma_barrier.h>

#include "vrnic.h"

struct context_reply {
	struct ib_uverbs_get_context_resp base;
	struct vrnic_alloc_context_answer answer;
};

void *vrnic_map(struct ibv_context *context, uint64_t key, size_t size)
{
	void *place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd, key);

	return place == MAP_FAILED ? NULL : place;
}

void vrnic_ring(struct ibv_context *context, enum vrnic_doorbell doorbell, uint32_t number,
		uint32_t value)
{
	udma_to_device_barrier();
	mmio_write64_le((char *)to_context(context)->doorbell + doorbell,
			(uint64_t)number << 32 | value);
}

static int query_device(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t size)
{
	struct ib_uverbs_ex_query_device_resp reply;
	size_t reply_size = sizeof(reply);
	int error;

	error = ibv_cmd_query_device_any(context, input, attr, size, &reply, &reply_size);
	if (error)
		return error;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver), "%u.%u.%u",
		 (unsigned int)(reply.base.fw_ver >> 32 & 0xffff),
		 (unsigned int)(reply.base.fw_ver >> 16 & 0xffff),
		 (unsigned int)(reply.base.fw_ver & 0xffff));
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
	struct ibv_query_port command;

	return ibv_cmd_query_port(context, port, attr, &command, sizeof(command));
}

static void free_context(struct ibv_context *base)
{
	struct vrnic_context *context = to_context(base);

	munmap(context->doorbell, VRNIC_DOORBELL_PAGE);
	verbs_uninit_context(&context->verbs);
	free(context);
}

static const struct verbs_context_ops context_ops = {
	.alloc_pd = vrnic_alloc_pd,
	.create_ah = vrnic_create_ah,
	.create_cq = vrnic_create_cq,
	.create_qp = vrnic_create_qp,
	.dealloc_pd = vrnic_dealloc_pd,
	.dereg_mr = vrnic_dereg_mr,
	.destroy_ah = vrnic_destroy_ah,
	.destroy_cq = vrnic_destroy_cq,
	.destroy_qp = vrnic_destroy_qp,
	.free_context = free_context,
	.modify_qp = vrnic_modify_qp,
	.poll_cq = vrnic_poll_cq,
	.post_recv = vrnic_post_recv,
	.post_send = vrnic_post_send,
	.query_device_ex = query_device,
	.query_port = query_port,
	.query_qp = vrnic_query_qp,
	.reg_dmabuf_mr = vrnic_reg_dmabuf_mr,
	.reg_mr = vrnic_reg_mr,
	.req_notify_cq = vrnic_req_notify_cq,
};

struct verbs_context *vrnic_alloc_context(struct ibv_device *device, int fd, void *private)
{
	struct ibv_get_context command;
	struct context_reply reply;
	struct vrnic_context *context;

	(void)private;
	context = verbs_init_and_alloc_context(device, fd, context, verbs, RDMA_DRIVER_UNKNOWN);
	if (!context)
		return NULL;
	if (ibv_cmd_get_context(&context->verbs, &command, sizeof(command), &reply.base,
				sizeof(reply)))
		goto fail;
	context->doorbell = vrnic_map(&context->verbs.context, reply.answer.doorbell_key,
				      VRNIC_DOORBELL_PAGE);
	if (!context->doorbell)
		goto fail;
	verbs_set_ops(&context->verbs, &context_ops);
	return &context->verbs;
fail:
	verbs_uninit_context(&context->verbs);
	free(context);
	return NULL;
}
