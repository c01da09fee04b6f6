// SPDX-License-Identifier: GPL-2.0-only
/* Queues of vrnic as its provider and the device have them: limits, order, errors, events. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "sim.h"
#include "vrnic.h"

#define SIZE		(64 * KIB)
#define ENTRIES		16	/* of the queues that rdma_connect() makes */
#define COMPLETION_MS	10000

/* Sends go from the first half to the second. */
struct bench {
	struct rdma r;
	char *memory;
	struct ibv_mr *mr;
};

static void bench_begin(struct bench *b)
{
	sim_begin();
	rdma_open_device(&b->r, vrnic_device(0));
	b->memory = plain_memory(SIZE);
	b->mr = rdma_reg(&b->r, b->memory, SIZE);
	pattern_fill(b->memory, SIZE / 2, 71);
}

static void bench_end(struct bench *b)
{
	CHECK_EQ(ibv_dereg_mr(b->mr), 0);
	rdma_close(&b->r);
	munmap(b->memory, SIZE);
}

static char *target(const struct bench *b)
{
	return b->memory + SIZE / 2;
}

static struct ibv_sge sge_of(const struct bench *b, size_t offset, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)b->memory + offset, length, b->mr->lkey };
}

static struct ibv_wc take(const struct bench *b)
{
	int64_t end = test_now_ms() + COMPLETION_MS;
	struct ibv_wc wc;
	int count;

	while (!(count = ibv_poll_cq(b->r.cq, 1, &wc)))
		CHECK(test_now_ms() < end);
	CHECK_EQ(count, 1);
	return wc;
}

static void check_taken(const struct bench *b, uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc = take(b);

	CHECK_EQ(wc.wr_id, id);
	CHECK_EQ(wc.status, status);
}

static void check_none(const struct bench *b)
{
	struct ibv_wc wc;

	test_sleep_ms(200);
	CHECK_EQ(ibv_poll_cq(b->r.cq, 1, &wc), 0);
}

/* A write of 8 bytes. */
static int write_one(const struct bench *b, uint64_t id, unsigned int flags)
{
	struct ibv_sge sge = sge_of(b, 0, 8);
	struct ibv_send_wr *bad, wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = flags,
		.wr.rdma = { (uintptr_t)target(b), b->mr->rkey },
	};

	return ibv_post_send(b->r.near, &wr, &bad);
}

static int send_sges(const struct bench *b, struct ibv_sge *sges, int count)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.sg_list = sges,
		.num_sge = count,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = 0x12345678,
	};

	return ibv_post_send(b->r.near, &wr, &bad);
}

static int receive_sges(const struct bench *b, uint64_t id, struct ibv_sge *sges, int count)
{
	struct ibv_recv_wr *bad, wr = {
		.wr_id = id,
		.sg_list = sges,
		.num_sge = count,
	};

	return ibv_post_recv(b->r.far, &wr, &bad);
}

/* One at the target. */
static int receive_one(const struct bench *b, uint64_t id, uint32_t length)
{
	struct ibv_sge sge = sge_of(b, SIZE / 2, length);

	return receive_sges(b, id, &sge, 1);
}

static void change(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

/* Entries are free again when their completions were taken, no earlier. */
TEST(full, 30)
{
	struct bench b;

	bench_begin(&b);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < ENTRIES; i++)
			CHECK_EQ(write_one(&b, 100 + i, IBV_SEND_SIGNALED), 0);
		CHECK_EQ(write_one(&b, 0, IBV_SEND_SIGNALED), ENOMEM);
		check_taken(&b, 100, IBV_WC_SUCCESS);
		CHECK_EQ(write_one(&b, 200, IBV_SEND_SIGNALED), 0);
		CHECK_EQ(write_one(&b, 0, IBV_SEND_SIGNALED), ENOMEM);
		for (int i = 1; i < ENTRIES; i++)
			check_taken(&b, 100 + i, IBV_WC_SUCCESS);
		check_taken(&b, 200, IBV_WC_SUCCESS);
	}
	bench_end(&b);
}

TEST(full_receive, 30)
{
	struct bench b;

	bench_begin(&b);
	for (int i = 0; i < ENTRIES; i++)
		CHECK_EQ(receive_one(&b, i, 64), 0);
	CHECK_EQ(receive_one(&b, 0, 64), ENOMEM);
	bench_end(&b);
}

/* The completion of a later one frees them. */
TEST(unsignaled, 30)
{
	struct bench b;

	bench_begin(&b);
	for (int round = 0; round < 50; round++) {
		for (int i = 1; i < ENTRIES; i++)
			CHECK_EQ(write_one(&b, 0, 0), 0);
		CHECK_EQ(write_one(&b, round, IBV_SEND_SIGNALED), 0);
		CHECK_EQ(write_one(&b, 0, 0), ENOMEM);
		check_taken(&b, round, IBV_WC_SUCCESS);
	}
	check_none(&b);
	bench_end(&b);
}

/* A list is posted up to the first that cannot be. */
TEST(list, 30)
{
	struct ibv_send_wr wr[3] = {}, *bad;
	struct ibv_sge sge;
	struct bench b;

	bench_begin(&b);
	sge = sge_of(&b, 0, 8);
	for (int i = 0; i < 3; i++)
		wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i < 2 ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = i == 1 ? IBV_WR_BIND_MW : IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)target(&b), b.mr->rkey },
		};
	CHECK_EQ(ibv_post_send(b.r.near, wr, &bad), EINVAL);
	CHECK(bad == &wr[1]);
	check_taken(&b, 0, IBV_WC_SUCCESS);
	check_none(&b);
	bench_end(&b);
}

/* Data that is inline may be changed as soon as it is posted. */
TEST(inline_data, 30)
{
	char bytes[65];
	struct ibv_sge sges[2] = {
		{ (uintptr_t)bytes, 40, 0 },
		{ (uintptr_t)bytes + 40, 24, 0 },
	};
	struct bench b;
	struct ibv_send_wr *bad, wr = {
		.sg_list = sges,
		.num_sge = 2,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	};

	bench_begin(&b);
	wr.wr.rdma.remote_addr = (uintptr_t)target(&b);
	wr.wr.rdma.rkey = b.mr->rkey;
	pattern_fill(bytes, 64, 72);
	CHECK_EQ(ibv_post_send(b.r.near, &wr, &bad), 0);
	memset(bytes, 0, sizeof(bytes));
	check_taken(&b, 0, IBV_WC_SUCCESS);
	CHECK(pattern_is(target(&b), 64, 72));
	sges[1].length = 25;
	CHECK_EQ(ibv_post_send(b.r.near, &wr, &bad), ENOMEM);
	sges[1].length = 24;
	wr.opcode = IBV_WR_RDMA_READ;
	CHECK_EQ(ibv_post_send(b.r.near, &wr, &bad), EINVAL);
	check_none(&b);
	bench_end(&b);
}

/* Pieces of odd sizes are one message; the receiver's are others. */
TEST(pieces, 30)
{
	struct ibv_sge from[4], to[4], many[5] = {};
	struct ibv_wc wc;
	struct bench b;

	bench_begin(&b);
	for (int i = 0; i < 4; i++) {
		from[i] = sge_of(&b, i * 1001, 1001);
		to[i] = sge_of(&b, SIZE / 2 + i * 1500, 1500);
	}
	CHECK_EQ(receive_sges(&b, 2, to, 4), 0);
	CHECK_EQ(send_sges(&b, from, 4), 0);
	for (int i = 0; i < 2; i++) {
		wc = take(&b);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id == 1) {
			CHECK_EQ(wc.opcode, IBV_WC_SEND);
			continue;
		}
		CHECK_EQ(wc.wr_id, 2);
		CHECK_EQ(wc.opcode, IBV_WC_RECV);
		CHECK_EQ(wc.byte_len, 4004);
		CHECK_EQ(wc.qp_num, b.r.far->qp_num);
		CHECK(wc.wc_flags & IBV_WC_WITH_IMM);
		CHECK_EQ(wc.imm_data, 0x12345678);
	}
	CHECK(!memcmp(target(&b), b.memory, 4004));
	CHECK(all_zero(target(&b) + 4008, 1024));
	CHECK_EQ(send_sges(&b, many, 5), EINVAL);
	CHECK_EQ(receive_sges(&b, 0, many, 5), EINVAL);
	bench_end(&b);
}

TEST(write_with_immediate, 30)
{
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct bench b;
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = 0x87654321,
	};

	bench_begin(&b);
	sge = sge_of(&b, 0, 4096);
	wr.wr.rdma.remote_addr = (uintptr_t)target(&b) + 8192;
	wr.wr.rdma.rkey = b.mr->rkey;
	CHECK_EQ(receive_one(&b, 3, 64), 0);
	CHECK_EQ(ibv_post_send(b.r.near, &wr, &bad), 0);
	wc = take(&b);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, 3);
	CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQ(wc.byte_len, 4096);
	CHECK_EQ(wc.imm_data, 0x87654321);
	CHECK(!memcmp(target(&b) + 8192, b.memory, 4096));
	CHECK(all_zero(target(&b), 64));
	bench_end(&b);
}

/* Whoever comes first waits for the other. */
TEST(receiver_not_ready, 30)
{
	struct ibv_sge sge;
	struct bench b;

	bench_begin(&b);
	sge = sge_of(&b, 0, 64);
	CHECK_EQ(send_sges(&b, &sge, 1), 0);
	check_none(&b);
	CHECK_EQ(receive_one(&b, 2, 64), 0);
	CHECK_EQ(take(&b).status, IBV_WC_SUCCESS);
	CHECK_EQ(take(&b).status, IBV_WC_SUCCESS);
	CHECK(!memcmp(target(&b), b.memory, 64));
	bench_end(&b);
}

/* The receive that is too small fails, what waits behind it is flushed in order. */
TEST(receive_too_small, 30)
{
	bool sent = false;
	uint64_t next = 10;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct bench b;

	bench_begin(&b);
	for (int i = 10; i < 14; i++)
		CHECK_EQ(receive_one(&b, i, 64), 0);
	sge = sge_of(&b, 0, 65);
	CHECK_EQ(send_sges(&b, &sge, 1), 0);
	for (int i = 0; i < 5; i++) {
		wc = take(&b);
		if (wc.wr_id == 1) {
			CHECK_EQ(wc.status, IBV_WC_REM_INV_REQ_ERR);
			sent = true;
			continue;
		}
		CHECK_EQ(wc.wr_id, next);
		CHECK_EQ(wc.status, next == 10 ? IBV_WC_LOC_LEN_ERR : IBV_WC_WR_FLUSH_ERR);
		next++;
	}
	CHECK(sent);
	bench_end(&b);
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

/* An error ends all that is posted, and all that is posted later. */
TEST(flush, 30)
{
	struct bench b;

	bench_begin(&b);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(receive_one(&b, i, 64), 0);
	change(b.r.far, IBV_QPS_ERR);
	for (int i = 0; i < 3; i++)
		check_taken(&b, i, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(receive_one(&b, 7, 64), 0);
	check_taken(&b, 7, IBV_WC_WR_FLUSH_ERR);
	change(b.r.near, IBV_QPS_ERR);
	CHECK_EQ(write_one(&b, 8, 0), 0);
	check_taken(&b, 8, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(state_of(b.r.near), IBV_QPS_ERR);
	bench_end(&b);
}

/* What a QP completed before it was reset or destroyed is not seen any more. */
TEST(left_behind, 30)
{
	struct bench b;

	bench_begin(&b);
	CHECK_EQ(write_one(&b, 1, IBV_SEND_SIGNALED), 0);
	CHECK_EQ(receive_one(&b, 2, 64), 0);
	test_sleep_ms(200);
	change(b.r.near, IBV_QPS_RESET);
	change(b.r.far, IBV_QPS_ERR);
	check_taken(&b, 2, IBV_WC_WR_FLUSH_ERR);
	check_none(&b);
	CHECK_EQ(write_one(&b, 3, 0), EINVAL);
	CHECK_EQ(state_of(b.r.near), IBV_QPS_RESET);
	rdma_connect(&b.r);
	CHECK_EQ(write_one(&b, 4, IBV_SEND_SIGNALED), 0);
	test_sleep_ms(200);
	rdma_connect(&b.r);
	check_none(&b);
	CHECK_EQ(write_one(&b, 5, IBV_SEND_SIGNALED), 0);
	check_taken(&b, 5, IBV_WC_SUCCESS);
	bench_end(&b);
}

/* Nothing of what was posted before is left, in queues or CQ. */
TEST(reset_and_used_again, 30)
{
	struct bench b;

	bench_begin(&b);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(write_one(&b, 100 + i, IBV_SEND_SIGNALED), 0);
	CHECK_EQ(receive_one(&b, 200, 64), 0);
	check_taken(&b, 100, IBV_WC_SUCCESS);
	rdma_connect_again(&b.r);
	check_none(&b);
	for (int i = 0; i < ENTRIES; i++)
		CHECK_EQ(write_one(&b, i, IBV_SEND_SIGNALED), 0);
	CHECK_EQ(write_one(&b, 0, 0), ENOMEM);
	for (int i = 0; i < ENTRIES; i++)
		check_taken(&b, i, IBV_WC_SUCCESS);
	for (int i = 0; i < ENTRIES; i++)
		CHECK_EQ(receive_one(&b, i, 64), 0);
	CHECK_EQ(receive_one(&b, 0, 64), ENOMEM);
	bench_end(&b);
}

/* A CQ of its own in place of the bench's. */
static void use_cq(struct bench *b, int entries, struct ibv_comp_channel *channel)
{
	CHECK_EQ(ibv_destroy_qp(b->r.near), 0);
	CHECK_EQ(ibv_destroy_qp(b->r.far), 0);
	CHECK_EQ(ibv_destroy_cq(b->r.cq), 0);
	b->r.near = NULL;
	b->r.cq = ibv_create_cq(b->r.context, entries, NULL, channel, 0);
	CHECK(b->r.cq);
	rdma_connect(&b->r);
}

static bool readable(int fd, int milliseconds)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	return poll(&ready, 1, milliseconds) == 1;
}

static void take_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	CHECK(readable(channel->fd, COMPLETION_MS));
	CHECK_EQ(ibv_get_cq_event(channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
}

/* One event for each time that it is asked for, also for what came before, but never two for one. */
TEST(completion_event, 30)
{
	struct ibv_comp_channel *channel;
	struct bench b;

	bench_begin(&b);
	channel = ibv_create_comp_channel(b.r.context);
	CHECK(channel);
	use_cq(&b, 64, channel);
	CHECK_EQ(write_one(&b, 1, IBV_SEND_SIGNALED), 0);
	CHECK(!readable(channel->fd, 300));
	CHECK_EQ(ibv_req_notify_cq(b.r.cq, 0), 0);
	take_event(channel);
	CHECK_EQ(ibv_req_notify_cq(b.r.cq, 0), 0);
	CHECK(!readable(channel->fd, 300));
	check_taken(&b, 1, IBV_WC_SUCCESS);
	CHECK_EQ(write_one(&b, 2, IBV_SEND_SIGNALED), 0);
	take_event(channel);
	check_taken(&b, 2, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_req_notify_cq(b.r.cq, 0), 0);
	CHECK(!readable(channel->fd, 300));
	CHECK_EQ(write_one(&b, 3, IBV_SEND_SIGNALED), 0);
	take_event(channel);
	CHECK(!readable(channel->fd, 300));
	bench_end(&b);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

static void send_solicited(const struct bench *b, unsigned int flags)
{
	struct ibv_sge sge = sge_of(b, 0, 8);
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	};

	CHECK_EQ(receive_one(b, 9, 64), 0);
	CHECK_EQ(ibv_post_send(b->r.near, &wr, &bad), 0);
	check_taken(b, 9, IBV_WC_SUCCESS);
}

TEST(solicited_event, 30)
{
	struct ibv_comp_channel *channel;
	struct bench b;

	bench_begin(&b);
	channel = ibv_create_comp_channel(b.r.context);
	CHECK(channel);
	use_cq(&b, 64, channel);
	CHECK_EQ(ibv_req_notify_cq(b.r.cq, 1), 0);
	send_solicited(&b, 0);
	CHECK(!readable(channel->fd, 300));
	send_solicited(&b, IBV_SEND_SOLICITED);
	take_event(channel);
	bench_end(&b);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
}

static struct ibv_async_event take_async(const struct bench *b)
{
	struct ibv_async_event event;

	CHECK(readable(b->r.context->async_fd, COMPLETION_MS));
	CHECK_EQ(ibv_get_async_event(b->r.context, &event), 0);
	return event;
}

TEST(access_event, 30)
{
	struct ibv_async_event event;
	struct bench b;

	bench_begin(&b);
	CHECK_EQ(rdma_write(&b.r, b.mr, (uintptr_t)target(&b), b.mr->rkey ^ 1, 8),
		 IBV_WC_REM_ACCESS_ERR);
	event = take_async(&b);
	CHECK_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	CHECK(event.element.qp == b.r.far);
	ibv_ack_async_event(&event);
	bench_end(&b);
}

/* A CQ without room loses completions, and tells. */
TEST(overrun, 30)
{
	struct ibv_async_event event;
	bool cq_told = false;
	struct bench b;

	bench_begin(&b);
	use_cq(&b, 4, NULL);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(write_one(&b, i, IBV_SEND_SIGNALED), 0);
	CHECK(!readable(b.r.context->async_fd, 300));
	CHECK_EQ(write_one(&b, 4, IBV_SEND_SIGNALED), 0);
	while (!cq_told) {
		event = take_async(&b);
		cq_told = event.event_type == IBV_EVENT_CQ_ERR;
		CHECK(cq_told ? event.element.cq == b.r.cq : event.element.qp == b.r.near);
		ibv_ack_async_event(&event);
	}
	bench_end(&b);
}

#define THREADS	4
#define WRITES	300

struct crowd {
	const struct bench *b;
	atomic_int done[THREADS];
	atomic_int next;
};

static void take_any(struct crowd *crowd)
{
	struct ibv_wc wc;
	int count = ibv_poll_cq(crowd->b->r.cq, 1, &wc);

	CHECK(count >= 0);
	if (!count)
		return;
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK(wc.wr_id < THREADS);
	atomic_fetch_add(&crowd->done[wc.wr_id], 1);
}

static void *run_thread(void *arg)
{
	struct crowd *crowd = arg;
	int own = atomic_fetch_add(&crowd->next, 1), posted = 0;

	while (atomic_load(&crowd->done[own]) < WRITES) {
		int error = posted < WRITES ? write_one(crowd->b, own, IBV_SEND_SIGNALED) : ENOMEM;

		CHECK(!error || error == ENOMEM);
		posted += !error;
		take_any(crowd);
	}
	return NULL;
}

/* All of them use one QP and one CQ. */
TEST(threads, 60)
{
	pthread_t threads[THREADS];
	struct crowd crowd = {};
	struct bench b;

	bench_begin(&b);
	crowd.b = &b;
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, run_thread, &crowd), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(crowd.done[i], WRITES);
	check_none(&b);
	bench_end(&b);
}

TEST(refused_sizes, 30)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct bench b;

	bench_begin(&b);
	init.send_cq = b.r.cq;
	init.recv_cq = b.r.cq;
	init.cap = (struct ibv_qp_cap){ 1, 1, 5, 1, 0 };
	CHECK(!ibv_create_qp(b.r.pd, &init));
	init.cap = (struct ibv_qp_cap){ 1, 1, 1, 1, 65 };
	CHECK(!ibv_create_qp(b.r.pd, &init));
	init.cap = (struct ibv_qp_cap){ 1 << 20, 1, 1, 1, 0 };
	CHECK(!ibv_create_qp(b.r.pd, &init));
	init.cap = (struct ibv_qp_cap){ 1, 1, 1, 1, 0 };
	init.qp_type = IBV_QPT_UC;
	CHECK(!ibv_create_qp(b.r.pd, &init));
	CHECK(!ibv_create_cq(b.r.context, 1 << 20, NULL, NULL, 0));
	bench_end(&b);
}
