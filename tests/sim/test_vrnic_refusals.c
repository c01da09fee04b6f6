// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. Work that fails, what it leaves alone, and what becomes of the rest. */
#include "test_vrnic.h"

/* One work request that must fail so, and touch nothing. */
static void refused(struct vrnic_send_wr wr, struct bench *bench, int expected)
{
	uint8_t *copy = malloc(BENCH_SIZE);

	memcpy(copy, bench->to.bytes, BENCH_SIZE);
	bench_post(bench, wr);
	rig_run_for(3000000);
	CHECK(queue_status(&bench->a_send) == expected);
	CHECK(pair_failed(&bench->qa));
	CHECK(!memcmp(copy, bench->to.bytes, BENCH_SIZE));
	free(copy);
	bench_free(bench);
}

void test_remote_refusals(void)
{
	static const unsigned int opcodes[] = { VRNIC_WR_WRITE, VRNIC_WR_READ, VRNIC_WR_FETCH_ADD };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		uint32_t length = opcodes[i] == VRNIC_WR_FETCH_ADD ? 8 : 200000;
		struct bench *bench = bench_new(VRNIC_QP_RC);
		struct vrnic_send_wr wr =
			wr_remote(opcodes[i], 1, &bench->from, length, &bench->to, 0);
		uint32_t number;

		wr.remote_key ^= 1;
		bench_post(bench, wr);
		CHECK(machine_event_of(&bench->b, 0, VRNIC_EVENT_QP_ACCESS, &number));
		CHECK(number == 5);
		CHECK(queue_status(&bench->a_send) == VRNIC_WC_REMOTE_ACCESS);
		bench_free(bench);

		bench = bench_new(VRNIC_QP_RC);
		wr = wr_remote(opcodes[i], 1, &bench->from, length, &bench->to,
			       BENCH_SIZE - length + 8);
		refused(wr, bench, VRNIC_WC_REMOTE_ACCESS);

		bench = bench_new(VRNIC_QP_RC);
		wr = wr_remote(opcodes[i], 1, &bench->from, length, &bench->to, 0);
		wr.remote_address = UINT64_MAX - 7;
		refused(wr, bench, VRNIC_WC_REMOTE_ACCESS);
	}
}

void test_remote_rights(void)
{
	static const struct {
		unsigned int opcode, right;
	} cases[] = {
		{ VRNIC_WR_WRITE, VRNIC_REMOTE_WRITE },
		{ VRNIC_WR_READ, VRNIC_REMOTE_READ },
		{ VRNIC_WR_COMPARE_SWAP, VRNIC_REMOTE_ATOMIC },
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct vrnic_cmd_modify_qp cmd = { .head.opcode = VRNIC_CMD_MODIFY_QP, .qp = 5,
						   .mask = VRNIC_QP_ACCESS,
						   .access = ALL & ~cases[i].right };
		struct bench *bench = bench_new(VRNIC_QP_RC);
		struct buffer less;

		/* The MR does not give it. */
		buffer_make(&bench->b, &less, 10, BENCH_SIZE, ALL & ~cases[i].right);
		refused(wr_remote(cases[i].opcode, 1, &bench->from, 8, &less, 0), bench,
			VRNIC_WC_REMOTE_ACCESS);
		/* The QP does not. */
		bench = bench_new(VRNIC_QP_RC);
		CHECK(machine_command(&bench->b, &cmd, sizeof(cmd)) == VRNIC_OK);
		refused(wr_remote(cases[i].opcode, 1, &bench->from, 8, &bench->to, 0), bench,
			VRNIC_WC_REMOTE_ACCESS);
	}
}

void test_domains(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_cmd_create_mr cmd = { .head.opcode = VRNIC_CMD_CREATE_MR, .key = 20 << 8,
					   .pd = RIG_PD + 1, .access = ALL, .length = 4096 };
	struct buffer foreign = { .machine = &bench->b, .key = cmd.key, .length = 4096,
				  .iova = bench->to.iova };

	CHECK(machine_command(&bench->b, &cmd, sizeof(cmd)) == VRNIC_OK);
	CHECK(buffer_map(&foreign) == VRNIC_OK);
	refused(wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 8, &foreign, 0), bench,
		VRNIC_WC_REMOTE_ACCESS);
}

void test_local_refusals(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 64, &bench->to, 0);
	struct buffer less;

	wr.sge[0].key ^= 0x100;
	refused(wr, bench, VRNIC_WC_LOCAL_PROTECTION);
	bench = bench_new(VRNIC_QP_RC);
	wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, BENCH_SIZE, &bench->to, 0);
	wr.sge[0].length = BENCH_SIZE + 1;
	refused(wr, bench, VRNIC_WC_LOCAL_PROTECTION);
	bench = bench_new(VRNIC_QP_RC);
	buffer_make(&bench->a, &less, 30, 4096, 0);
	refused(wr_remote(VRNIC_WR_READ, 1, &less, 64, &bench->to, 0), bench,
		VRNIC_WC_LOCAL_PROTECTION);
	bench = bench_new(VRNIC_QP_RC);
	wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 64, &bench->to, 0);
	wr.sges = 5;
	refused(wr, bench, VRNIC_WC_LOCAL_QP);
	bench = bench_new(VRNIC_QP_RC);
	wr = wr_remote(200, 1, &bench->from, 64, &bench->to, 0);
	refused(wr, bench, VRNIC_WC_LOCAL_QP);
	bench = bench_new(VRNIC_QP_RC);
	wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 64, &bench->to, 0);
	wr.sges = 4;
	wr.sge[3].length = UINT32_MAX;
	refused(wr, bench, VRNIC_WC_LOCAL_LENGTH);
	bench = bench_new(VRNIC_QP_RC);
	wr = wr_remote(VRNIC_WR_FETCH_ADD, 1, &bench->from, 16, &bench->to, 0);
	refused(wr, bench, VRNIC_WC_LOCAL_LENGTH);
	bench = bench_new(VRNIC_QP_RC);
	bench->a.fails_from = bench->from.iova;
	bench->a.fails_to = bench->from.iova + 64;
	refused(wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 64, &bench->to, 0), bench,
		VRNIC_WC_LOCAL_QP);
	bench = bench_new(VRNIC_QP_RC);
	bench->b.fails_from = bench->to.iova;
	bench->b.fails_to = bench->to.iova + 64;
	refused(wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 64, &bench->to, 0), bench,
		VRNIC_WC_REMOTE_OPERATION);
	bench = bench_new(VRNIC_QP_RC);
	bench->b.fails_from = bench->to.iova + 400000;
	bench->b.fails_to = bench->to.iova + 400064;
	refused(wr_remote(VRNIC_WR_READ, 1, &bench->from, BENCH_SIZE, &bench->to, 0), bench,
		VRNIC_WC_REMOTE_OPERATION);
}

void test_receive_refusals(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct buffer less;

	pair_receive(&bench->qb, 1, &bench->to, 0, 63);
	bench_post(bench, wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 64));
	CHECK(queue_status(&bench->b_receive) == VRNIC_WC_LOCAL_LENGTH);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_REMOTE_REQUEST);
	CHECK(pair_failed(&bench->qb));
	bench_free(bench);
	bench = bench_new(VRNIC_QP_RC);
	buffer_make(&bench->b, &less, 10, 4096, 0);
	pair_receive(&bench->qb, 1, &less, 0, 64);
	bench_post(bench, wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 64));
	CHECK(queue_status(&bench->b_receive) == VRNIC_WC_LOCAL_PROTECTION);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_REMOTE_OPERATION);
	bench_free(bench);
}

void test_flush(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_completion completion;
	struct vrnic_send_wr wr;
	unsigned int i;

	for (i = 0; i < 20; i++)
		pair_receive(&bench->qa, 50 + i, &bench->from, 0, 64);
	for (i = 0; i < 30; i++) {
		wr = wr_remote(VRNIC_WR_WRITE, i, &bench->from, 1000, &bench->to, 0);
		if (i == 10)
			wr.sge[0].key = 0;
		if (i == 12)
			wr.flags = 0;
		pair_post(&bench->qa, &wr);
	}
	rig_run();
	for (i = 0; i < 30; i++) {
		CHECK(queue_poll(&bench->a_send, &completion) && completion.id == i);
		CHECK(completion.status == (i < 10 ? VRNIC_WC_OK :
					    i == 10 ? VRNIC_WC_LOCAL_PROTECTION :
						      VRNIC_WC_FLUSHED));
	}
	CHECK(queue_status(&bench->a_send) == -1);
	for (i = 0; i < 20; i++) {
		CHECK(queue_poll(&bench->a_receive, &completion));
		CHECK(completion.id == 50 + i && completion.status == VRNIC_WC_FLUSHED);
	}
	/* What is posted in ERROR is flushed too. */
	wr.id = 77;
	bench_post(bench, wr);
	CHECK(queue_poll(&bench->a_send, &completion) && completion.id == 77);
	CHECK(completion.status == VRNIC_WC_FLUSHED);
	bench_free(bench);
}
