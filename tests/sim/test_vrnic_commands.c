// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. How it is told what to do: registers, commands, doorbells. */
#include "test_vrnic.h"

void test_registers(void)
{
	struct machine machine;
	struct function *function = &machine.function;

	machine_make(&machine);
	CHECK(vrnic_device.read(function, 0, VRNIC_REG_MAGIC, 4) == VRNIC_MAGIC);
	CHECK(vrnic_device.read(function, 0, VRNIC_REG_ABI, 4) == VRNIC_ABI_VERSION);
	CHECK(vrnic_device.read(function, 0, VRNIC_REG_PORT, 4) == 1);
	CHECK((vrnic_device.read(function, 0, VRNIC_REG_GUID, 8) >> 32) ==
	      vrnic_device.read(function, 0, VRNIC_REG_GUID + 4, 4));
	CHECK(vrnic_device.read(function, 0, 0x800, 4) == UINT32_MAX ||
	      vrnic_device.read(function, 0, 0x800, 4) == UINT64_MAX);
	machine_free(&machine);
}

void test_commands(void)
{
	struct machine machine;
	struct vrnic_cmd_eq eq = { .head.opcode = VRNIC_CMD_CREATE_EQ, .eq = 2, .entries = 3 };
	struct vrnic_command_head head = { .opcode = 999 };
	struct queue queue, other;
	struct pair pair;
	uint32_t number;

	machine_make(&machine);
	CHECK(machine_event_of(&machine, 0, VRNIC_EVENT_COMMAND, &number));
	CHECK(machine_command(&machine, &eq, sizeof(eq)) == VRNIC_BAD_ARGUMENT);
	eq.entries = 4;
	eq.eq = 0;
	CHECK(machine_command(&machine, &eq, sizeof(eq)) == VRNIC_BAD_NUMBER);
	CHECK(machine_command(&machine, &eq, 12) == VRNIC_BAD_LENGTH);
	CHECK(machine_command(&machine, &head, sizeof(head)) == VRNIC_BAD_LENGTH);
	CHECK(machine_command(&machine, &head, 4) == 0x100 + VRNIC_COMMAND_LOST);
	eq.head.opcode = 999;
	CHECK(machine_command(&machine, &eq, sizeof(eq)) == VRNIC_BAD_OPCODE);
	queue_make(&machine, &queue, 1, 16);
	queue_make(&machine, &other, NIC_CQS, 16);
	pair_make(&machine, &pair, NIC_QPS, VRNIC_QP_RC, &queue, &other);
	CHECK(number_command(&machine, VRNIC_CMD_DESTROY_CQ, 1) == VRNIC_BAD_STATE);
	CHECK(number_command(&machine, VRNIC_CMD_DESTROY_EQ, 1) == VRNIC_BAD_STATE);
	CHECK(pair_state(&pair, VRNIC_QPS_RTS) == VRNIC_BAD_STATE);
	CHECK(pair_state(&pair, 77) == VRNIC_BAD_STATE);
	CHECK(number_command(&machine, VRNIC_CMD_DESTROY_QP, NIC_QPS) == VRNIC_OK);
	CHECK(number_command(&machine, VRNIC_CMD_DESTROY_QP, NIC_QPS) == VRNIC_BAD_NUMBER);
	CHECK(number_command(&machine, VRNIC_CMD_DESTROY_CQ, 1) == VRNIC_OK);
	CHECK(number_command(&machine, VRNIC_CMD_DESTROY_CQ, NIC_CQS) == VRNIC_OK);
	CHECK(number_command(&machine, VRNIC_CMD_DESTROY_EQ, 1) == VRNIC_OK);
	machine_free(&machine);
}

void test_mr_commands(void)
{
	struct machine machine;
	struct buffer buffer;
	struct {
		struct vrnic_cmd_map_mr head;
		struct vrnic_segment segment[2];
	} map = { .head = { .head.opcode = VRNIC_CMD_MAP_MR, .segments = 2 } };

	machine_make(&machine);
	buffer_make_unmapped(&machine, &buffer, NIC_MRS, 8192, ALL);
	map.head.key = buffer.key;
	map.head.flags = VRNIC_MAP_FIRST | VRNIC_MAP_LAST;
	map.segment[0] = (struct vrnic_segment){ buffer.iova, 4096 };
	map.segment[1] = (struct vrnic_segment){ buffer.iova + 4096, 4095 };
	CHECK(machine_command(&machine, &map, sizeof(map)) == VRNIC_BAD_ARGUMENT);
	map.segment[1].length = 4097;
	CHECK(machine_command(&machine, &map, sizeof(map)) == VRNIC_BAD_ARGUMENT);
	map.segment[1].length = 4096;
	map.head.segments = 3;
	CHECK(machine_command(&machine, &map, sizeof(map)) == VRNIC_BAD_LENGTH);
	map.head.segments = 2;
	map.head.key ^= 1;
	CHECK(machine_command(&machine, &map, sizeof(map)) == VRNIC_BAD_NUMBER);
	map.head.key ^= 1;
	CHECK(machine_command(&machine, &map, sizeof(map)) == VRNIC_OK);
	CHECK(number_command(&machine, VRNIC_CMD_DESTROY_MR, buffer.key ^ 1) == VRNIC_BAD_NUMBER);
	CHECK(number_command(&machine, VRNIC_CMD_DESTROY_MR, buffer.key) == VRNIC_OK);
	machine_free(&machine);
}

/* A CQ is armed from the page that it was made with, and only from there. */
static void check_other_page(struct bench *bench)
{
	const unsigned int other = 2 * VRNIC_DOORBELL_PAGE + VRNIC_DOORBELL_ARM;
	uint32_t number;

	CHECK(pair_state(&bench->qb, VRNIC_QPS_ERROR) == VRNIC_OK);
	pair_receive(&bench->qb, 1, &bench->to, 0, 8);
	rig_run();
	vrnic_device.write(&bench->b.function, 2, other, 8, 2ull << 32);
	rig_run();
	CHECK(!machine_event_of(&bench->b, 1, VRNIC_EVENT_COMPLETION, &number));
	rig_doorbell(&bench->b, VRNIC_DOORBELL_ARM, 2, 0);
	rig_run();
	CHECK(machine_event_of(&bench->b, 1, VRNIC_EVENT_COMPLETION, &number) && number == 2);
}

void test_bad_doorbells(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 8, &bench->to, 0);
	struct vrnic_send_wr *ring = machine_at(&bench->a, bench->qa.send_ring);
	uint32_t number;
	unsigned int i;

	ring[0] = wr;
	/* From another page. */
	vrnic_device.write(&bench->a.function, 2, 2 * VRNIC_DOORBELL_PAGE, 8, 3ull << 32 | 1);
	rig_run();
	CHECK(queue_status(&bench->a_send) == -1);
	check_other_page(bench);
	for (i = 0; i < 4096; i += 8)
		vrnic_device.write(&bench->a.function, 2, VRNIC_DOORBELL_PAGE + i, 8,
				   (uint64_t)(i * 7919) << 32);
	rig_run();
	CHECK(!pair_failed(&bench->qa));
	rig_doorbell(&bench->a, VRNIC_DOORBELL_SEND, 3, RIG_WRS + 1);
	rig_run();
	CHECK(machine_event_of(&bench->a, 0, VRNIC_EVENT_QP_FATAL, &number) && number == 3);
	CHECK(pair_failed(&bench->qa));
	bench_free(bench);
}

static uint32_t command_state(struct machine *machine)
{
	return vrnic_device.read(&machine->function, 0, VRNIC_REG_COMMAND_STATE, 4);
}

static struct vrnic_cmd_number *command_of(struct machine *machine)
{
	return machine_at(machine, machine->command);
}

/* A command that must not be answered yet: one that is refused, so that its answer can be told. */
static void ask_in_vain(struct machine *machine)
{
	machine->function.faults.on = 1u << FAULT_HANG;
	CHECK(number_command(machine, VRNIC_CMD_DESTROY_QP, 9) == 0x100 + VRNIC_COMMAND_RUNS);
	rig_run_for(60000000);
	CHECK(command_state(machine) == VRNIC_COMMAND_RUNS && !command_of(machine)->head.status);
}

static void go_on(struct machine *machine)
{
	machine->function.faults.on = 0;
	vrnic_device.go_on(&machine->function);
	rig_run();
}

static void test_late_answer(void)
{
	struct machine machine;
	uint32_t number;

	machine_make(&machine);
	while (machine_event_of(&machine, 0, VRNIC_EVENT_COMMAND, &number))
		;
	ask_in_vain(&machine);
	/* Nobody listens to the driver. */
	vrnic_device.write(&machine.function, 0, VRNIC_REG_RESET, 4, 1);
	CHECK(command_state(&machine) == VRNIC_COMMAND_RUNS);
	go_on(&machine);
	CHECK(command_state(&machine) == VRNIC_COMMAND_DONE);
	CHECK(command_of(&machine)->head.status == VRNIC_BAD_NUMBER);
	CHECK(machine_event_of(&machine, 0, VRNIC_EVENT_COMMAND, &number));
	machine_free(&machine);
}

/* It may not reach memory any more when its time comes. */
static void test_too_late_answer(void)
{
	struct machine machine;

	machine_make(&machine);
	ask_in_vain(&machine);
	machine.not_master = true;
	go_on(&machine);
	CHECK(command_state(&machine) == VRNIC_COMMAND_LOST && !command_of(&machine)->head.status);
	machine_free(&machine);
}

void test_hang(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);

	test_late_answer();
	test_too_late_answer();
	/* Queues are served meanwhile. */
	ask_in_vain(&bench->a);
	bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 64, &bench->to, 0));
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	/* A reset of the function ends it. */
	vrnic_device.reset(&bench->a.function);
	CHECK(command_state(&bench->a) == VRNIC_COMMAND_IDLE);
	go_on(&bench->a);
	CHECK(command_state(&bench->a) == VRNIC_COMMAND_IDLE);
	bench_free(bench);
}
