// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. A slow function lets others have their turn after each access to memory of regions. */
#include "test_vrnic.h"

#define WRS	16

/* Accesses to memory of regions. */
struct watched {
	const struct machine *machine;
	unsigned int count;
	unsigned int turn, in_turn, most_in_turn;
	unsigned int in_row, most_in_row;	/* none of the other's between them */
};

static struct watched of_a, of_b;

static void count_one(unsigned int *count, unsigned int *most)
{
	if (++*count > *most)
		*most = *count;
}

static void watch(struct machine *machine)
{
	struct watched *watched = machine == of_a.machine ? &of_a : &of_b;
	struct watched *other = watched == &of_a ? &of_b : &of_a;

	if (machine->function.own_queues)
		return;
	if (watched->turn != rig_turns)
		watched->in_turn = 0;
	watched->turn = rig_turns;
	watched->count++;
	other->in_row = 0;
	count_one(&watched->in_turn, &watched->most_in_turn);
	count_one(&watched->in_row, &watched->most_in_row);
}

static void run_watched(unsigned int opcode, bool a_slow, bool b_slow)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint32_t length = opcode == VRNIC_WR_FETCH_ADD ? 8 : 65536;
	struct vrnic_send_wr wr = wr_remote(opcode, 1, &bench->from, length, &bench->to, 0);
	unsigned int i;

	of_a = (struct watched){ .machine = &bench->a };
	of_b = (struct watched){ .machine = &bench->b };
	bench->a.during_dma = watch;
	bench->b.during_dma = watch;
	bench->a.function.faults.on = a_slow ? 1u << FAULT_SLOW : 0;
	bench->b.function.faults.on = b_slow ? 1u << FAULT_SLOW : 0;
	for (i = 0; i < WRS; i++)
		pair_post(&bench->qa, &wr);
	rig_run();
	for (i = 0; i < WRS; i++)
		CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(of_a.count == WRS && of_b.count == WRS);
	bench_free(bench);
}

static void check_turns(unsigned int opcode)
{
	run_watched(opcode, false, false);
	CHECK(of_a.most_in_turn > 1 && of_b.most_in_turn > 1);
	CHECK(of_a.most_in_row > 1 && of_b.most_in_row > 1);
	run_watched(opcode, true, false);
	CHECK(of_a.most_in_turn == 1);
	run_watched(opcode, false, true);
	CHECK(of_b.most_in_turn == 1);
	run_watched(opcode, true, true);
	CHECK(of_a.most_in_turn == 1 && of_b.most_in_turn == 1);
}

void test_slow_turns(void)
{
	check_turns(VRNIC_WR_WRITE);
	check_turns(VRNIC_WR_READ);
	check_turns(VRNIC_WR_FETCH_ADD);
	/* The other works on what one makes ready. */
	run_watched(VRNIC_WR_WRITE, true, false);
	CHECK(of_a.most_in_row == 1);
	run_watched(VRNIC_WR_READ, false, true);
	CHECK(of_b.most_in_row == 1);
}
