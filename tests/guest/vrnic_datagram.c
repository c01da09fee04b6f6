// SPDX-License-Identifier: GPL-2.0-only
/* Datagrams of vrnic: what a receiver is told of them, and which do not arrive. */
#include <sys/mman.h>

#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "sim.h"
#include "vrnic.h"

#define SIZE		(64 * KIB)
#define GRH		40
#define LONGEST		4096
#define QKEY		0x11223344
#define POISON		0xee
#define COMPLETION_MS	10000

/* From the first half of the memory to the second. */
struct bench {
	struct rdma r;
	struct ibv_qp *near, *far;
	struct ibv_ah *ah;
	unsigned char *memory;
	struct ibv_mr *mr;
};

static struct ibv_qp *make_qp(struct bench *b)
{
	struct ibv_qp_init_attr init = {
		.send_cq = b->r.cq,
		.recv_cq = b->r.cq,
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_qp *qp = ibv_create_qp(b->r.pd, &init);

	CHECK(qp);
	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_QKEY), 0);
	attr.qp_state = IBV_QPS_RTR;
	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	return qp;
}

static void bench_begin(struct bench *b)
{
	struct ibv_ah_attr attr = { .port_num = 1 };

	sim_begin();
	rdma_open_device(&b->r, vrnic_device(0));
	b->near = make_qp(b);
	b->far = make_qp(b);
	attr.dlid = b->r.lid;
	b->ah = ibv_create_ah(b->r.pd, &attr);
	CHECK(b->ah);
	b->memory = plain_memory(SIZE);
	b->mr = rdma_reg(&b->r, b->memory, SIZE);
	pattern_fill(b->memory, SIZE / 2, 81);
	memset(b->memory + SIZE / 2, POISON, SIZE / 2);
}

static void bench_end(struct bench *b)
{
	CHECK_EQ(ibv_destroy_ah(b->ah), 0);
	CHECK_EQ(ibv_destroy_qp(b->near), 0);
	CHECK_EQ(ibv_destroy_qp(b->far), 0);
	CHECK_EQ(ibv_dereg_mr(b->mr), 0);
	rdma_close(&b->r);
	munmap(b->memory, SIZE);
}

static struct ibv_wc take(struct bench *b)
{
	int64_t end = test_now_ms() + COMPLETION_MS;
	struct ibv_wc wc;

	while (!ibv_poll_cq(b->r.cq, 1, &wc))
		CHECK(test_now_ms() < end);
	return wc;
}

static void receive(struct bench *b, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)b->memory + SIZE / 2, length, b->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 };

	CHECK_EQ(ibv_post_recv(b->far, &wr, &bad), 0);
}

/* It is sent, whoever takes it. */
static void transmit(struct bench *b, uint32_t length, uint32_t qkey)
{
	struct ibv_sge sge = { (uintptr_t)b->memory, length, b->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = 0x12345678,
		.wr.ud = { b->ah, b->far->qp_num, qkey },
	};
	struct ibv_wc wc;

	CHECK_EQ(ibv_post_send(b->near, &wr, &bad), 0);
	wc = take(b);
	CHECK_EQ(wc.wr_id, 1);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
}

static void check_received(struct bench *b, uint32_t length)
{
	unsigned char *target = b->memory + SIZE / 2;
	struct ibv_wc wc = take(b);

	CHECK_EQ(wc.wr_id, 2);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.byte_len, GRH + length);
	/* There is place for a global route header, but no such header: LIDs do. */
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_IMM);
	CHECK_EQ(wc.imm_data, 0x12345678);
	CHECK_EQ(wc.src_qp, b->near->qp_num);
	CHECK_EQ(wc.slid, b->r.lid);
	CHECK(!memcmp(target + GRH, b->memory, length));
	CHECK_EQ(target[GRH + length], POISON);
}

static void check_nothing(struct bench *b)
{
	struct ibv_wc wc;

	test_sleep_ms(200);
	CHECK_EQ(ibv_poll_cq(b->r.cq, 1, &wc), 0);
	for (size_t i = SIZE / 2; i < SIZE; i++)
		CHECK_EQ(b->memory[i], POISON);
}

TEST(received, 30)
{
	struct bench b;

	bench_begin(&b);
	receive(&b, SIZE / 2);
	transmit(&b, LONGEST, QKEY);
	check_received(&b, LONGEST);
	receive(&b, GRH);
	transmit(&b, 0, QKEY);
	CHECK_EQ(take(&b).byte_len, GRH);
	bench_end(&b);
}

/* The receive is there for the next one. */
TEST(dropped, 30)
{
	struct bench b;

	bench_begin(&b);
	transmit(&b, 64, QKEY);
	check_nothing(&b);
	receive(&b, GRH + 64);
	transmit(&b, 64, QKEY ^ 1);
	check_nothing(&b);
	transmit(&b, 65, QKEY);
	check_nothing(&b);
	transmit(&b, 64, QKEY);
	check_received(&b, 64);
	bench_end(&b);
}
