// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. Each allocation in turn fails. */
#include "test_memory.h"
#include "test_vrnic.h"

static unsigned int starve;

/* The command is refused as often as memory lacks somewhere, and done then. */
static void check_command(struct machine *machine, const void *cmd, size_t length)
{
	uint8_t copy[256];
	unsigned int at = 0, status;

	do {
		memcpy(copy, cmd, length);
		starve = ++at;
		status = machine_command(machine, copy, length);
		CHECK((status == VRNIC_OK) == !!starve);
	} while (!starve);
	CHECK(at > 1);
	starve = 0;
}

static void check_commands(void)
{
	struct vrnic_cmd_eq eq = { .head.opcode = VRNIC_CMD_CREATE_EQ, .eq = 2, .entries = 16 };
	struct vrnic_cmd_cq cq = { .head.opcode = VRNIC_CMD_CREATE_CQ, .cq = 1, .eq = 2,
				   .entries = 16 };
	struct vrnic_cmd_create_qp qp = { .head.opcode = VRNIC_CMD_CREATE_QP, .qp = 1,
					  .pd = RIG_PD, .type = VRNIC_QP_RC, .send_cq = 1,
					  .receive_cq = 1, .send_entries = 16,
					  .receive_entries = 16 };
	struct vrnic_cmd_create_mr mr = { .head.opcode = VRNIC_CMD_CREATE_MR, .key = 1 << 8,
					  .pd = RIG_PD, .access = ALL, .length = 8192 };
	struct {
		struct vrnic_cmd_map_mr head;
		struct vrnic_segment segment[2];
	} map = { .head = { .head.opcode = VRNIC_CMD_MAP_MR, .key = 1 << 8, .segments = 2,
			    .flags = VRNIC_MAP_FIRST | VRNIC_MAP_LAST },
		  .segment = { { RIG_BASE, 4096 }, { RIG_BASE + 8192, 4096 } } };
	struct machine machine;

	machine_make(&machine);
	eq.address = machine_allocate(&machine, 65536, 4096);
	cq.address = eq.address;
	cq.consumer = eq.address;
	qp.send_address = eq.address;
	qp.receive_address = eq.address;
	check_command(&machine, &eq, sizeof(eq));
	check_command(&machine, &cq, sizeof(cq));
	check_command(&machine, &qp, sizeof(qp));
	check_command(&machine, &mr, sizeof(mr));
	check_command(&machine, &map, sizeof(map));
	machine_free(&machine);
}

/* All is done in the end. */
static bool check_work(unsigned int at)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr =
		wr_remote(VRNIC_WR_WRITE, 1, &bench->from, BENCH_SIZE, &bench->to, 0);
	bool failed;

	starve = at;
	pair_receive(&bench->qb, 1, &bench->to, 0, BENCH_SIZE);
	pair_post(&bench->qa, &wr);
	wr = wr_remote(VRNIC_WR_READ, 2, &bench->from, BENCH_SIZE, &bench->to, 0);
	pair_post(&bench->qa, &wr);
	wr = wr_remote(VRNIC_WR_FETCH_ADD, 3, &bench->from, 8, &bench->to, 0);
	pair_post(&bench->qa, &wr);
	wr = wr_of(VRNIC_WR_SEND, 4, &bench->from, 0, 200000);
	bench_post(bench, wr);
	rig_run_for(3000000);
	failed = !starve;
	starve = 0;
	for (unsigned int i = 0; i < 4; i++)
		CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(queue_status(&bench->b_receive) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, 200000));
	bench_free(bench);
	return failed;
}

void test_no_memory(void)
{
	unsigned int at = 1;

	starve_at = &starve;
	check_commands();
	while (check_work(at))
		at++;
	CHECK(at > 20);
	starve_at = NULL;
}
