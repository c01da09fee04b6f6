// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. What is taken away while work is under way. */
#include "test_vrnic.h"

static unsigned int hook_count;

void test_reset_and_again(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);

	pair_receive(&bench->qb, 1, &bench->to, 0, 64);
	CHECK(pair_state(&bench->qa, VRNIC_QPS_ERROR) == VRNIC_OK);
	CHECK(pair_state(&bench->qb, VRNIC_QPS_ERROR) == VRNIC_OK);
	CHECK(queue_status(&bench->b_receive) == VRNIC_WC_FLUSHED);
	CHECK(pair_state(&bench->qa, VRNIC_QPS_RESET) == VRNIC_OK);
	CHECK(pair_state(&bench->qb, VRNIC_QPS_RESET) == VRNIC_OK);
	pair_connect(&bench->qa, machine_lid(&bench->b), 5);
	pair_connect(&bench->qb, machine_lid(&bench->a), 3);
	pair_receive(&bench->qb, 2, &bench->to, 0, 64);
	bench_post(bench, wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 64));
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(queue_status(&bench->b_receive) == VRNIC_WC_OK);
	bench_free(bench);
}

void test_destroy_with_work(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr =
		wr_remote(VRNIC_WR_WRITE, 1, &bench->from, BENCH_SIZE, &bench->to, 0);
	unsigned int i;

	for (i = 0; i < 8; i++)
		pair_post(&bench->qa, &wr);
	CHECK(number_command(&bench->a, VRNIC_CMD_DESTROY_QP, 3) == VRNIC_OK);
	rig_run_for(1000000);
	wr = wr_remote(VRNIC_WR_READ, 1, &bench->to, BENCH_SIZE, &bench->from, 0);
	pair_post(&bench->qb, &wr);
	CHECK(number_command(&bench->b, VRNIC_CMD_DESTROY_QP, 5) == VRNIC_OK);
	CHECK(number_command(&bench->b, VRNIC_CMD_DESTROY_CQ, 1) == VRNIC_OK);
	rig_run_for(1000000);
	bench_free(bench);
}

static void reset_in_dma(struct machine *machine)
{
	if (machine->dma_count == hook_count)
		vrnic_device.write(&machine->function, 0, VRNIC_REG_RESET, 4, 1);
}

/* A reset comes at each access in turn, and none follows it. */
void test_reset_in_dma(void)
{
	unsigned int at;

	for (at = 1; at < 60; at++) {
		struct bench *bench = bench_new(VRNIC_QP_RC);
		struct vrnic_send_wr wr =
			wr_remote(VRNIC_WR_WRITE, 1, &bench->from, BENCH_SIZE, &bench->to, 0);
		struct machine *machine = at % 2 ? &bench->a : &bench->b;

		machine->dma_count = 0;
		machine->during_dma = reset_in_dma;
		hook_count = at;
		pair_post(&bench->qa, &wr);
		wr.opcode = VRNIC_WR_READ;
		pair_post(&bench->qa, &wr);
		rig_run_for(1000);
		CHECK(machine->dma_count == at || machine->dma_count < hook_count);
		bench_free(bench);
	}
}
