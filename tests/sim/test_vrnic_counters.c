// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. Its counters say what was, no more and no less. */
#include "test_vrnic.h"

/* One for each time that pages are missing, however often they are waited for. */
void test_page_request_count(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr =
		wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 300000, &bench->to, 0);
	unsigned int i;

	CHECK(machine_count(&bench->b, "page-requests ") == 0);
	for (i = 1; i <= 3; i++) {
		CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
		bench_post(bench, wr);
		CHECK(machine_count(&bench->b, "page-requests ") == i);
		rig_run_for(500000);
		CHECK(queue_status(&bench->a_send) == -1);
		CHECK(machine_count(&bench->b, "page-requests ") == i);
		CHECK(buffer_map(&bench->to) == VRNIC_OK);
		rig_run_for(100000);
		CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	}
	CHECK(machine_count(&bench->b, "page-requests ") == 3);
	CHECK(machine_count(&bench->a, "page-requests ") == 0);
	bench_free(bench);
}

static unsigned int events_in(struct machine *machine)
{
	struct vrnic_event event;
	unsigned int count = 0;

	while (machine_event(machine, 0, &event) || machine_event(machine, 1, &event))
		count++;
	return count;
}

static unsigned int interrupts_of(const struct machine *machine)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < NIC_VECTORS; i++)
		count += machine->interrupts[i];
	return count;
}

static unsigned int do_nothing(struct machine *machine)
{
	struct vrnic_command_head nop = { .opcode = VRNIC_CMD_NOP };

	return machine_command(machine, &nop, sizeof(nop));
}

/* An event that does not reach the guest's memory is none. */
static void check_lost(struct machine *machine)
{
	uint64_t events = machine_count(machine, "events ");
	uint64_t commands = machine_count(machine, "commands ");
	unsigned int interrupts = interrupts_of(machine);

	machine->fails_from = machine->eqs[0];
	machine->fails_to = machine->eqs[0] + RIG_EQ_ENTRIES * sizeof(struct vrnic_event);
	CHECK(do_nothing(machine) == VRNIC_OK);
	CHECK(machine_count(machine, "events ") == events && interrupts_of(machine) == interrupts);
	machine->fails_to = 0;
	machine->fails_from = 0;
	CHECK(do_nothing(machine) == VRNIC_OK);
	CHECK(machine_count(machine, "events ") == events + 1);
	CHECK(machine_count(machine, "commands ") == commands + 2);
}

void test_event_count(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint64_t commands = machine_count(&bench->a, "commands ");
	unsigned int events = events_in(&bench->a), i;

	/* Each command had one, and there was nothing else to tell. */
	CHECK(commands > 4 && events == commands);
	CHECK(machine_count(&bench->a, "events ") == events);
	for (i = 0; i < 3; i++) {
		rig_doorbell(&bench->a, VRNIC_DOORBELL_ARM, 1, i);
		bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 8, &bench->to, 0));
		CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	}
	CHECK(events_in(&bench->a) == 3 && interrupts_of(&bench->a) == events + 3);
	CHECK(machine_count(&bench->a, "events ") == events + 3);
	CHECK(machine_count(&bench->a, "commands ") == commands);
	check_lost(&bench->a);
	bench_free(bench);
}

void test_completion_count(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	unsigned int i;

	for (i = 0; i < 5; i++)
		bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 8, &bench->to, 0));
	CHECK(machine_count(&bench->a, "completions ") == 5);
	CHECK(machine_count(&bench->a, "errors ") == 0);
	CHECK(machine_count(&bench->b, "completions ") == 0);
	CHECK(machine_count(&bench->a, "bytes out ") == 40);
	CHECK(machine_count(&bench->a, "frames out ") == 5);
	bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 8, &bench->to, BENCH_SIZE));
	CHECK(machine_count(&bench->a, "completions ") == 6);
	CHECK(machine_count(&bench->a, "errors ") == 1);
	bench_free(bench);
}
