// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. Work that waits: for receives, for the peer, for memory. */
#include "loop.h"
#include "test_vrnic.h"

void test_rnr(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);

	bench_post(bench, wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 200000));
	CHECK(queue_status(&bench->a_send) == -1);
	pair_receive(&bench->qb, 1, &bench->to, 0, BENCH_SIZE);
	rig_run_for(10000);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, 200000));
	/* Without a receive the retries end. */
	bench_post(bench, wr_of(VRNIC_WR_SEND, 2, &bench->from, 0, 8));
	rig_run_for(1000000);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_RNR_RETRIES);
	CHECK(pair_failed(&bench->qa) && !pair_failed(&bench->qb));
	bench_free(bench);
}

void test_retries(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint64_t before;

	/* A function without memory hears nothing. */
	bench->b.not_master = true;
	before = loop_now();
	bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 8, &bench->to, 0));
	rig_run_for(150000);
	CHECK(queue_status(&bench->a_send) == -1);
	bench->b.not_master = false;
	rig_run_for(150000);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	bench->b.not_master = true;
	bench_post(bench, wr_remote(VRNIC_WR_READ, 2, &bench->from, BENCH_SIZE, &bench->to, 0));
	rig_run_for(2000000);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_RETRIES);
	CHECK(loop_now() - before > 400000);
	bench_free(bench);
}

void test_nobody(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_cmd_modify_qp cmd = { .head.opcode = VRNIC_CMD_MODIFY_QP, .qp = 3,
					   .mask = VRNIC_QP_PATH | VRNIC_QP_TIMEOUT,
					   .destination_lid = 0x4000 };

	CHECK(machine_command(&bench->a, &cmd, sizeof(cmd)) == VRNIC_OK);
	bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, BENCH_SIZE, &bench->to, 0));
	rig_run_for(3000000);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_RETRIES);
	bench_free(bench);
}

void test_page_request_remote(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint32_t key;

	CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
	bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, BENCH_SIZE, &bench->to, 0));
	CHECK(machine_event_of(&bench->b, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	CHECK(key == bench->to.key);
	rig_run_for(1000000);
	CHECK(queue_status(&bench->a_send) == -1);
	CHECK(!machine_event_of(&bench->b, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	CHECK(buffer_map(&bench->to) == VRNIC_OK);
	rig_run_for(100000);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, BENCH_SIZE));
	CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
	bench_post(bench, wr_remote(VRNIC_WR_READ, 2, &bench->from, BENCH_SIZE, &bench->to, 0));
	CHECK(machine_event_of(&bench->b, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	CHECK(buffer_map(&bench->to) == VRNIC_OK);
	rig_run_for(100000);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
	bench_post(bench, wr_remote(VRNIC_WR_FETCH_ADD, 2, &bench->from, 8, &bench->to, 0));
	CHECK(number_command(&bench->b, VRNIC_CMD_FAIL_MR, bench->to.key) == VRNIC_OK);
	rig_run_for(100000);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_REMOTE_OPERATION);
	bench_free(bench);
}

void test_page_request_local(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint32_t key;

	CHECK(buffer_unmap(&bench->from) == VRNIC_OK);
	bench_post(bench, wr_remote(VRNIC_WR_READ, 1, &bench->from, 200000, &bench->to, 0));
	CHECK(machine_event_of(&bench->a, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	CHECK(key == bench->from.key);
	rig_run_for(50000);
	CHECK(queue_status(&bench->a_send) == -1);
	CHECK(buffer_map(&bench->from) == VRNIC_OK);
	rig_run_for(50000);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	/* Nobody answers. */
	CHECK(buffer_unmap(&bench->from) == VRNIC_OK);
	bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 200000, &bench->to, 0));
	rig_run_for(1900000);
	CHECK(queue_status(&bench->a_send) == -1);
	rig_run_for(200000);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_LOCAL_PROTECTION);
	bench_free(bench);
}

void test_page_request_receive(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint32_t key;

	CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
	pair_receive(&bench->qb, 1, &bench->to, 0, BENCH_SIZE);
	bench_post(bench, wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, BENCH_SIZE));
	CHECK(machine_event_of(&bench->b, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	CHECK(buffer_map(&bench->to) == VRNIC_OK);
	rig_run_for(50000);
	CHECK(queue_status(&bench->b_receive) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, BENCH_SIZE));
	CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
	pair_receive(&bench->qb, 2, &bench->to, 0, BENCH_SIZE);
	bench_post(bench, wr_of(VRNIC_WR_SEND, 2, &bench->from, 0, BENCH_SIZE));
	rig_run_for(2500000);
	CHECK(queue_status(&bench->b_receive) == VRNIC_WC_LOCAL_PROTECTION);
	bench_free(bench);
}

/* The MR goes between two accesses of a message, as a command between two turns may do. */
void test_unmap_midway(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr =
		wr_remote(VRNIC_WR_WRITE, 1, &bench->from, BENCH_SIZE, &bench->to, 0);
	unsigned int i;

	for (i = 0; i < 4; i++) {
		pair_post(&bench->qa, &wr);
		wr.opcode = wr.opcode == VRNIC_WR_READ ? VRNIC_WR_WRITE : VRNIC_WR_READ;
	}
	for (i = 0; i < 30; i++) {
		CHECK(buffer_unmap(i % 2 ? &bench->to : &bench->from) == VRNIC_OK);
		rig_run_for(300);
		CHECK(buffer_map(i % 2 ? &bench->to : &bench->from) == VRNIC_OK);
	}
	rig_run_for(1000000);
	for (i = 0; i < 4; i++)
		CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, BENCH_SIZE));
	bench_free(bench);
}
