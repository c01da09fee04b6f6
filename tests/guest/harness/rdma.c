// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "rdma.h"

#define COMPLETION_MS	10000

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; devices && devices[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(devices[i]), name))
			context = ibv_open_device(devices[i]);
	if (devices)
		ibv_free_device_list(devices);
	if (!context)
		test_skip("no RDMA device %s", name);
	return context;
}

/* RoCE v2 over IPv4: the GID ends in ::ffff:a.b.c.d. */
static void choose_gid(struct rdma *r)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_gid_entry entry;

	for (int i = 0; i < 16; i++) {
		if (ibv_query_gid_ex(r->context, 1, i, &entry, 0))
			continue;
		if (entry.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    memcmp(entry.gid.raw, mapped, sizeof(mapped)))
			continue;
		r->gid = entry.gid;
		r->gid_index = i;
		return;
	}
	test_fail(__FILE__, __LINE__, "no RoCE v2 IPv4 GID");
}

static void choose_address(struct rdma *r)
{
	struct ibv_port_attr port;

	CHECK_EQ(ibv_query_port(r->context, 1, &port), 0);
	if (port.link_layer == IBV_LINK_LAYER_INFINIBAND)
		r->lid = port.lid;
	else
		choose_gid(r);
}

void rdma_open(struct rdma *r)
{
	rdma_open_device(r, getenv("VPEER_TEST_RDMA") ?: "rxe0");
}

void rdma_open_far(struct rdma *r, const char *name)
{
	memset(r, 0, sizeof(*r));
	r->context = open_device(name);
	choose_address(r);
	r->pd = ibv_alloc_pd(r->context);
	CHECK(r->pd);
	r->cq = ibv_create_cq(r->context, 64, NULL, NULL, 0);
	CHECK(r->cq);
}

void rdma_open_to(struct rdma *r, const char *name, struct rdma *far)
{
	rdma_open_far(r, name);
	r->other = far;
	rdma_connect(r);
}

void rdma_open_device(struct rdma *r, const char *name)
{
	rdma_open_to(r, name, NULL);
}

static void destroy_pair(struct rdma *r)
{
	CHECK_EQ(ibv_destroy_qp(r->near), 0);
	CHECK_EQ(ibv_destroy_qp(r->far), 0);
}

void rdma_close(struct rdma *r)
{
	if (r->near)
		destroy_pair(r);
	CHECK_EQ(ibv_destroy_cq(r->cq), 0);
	CHECK_EQ(ibv_dealloc_pd(r->pd), 0);
	CHECK_EQ(ibv_close_device(r->context), 0);
}

static struct ibv_qp *make_qp(const struct rdma *r)
{
	struct ibv_qp_init_attr init = {
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 16,
			.max_recv_wr = 16,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ibv_qp *qp = ibv_create_qp(r->pd, &init);

	CHECK(qp);
	return qp;
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = RDMA_ACCESS,
	};

	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			       IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
}

static void to_ready(const struct rdma *r, struct ibv_qp *qp, const struct rdma *other,
		     const struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = !other->lid,
			.dlid = other->lid,
			.port_num = 1,
			.grh = {
				.dgid = other->gid,
				.sgid_index = r->gid_index,
				.hop_limit = 64,
			},
		},
	};

	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			       IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
}

static void to_send(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 16,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
			       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), 0);
}

static const struct rdma *far_device(const struct rdma *r)
{
	return r->other ?: r;
}

static void join(struct rdma *r)
{
	const struct rdma *far = far_device(r);

	to_init(r->near);
	to_init(r->far);
	to_ready(r, r->near, far, r->far);
	to_ready(far, r->far, r, r->near);
	to_send(r->near);
	to_send(r->far);
}

void rdma_connect(struct rdma *r)
{
	if (r->near)
		destroy_pair(r);
	r->near = make_qp(r);
	r->far = make_qp(far_device(r));
	join(r);
}

void rdma_connect_again(struct rdma *r)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	CHECK_EQ(ibv_modify_qp(r->near, &attr, IBV_QP_STATE), 0);
	CHECK_EQ(ibv_modify_qp(r->far, &attr, IBV_QP_STATE), 0);
	join(r);
}

struct ibv_mr *rdma_reg(struct rdma *r, void *addr, size_t size)
{
	struct ibv_mr *mr = ibv_reg_mr(r->pd, addr, size, RDMA_ACCESS);

	if (!mr)
		test_fail(__FILE__, __LINE__, "ibv_reg_mr: %s", strerrorname_np(errno));
	return mr;
}

struct ibv_mr *rdma_reg_dmabuf(struct rdma *r, int dmabuf, uint64_t offset, size_t size,
			       uint64_t iova)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(r->pd, offset, size, iova, dmabuf, RDMA_ACCESS);

	if (!mr)
		test_fail(__FILE__, __LINE__, "ibv_reg_dmabuf_mr: %s", strerrorname_np(errno));
	return mr;
}

static enum ibv_wc_status complete(struct rdma *r, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int64_t end = test_now_ms() + COMPLETION_MS;
	int count;

	wr->send_flags = IBV_SEND_SIGNALED;
	CHECK_EQ(ibv_post_send(r->near, wr, &bad), 0);
	while (!(count = ibv_poll_cq(r->cq, 1, &wc))) {
		CHECK(test_now_ms() < end);
		/* Software devices need the processor. */
		sched_yield();
	}
	CHECK_EQ(count, 1);
	return wc.status;
}

static enum ibv_wc_status transfer(struct rdma *r, enum ibv_wr_opcode opcode,
				   const struct ibv_mr *local, uint64_t remote,
				   uint32_t rkey, uint32_t size)
{
	struct ibv_sge sge = { (uintptr_t)local->addr, size, local->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};

	return complete(r, &wr);
}

enum ibv_wc_status rdma_write(struct rdma *r, const struct ibv_mr *local,
			      uint64_t remote, uint32_t rkey, uint32_t size)
{
	return transfer(r, IBV_WR_RDMA_WRITE, local, remote, rkey, size);
}

enum ibv_wc_status rdma_read(struct rdma *r, const struct ibv_mr *local,
			     uint64_t remote, uint32_t rkey, uint32_t size)
{
	return transfer(r, IBV_WR_RDMA_READ, local, remote, rkey, size);
}

static enum ibv_wc_status atomic(struct rdma *r, enum ibv_wr_opcode opcode,
				 const struct ibv_mr *local, uint64_t remote,
				 uint32_t rkey, uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge sge = { (uintptr_t)local->addr, sizeof(uint64_t), local->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.atomic = {
			.remote_addr = remote,
			.rkey = rkey,
			.compare_add = compare_add,
			.swap = swap,
		},
	};

	return complete(r, &wr);
}

enum ibv_wc_status rdma_add(struct rdma *r, const struct ibv_mr *local,
			    uint64_t remote, uint32_t rkey, uint64_t value)
{
	return atomic(r, IBV_WR_ATOMIC_FETCH_AND_ADD, local, remote, rkey, value, 0);
}

enum ibv_wc_status rdma_swap(struct rdma *r, const struct ibv_mr *local,
			     uint64_t remote, uint32_t rkey, uint64_t expected,
			     uint64_t value)
{
	return atomic(r, IBV_WR_ATOMIC_CMP_AND_SWP, local, remote, rkey, expected, value);
}
