// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU: its commands, rings and doorbells, driven as a driver does, and as none should. */
#include "loop.h"
#include "test_rig.h"

#define ALL	(VRNIC_LOCAL_WRITE | VRNIC_REMOTE_WRITE | VRNIC_REMOTE_READ | VRNIC_REMOTE_ATOMIC)
#define SIZE	(1u << 20)

/* Two functions with a connection between them. */
struct bench {
	struct machine a, b;
	struct queue a_send, a_receive, b_send, b_receive;
	struct pair qa, qb;
	struct buffer from, to;
};

static void fill(struct buffer *buffer, unsigned int seed)
{
	uint64_t i;

	for (i = 0; i < buffer->length; i++)
		buffer->bytes[i] = seed + i * 7 + (i >> 8);
}

static void bench_open(struct bench *bench, uint32_t type, uint32_t entries)
{
	machine_make(&bench->a);
	machine_make(&bench->b);
	queue_make(&bench->a, &bench->a_send, 1, entries);
	queue_make(&bench->a, &bench->a_receive, 2, entries);
	queue_make(&bench->b, &bench->b_send, 1, entries);
	queue_make(&bench->b, &bench->b_receive, 2, entries);
	pair_make(&bench->a, &bench->qa, 3, type, &bench->a_send, &bench->a_receive);
	pair_make(&bench->b, &bench->qb, 5, type, &bench->b_send, &bench->b_receive);
	pair_connect(&bench->qa, machine_lid(&bench->b), 5);
	pair_connect(&bench->qb, machine_lid(&bench->a), 3);
	buffer_make(&bench->a, &bench->from, 1, SIZE, ALL);
	buffer_make(&bench->b, &bench->to, 9, SIZE, ALL);
	fill(&bench->from, 3);
}

static struct bench *bench_new(uint32_t type)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (!bench)
		abort();
	bench_open(bench, type, RIG_CQ_ENTRIES);
	return bench;
}

static void bench_free(struct bench *bench)
{
	machine_free(&bench->a);
	machine_free(&bench->b);
	free(bench);
}

/* The next completion's status, or -1 for none. */
static int status_of(struct queue *queue)
{
	struct vrnic_completion completion;

	return queue_poll(queue, &completion) ? completion.status : -1;
}

static bool is_in_error(struct pair *pair)
{
	struct vrnic_cmd_modify_qp answer;

	return pair_query(pair, &answer) == VRNIC_OK && answer.state == VRNIC_QPS_ERROR;
}

static void post(struct bench *bench, struct vrnic_send_wr wr)
{
	pair_post(&bench->qa, &wr);
	rig_run();
}

static void test_registers(void)
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

static void test_commands(void)
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

static void test_mr_commands(void)
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

static void test_send(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_completion completion;
	struct vrnic_send_wr wr;

	pair_receive(&bench->qb, 100, &bench->to, 0, SIZE);
	pair_receive(&bench->qb, 101, &bench->to, 0, 0);
	wr = wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 300000);
	post(bench, wr);
	CHECK(queue_poll(&bench->b_receive, &completion));
	CHECK(completion.id == 100 && completion.status == VRNIC_WC_OK);
	CHECK(completion.opcode == VRNIC_WC_RECEIVE && completion.length == 300000);
	CHECK(completion.qp == 5 && completion.source_qp == 3 && !completion.flags);
	CHECK(completion.source_lid == machine_lid(&bench->a));
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, 300000));
	CHECK(bench->to.bytes[300000] == 0);
	CHECK(queue_poll(&bench->a_send, &completion));
	CHECK(completion.id == 1 && completion.opcode == VRNIC_WC_SEND && !completion.status);
	wr = wr_of(VRNIC_WR_SEND_IMM, 2, NULL, 0, 0);
	wr.immediate = 0x12345678;
	wr.flags = 0;
	post(bench, wr);
	CHECK(queue_poll(&bench->b_receive, &completion));
	CHECK(completion.id == 101 && completion.flags == VRNIC_WC_IMMEDIATE);
	CHECK(completion.immediate == 0x12345678 && completion.length == 0);
	CHECK(status_of(&bench->a_send) == -1);	/* not signaled */
	bench_free(bench);
}

static void test_inline(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr = wr_of(VRNIC_WR_WRITE, 1, NULL, 0, 0);

	wr.flags |= VRNIC_WR_INLINE;
	wr.inline_length = 5;
	memcpy(wr.data, "hello", 5);
	wr.remote_address = bench->to.address + 10;
	wr.remote_key = bench->to.key;
	post(bench, wr);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes + 10, "hello\0", 6));
	wr.inline_length = VRNIC_MAX_INLINE + 1;
	post(bench, wr);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_LOCAL_QP);
	bench_free(bench);
}

static void test_write_and_read(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_completion completion;
	struct vrnic_send_wr wr;

	post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, SIZE, &bench->to, 0));
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, SIZE));
	CHECK(status_of(&bench->b_receive) == -1);
	fill(&bench->to, 99);
	post(bench, wr_remote(VRNIC_WR_READ, 2, &bench->from, SIZE - 12345, &bench->to, 12345));
	CHECK(queue_poll(&bench->a_send, &completion));
	CHECK(completion.status == VRNIC_WC_OK && completion.opcode == VRNIC_WC_READ);
	CHECK(!memcmp(bench->from.bytes, bench->to.bytes + 12345, SIZE - 12345));
	pair_receive(&bench->qb, 7, NULL, 0, 0);
	wr = wr_remote(VRNIC_WR_WRITE_IMM, 3, &bench->from, 100000, &bench->to, 1);
	wr.immediate = 42;
	post(bench, wr);
	CHECK(queue_poll(&bench->b_receive, &completion));
	CHECK(completion.opcode == VRNIC_WC_RECEIVE_WRITE_IMM && completion.immediate == 42);
	CHECK(completion.length == 100000 && completion.id == 7);
	CHECK(!memcmp(bench->to.bytes + 1, bench->from.bytes, 100000));
	bench_free(bench);
}

static void test_many(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_completion completion;
	unsigned int i, done = 0;

	for (i = 0; i < 2000; i++) {
		unsigned int opcode = i % 3 ? i % 3 == 1 ? VRNIC_WR_WRITE : VRNIC_WR_READ :
					      VRNIC_WR_FETCH_ADD;
		uint32_t length = i % 3 ? 1 + i * 97 % 200000 : 8;
		struct vrnic_send_wr wr =
			wr_remote(opcode, i, &bench->from, length, &bench->to, 0);

		pair_post(&bench->qa, &wr);
		if (i % 48 == 47 || i == 1999)
			rig_run();
		while (queue_poll(&bench->a_send, &completion)) {
			CHECK(completion.id == done && completion.status == VRNIC_WC_OK);
			done++;
		}
	}
	CHECK(done == 2000);
	bench_free(bench);
}

static void test_atomics(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint64_t *there = (uint64_t *)(bench->to.bytes + 64), *here = (uint64_t *)bench->from.bytes;
	struct vrnic_send_wr wr =
		wr_remote(VRNIC_WR_FETCH_ADD, 1, &bench->from, 8, &bench->to, 64);

	*there = 40;
	wr.compare_add = 2;
	post(bench, wr);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK && *here == 40 && *there == 42);
	wr.opcode = VRNIC_WR_COMPARE_SWAP;
	wr.compare_add = 41;
	wr.swap = 1;
	post(bench, wr);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK && *here == 42 && *there == 42);
	wr.compare_add = 42;
	post(bench, wr);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK && *here == 42 && *there == 1);
	wr.remote_address += 4;
	post(bench, wr);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_REMOTE_REQUEST);
	CHECK(is_in_error(&bench->qa) && is_in_error(&bench->qb));
	bench_free(bench);
}

/* As a command between two turns would: where the answer goes is unmapped when it comes. */
static void unmap_the_other(struct machine *machine)
{
	struct vrnic *nic = TAILQ_FIRST(&vrnics);

	machine->during_dma = NULL;
	nic->mrs[1]->mapped = false;
}

static void test_atomic_again(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint64_t *there = (uint64_t *)bench->to.bytes, *here = (uint64_t *)bench->from.bytes;
	struct vrnic_send_wr wr =
		wr_remote(VRNIC_WR_FETCH_ADD, 1, &bench->from, 8, &bench->to, 0);
	uint32_t key;

	*there = 40;
	wr.compare_add = 2;
	bench->b.during_dma = unmap_the_other;
	post(bench, wr);
	CHECK(machine_event_of(&bench->a, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	rig_run_for(20000);
	CHECK(status_of(&bench->a_send) == -1 && *there == 42);
	CHECK(buffer_map(&bench->from) == VRNIC_OK);
	rig_run_for(20000);
	/* It was asked for many times, and done once. */
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK && *here == 40 && *there == 42);
	bench_free(bench);
}

static void read_then_write(uint8_t flags, uint64_t expected)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint64_t *there = (uint64_t *)bench->to.bytes, *here = (uint64_t *)bench->from.bytes;
	struct vrnic_send_wr wr = wr_remote(VRNIC_WR_READ, 1, &bench->from, 8, &bench->to, 0);

	*here = 1;
	*there = 2;
	pair_post(&bench->qa, &wr);
	wr = wr_remote(VRNIC_WR_WRITE, 2, &bench->from, 8, &bench->to, 64);
	wr.flags |= flags;
	post(bench, wr);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(*here == 2 && there[8] == expected);
	bench_free(bench);
}

static void test_fence(void)
{
	read_then_write(VRNIC_WR_FENCE, 2);
	read_then_write(0, 1);
}

/* One work request that must fail so, and touch nothing. */
static void refused(struct vrnic_send_wr wr, struct bench *bench, int expected)
{
	uint8_t *copy = malloc(SIZE);

	memcpy(copy, bench->to.bytes, SIZE);
	post(bench, wr);
	rig_run_for(3000000);
	CHECK(status_of(&bench->a_send) == expected);
	CHECK(is_in_error(&bench->qa));
	CHECK(!memcmp(copy, bench->to.bytes, SIZE));
	free(copy);
	bench_free(bench);
}

static void test_remote_refusals(void)
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
		post(bench, wr);
		CHECK(machine_event_of(&bench->b, 0, VRNIC_EVENT_QP_ACCESS, &number));
		CHECK(number == 5);
		CHECK(status_of(&bench->a_send) == VRNIC_WC_REMOTE_ACCESS);
		bench_free(bench);

		bench = bench_new(VRNIC_QP_RC);
		wr = wr_remote(opcodes[i], 1, &bench->from, length, &bench->to, SIZE - length + 8);
		refused(wr, bench, VRNIC_WC_REMOTE_ACCESS);

		bench = bench_new(VRNIC_QP_RC);
		wr = wr_remote(opcodes[i], 1, &bench->from, length, &bench->to, 0);
		wr.remote_address = UINT64_MAX - 7;
		refused(wr, bench, VRNIC_WC_REMOTE_ACCESS);
	}
}

static void test_remote_rights(void)
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
		buffer_make(&bench->b, &less, 10, SIZE, ALL & ~cases[i].right);
		refused(wr_remote(cases[i].opcode, 1, &bench->from, 8, &less, 0), bench,
			VRNIC_WC_REMOTE_ACCESS);
		/* The QP does not. */
		bench = bench_new(VRNIC_QP_RC);
		CHECK(machine_command(&bench->b, &cmd, sizeof(cmd)) == VRNIC_OK);
		refused(wr_remote(cases[i].opcode, 1, &bench->from, 8, &bench->to, 0), bench,
			VRNIC_WC_REMOTE_ACCESS);
	}
}

static void test_domains(void)
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

static void test_local_refusals(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 64, &bench->to, 0);
	struct buffer less;

	wr.sge[0].key ^= 0x100;
	refused(wr, bench, VRNIC_WC_LOCAL_PROTECTION);
	bench = bench_new(VRNIC_QP_RC);
	wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, SIZE, &bench->to, 0);
	wr.sge[0].length = SIZE + 1;
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
	refused(wr_remote(VRNIC_WR_READ, 1, &bench->from, SIZE, &bench->to, 0), bench,
		VRNIC_WC_REMOTE_OPERATION);
}

static void test_receive_refusals(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct buffer less;

	pair_receive(&bench->qb, 1, &bench->to, 0, 63);
	post(bench, wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 64));
	CHECK(status_of(&bench->b_receive) == VRNIC_WC_LOCAL_LENGTH);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_REMOTE_REQUEST);
	CHECK(is_in_error(&bench->qb));
	bench_free(bench);
	bench = bench_new(VRNIC_QP_RC);
	buffer_make(&bench->b, &less, 10, 4096, 0);
	pair_receive(&bench->qb, 1, &less, 0, 64);
	post(bench, wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 64));
	CHECK(status_of(&bench->b_receive) == VRNIC_WC_LOCAL_PROTECTION);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_REMOTE_OPERATION);
	bench_free(bench);
}

static void test_flush(void)
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
	CHECK(status_of(&bench->a_send) == -1);
	for (i = 0; i < 20; i++) {
		CHECK(queue_poll(&bench->a_receive, &completion));
		CHECK(completion.id == 50 + i && completion.status == VRNIC_WC_FLUSHED);
	}
	/* What is posted in ERROR is flushed too. */
	wr.id = 77;
	post(bench, wr);
	CHECK(queue_poll(&bench->a_send, &completion) && completion.id == 77);
	CHECK(completion.status == VRNIC_WC_FLUSHED);
	bench_free(bench);
}

static void test_reset_and_again(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);

	pair_receive(&bench->qb, 1, &bench->to, 0, 64);
	CHECK(pair_state(&bench->qa, VRNIC_QPS_ERROR) == VRNIC_OK);
	CHECK(pair_state(&bench->qb, VRNIC_QPS_ERROR) == VRNIC_OK);
	CHECK(status_of(&bench->b_receive) == VRNIC_WC_FLUSHED);
	CHECK(pair_state(&bench->qa, VRNIC_QPS_RESET) == VRNIC_OK);
	CHECK(pair_state(&bench->qb, VRNIC_QPS_RESET) == VRNIC_OK);
	pair_connect(&bench->qa, machine_lid(&bench->b), 5);
	pair_connect(&bench->qb, machine_lid(&bench->a), 3);
	pair_receive(&bench->qb, 2, &bench->to, 0, 64);
	post(bench, wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 64));
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(status_of(&bench->b_receive) == VRNIC_WC_OK);
	bench_free(bench);
}

static void test_rnr(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);

	post(bench, wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 200000));
	CHECK(status_of(&bench->a_send) == -1);
	pair_receive(&bench->qb, 1, &bench->to, 0, SIZE);
	rig_run_for(10000);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, 200000));
	/* Without a receive the retries end. */
	post(bench, wr_of(VRNIC_WR_SEND, 2, &bench->from, 0, 8));
	rig_run_for(1000000);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_RNR_RETRIES);
	CHECK(is_in_error(&bench->qa) && !is_in_error(&bench->qb));
	bench_free(bench);
}

static void test_retries(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint64_t before;

	/* A function without memory hears nothing. */
	bench->b.not_master = true;
	before = loop_now();
	post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 8, &bench->to, 0));
	rig_run_for(150000);
	CHECK(status_of(&bench->a_send) == -1);
	bench->b.not_master = false;
	rig_run_for(150000);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	bench->b.not_master = true;
	post(bench, wr_remote(VRNIC_WR_READ, 2, &bench->from, SIZE, &bench->to, 0));
	rig_run_for(2000000);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_RETRIES);
	CHECK(loop_now() - before > 400000);
	bench_free(bench);
}

static void test_nobody(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_cmd_modify_qp cmd = { .head.opcode = VRNIC_CMD_MODIFY_QP, .qp = 3,
					   .mask = VRNIC_QP_PATH | VRNIC_QP_TIMEOUT,
					   .destination_lid = 0x4000 };

	CHECK(machine_command(&bench->a, &cmd, sizeof(cmd)) == VRNIC_OK);
	post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, SIZE, &bench->to, 0));
	rig_run_for(3000000);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_RETRIES);
	bench_free(bench);
}

static void test_datagrams(void)
{
	struct bench *bench = bench_new(VRNIC_QP_UD);
	struct vrnic_completion completion;
	struct vrnic_send_wr wr = wr_of(VRNIC_WR_SEND_IMM, 1, &bench->from, 0, 1000);

	wr.destination_lid = machine_lid(&bench->b);
	wr.destination_qp = 5;
	wr.qkey = RIG_QKEY;
	wr.immediate = 9;
	memset(bench->to.bytes, 0xee, 64);
	/* Without a receive, or with too short a one, or with another key, it is dropped. */
	post(bench, wr);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	pair_receive(&bench->qb, 1, &bench->to, 0, 1039);
	post(bench, wr);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(status_of(&bench->b_receive) == -1);
	wr.sge[0].length = 999;
	wr.qkey++;
	post(bench, wr);
	CHECK(status_of(&bench->b_receive) == -1);
	wr.qkey = 1u << 31;
	post(bench, wr);
	CHECK(queue_poll(&bench->b_receive, &completion));
	CHECK(completion.length == 1039 && completion.source_qp == 3 && completion.immediate == 9);
	CHECK(completion.source_lid == machine_lid(&bench->a));
	CHECK(bench->to.bytes[0] == 0 && bench->to.bytes[39] == 0);
	CHECK(!memcmp(bench->to.bytes + 40, bench->from.bytes, 999));
	while (!status_of(&bench->a_send))
		;
	wr.sge[0].length = VRNIC_MTU + 1;
	post(bench, wr);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_LOCAL_LENGTH);
	bench_free(bench);
}

static void test_page_request_remote(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint32_t key;

	CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
	post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, SIZE, &bench->to, 0));
	CHECK(machine_event_of(&bench->b, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	CHECK(key == bench->to.key);
	rig_run_for(1000000);
	CHECK(status_of(&bench->a_send) == -1);
	CHECK(!machine_event_of(&bench->b, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	CHECK(buffer_map(&bench->to) == VRNIC_OK);
	rig_run_for(100000);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, SIZE));
	CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
	post(bench, wr_remote(VRNIC_WR_READ, 2, &bench->from, SIZE, &bench->to, 0));
	CHECK(machine_event_of(&bench->b, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	CHECK(buffer_map(&bench->to) == VRNIC_OK);
	rig_run_for(100000);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
	post(bench, wr_remote(VRNIC_WR_FETCH_ADD, 2, &bench->from, 8, &bench->to, 0));
	CHECK(number_command(&bench->b, VRNIC_CMD_FAIL_MR, bench->to.key) == VRNIC_OK);
	rig_run_for(100000);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_REMOTE_OPERATION);
	bench_free(bench);
}

static void test_page_request_local(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint32_t key;

	CHECK(buffer_unmap(&bench->from) == VRNIC_OK);
	post(bench, wr_remote(VRNIC_WR_READ, 1, &bench->from, 200000, &bench->to, 0));
	CHECK(machine_event_of(&bench->a, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	CHECK(key == bench->from.key);
	rig_run_for(50000);
	CHECK(status_of(&bench->a_send) == -1);
	CHECK(buffer_map(&bench->from) == VRNIC_OK);
	rig_run_for(50000);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	/* Nobody answers. */
	CHECK(buffer_unmap(&bench->from) == VRNIC_OK);
	post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 200000, &bench->to, 0));
	rig_run_for(1900000);
	CHECK(status_of(&bench->a_send) == -1);
	rig_run_for(200000);
	CHECK(status_of(&bench->a_send) == VRNIC_WC_LOCAL_PROTECTION);
	bench_free(bench);
}

static void test_page_request_receive(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint32_t key;

	CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
	pair_receive(&bench->qb, 1, &bench->to, 0, SIZE);
	post(bench, wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, SIZE));
	CHECK(machine_event_of(&bench->b, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	CHECK(buffer_map(&bench->to) == VRNIC_OK);
	rig_run_for(50000);
	CHECK(status_of(&bench->b_receive) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, SIZE));
	CHECK(buffer_unmap(&bench->to) == VRNIC_OK);
	pair_receive(&bench->qb, 2, &bench->to, 0, SIZE);
	post(bench, wr_of(VRNIC_WR_SEND, 2, &bench->from, 0, SIZE));
	rig_run_for(2500000);
	CHECK(status_of(&bench->b_receive) == VRNIC_WC_LOCAL_PROTECTION);
	bench_free(bench);
}

static unsigned int hook_count;

/* The MR goes between two accesses of a message, as a command between two turns may do. */
static void test_unmap_midway(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, SIZE, &bench->to, 0);
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
		CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, SIZE));
	bench_free(bench);
}

static void test_overrun(void)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct vrnic_send_wr wr;
	uint32_t number;
	unsigned int i;

	bench_open(bench, VRNIC_QP_RC, 8);
	/* As many as there is place for, taken, and again: no overrun. */
	wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 8, &bench->to, 0);
	for (i = 0; i < 40; i++) {
		pair_post(&bench->qa, &wr);
		if (i % 8 != 7)
			continue;
		rig_run();
		while (!status_of(&bench->a_send))
			;
	}
	CHECK(!machine_event_of(&bench->a, 0, VRNIC_EVENT_CQ_ERROR, &number));
	CHECK(!is_in_error(&bench->qa));
	for (i = 0; i < 9; i++)
		pair_post(&bench->qa, &wr);
	rig_run();
	CHECK(machine_event_of(&bench->a, 0, VRNIC_EVENT_CQ_ERROR, &number) && number == 1);
	CHECK(machine_event_of(&bench->a, 0, VRNIC_EVENT_QP_FATAL, &number) && number == 3);
	CHECK(is_in_error(&bench->qa));
	for (i = 0; i < 8; i++)
		CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	CHECK(status_of(&bench->a_send) == -1);
	bench_free(bench);
}

static void test_events(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 8, &bench->to, 0);
	uint32_t number;

	post(bench, wr);
	CHECK(!machine_event_of(&bench->a, 1, VRNIC_EVENT_COMPLETION, &number));
	/* Armed with the completion seen: the next one tells. */
	rig_doorbell(&bench->a, VRNIC_DOORBELL_ARM, 1, 1);
	rig_run();
	CHECK(!machine_event_of(&bench->a, 1, VRNIC_EVENT_COMPLETION, &number));
	post(bench, wr);
	CHECK(machine_event_of(&bench->a, 1, VRNIC_EVENT_COMPLETION, &number) && number == 1);
	CHECK(bench->a.interrupts[1] == 1);
	post(bench, wr);
	CHECK(!machine_event_of(&bench->a, 1, VRNIC_EVENT_COMPLETION, &number));
	/* Armed with one unseen: at once. */
	rig_doorbell(&bench->a, VRNIC_DOORBELL_ARM, 1, 2);
	rig_run();
	CHECK(machine_event_of(&bench->a, 1, VRNIC_EVENT_COMPLETION, &number));
	/* Solicited ones only. */
	rig_doorbell(&bench->b, VRNIC_DOORBELL_ARM, 2, VRNIC_ARM_SOLICITED);
	pair_receive(&bench->qb, 1, &bench->to, 0, 8);
	pair_receive(&bench->qb, 2, &bench->to, 0, 8);
	wr = wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 8);
	post(bench, wr);
	CHECK(!machine_event_of(&bench->b, 1, VRNIC_EVENT_COMPLETION, &number));
	wr.flags |= VRNIC_WR_SOLICITED;
	post(bench, wr);
	CHECK(machine_event_of(&bench->b, 1, VRNIC_EVENT_COMPLETION, &number) && number == 2);
	bench_free(bench);
}

static void test_cqe_error(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);

	bench->a.function.faults.on = 1u << FAULT_CQE_ERROR;
	post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 100, &bench->to, 0));
	CHECK(status_of(&bench->a_send) == VRNIC_WC_GENERAL);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, 100));
	bench->a.function.faults.on = 0;
	post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 100, &bench->to, 0));
	CHECK(status_of(&bench->a_send) == VRNIC_WC_OK);
	bench_free(bench);
}

static void test_destroy_with_work(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, SIZE, &bench->to, 0);
	unsigned int i;

	for (i = 0; i < 8; i++)
		pair_post(&bench->qa, &wr);
	CHECK(number_command(&bench->a, VRNIC_CMD_DESTROY_QP, 3) == VRNIC_OK);
	rig_run_for(1000000);
	wr = wr_remote(VRNIC_WR_READ, 1, &bench->to, SIZE, &bench->from, 0);
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
static void test_reset_in_dma(void)
{
	unsigned int at;

	for (at = 1; at < 60; at++) {
		struct bench *bench = bench_new(VRNIC_QP_RC);
		struct vrnic_send_wr wr =
			wr_remote(VRNIC_WR_WRITE, 1, &bench->from, SIZE, &bench->to, 0);
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

static void test_bad_doorbells(void)
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
	CHECK(status_of(&bench->a_send) == -1);
	for (i = 0; i < 4096; i += 8)
		vrnic_device.write(&bench->a.function, 2, VRNIC_DOORBELL_PAGE + i, 8,
				   (uint64_t)(i * 7919) << 32);
	rig_run();
	CHECK(!is_in_error(&bench->qa));
	rig_doorbell(&bench->a, VRNIC_DOORBELL_SEND, 3, RIG_WRS + 1);
	rig_run();
	CHECK(machine_event_of(&bench->a, 0, VRNIC_EVENT_QP_FATAL, &number) && number == 3);
	CHECK(is_in_error(&bench->qa));
	bench_free(bench);
}

static bool state_has(struct function *function, const char *words)
{
	char text[4096] = "";
	FILE *file = tmpfile();

	vrnic_device.state(function, fileno(file));
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	return strstr(text, words);
}

static void test_loopback(void)
{
	struct machine machine;
	struct queue queue;
	struct pair one, two;
	struct buffer buffer;
	struct vrnic_send_wr wr;

	machine_make(&machine);
	queue_make(&machine, &queue, 1, 64);
	pair_make(&machine, &one, 1, VRNIC_QP_RC, &queue, &queue);
	pair_make(&machine, &two, 2, VRNIC_QP_RC, &queue, &queue);
	pair_connect(&one, machine_lid(&machine), 2);
	pair_connect(&two, machine_lid(&machine), 1);
	buffer_make(&machine, &buffer, 1, SIZE, ALL);
	fill(&buffer, 5);
	pair_receive(&two, 2, &buffer, 500000, 400000);
	wr = wr_of(VRNIC_WR_SEND, 1, &buffer, 0, 400000);
	pair_post(&one, &wr);
	rig_run();
	CHECK(status_of(&queue) == VRNIC_WC_OK && status_of(&queue) == VRNIC_WC_OK);
	CHECK(!memcmp(buffer.bytes, buffer.bytes + 500000, 400000));
	CHECK(state_has(&machine.function, "qp 2 RC RTS peer 1/1 "));
	CHECK(state_has(&machine.function, "mr 0x0000015a pd 7 "));
	CHECK(!state_has(&machine.function, "qp 3 "));
	machine_free(&machine);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "registers", test_registers },
		{ "commands", test_commands },
		{ "MR commands", test_mr_commands },
		{ "send", test_send },
		{ "inline", test_inline },
		{ "write and read", test_write_and_read },
		{ "many", test_many },
		{ "atomics", test_atomics },
		{ "atomic again", test_atomic_again },
		{ "fence", test_fence },
		{ "remote refusals", test_remote_refusals },
		{ "remote rights", test_remote_rights },
		{ "domains", test_domains },
		{ "local refusals", test_local_refusals },
		{ "receive refusals", test_receive_refusals },
		{ "flush", test_flush },
		{ "reset and again", test_reset_and_again },
		{ "RNR", test_rnr },
		{ "retries", test_retries },
		{ "nobody", test_nobody },
		{ "datagrams", test_datagrams },
		{ "page request, remote", test_page_request_remote },
		{ "page request, local", test_page_request_local },
		{ "page request, receive", test_page_request_receive },
		{ "unmapped midway", test_unmap_midway },
		{ "overrun", test_overrun },
		{ "events", test_events },
		{ "cqe-error", test_cqe_error },
		{ "destroyed with work", test_destroy_with_work },
		{ "reset in DMA", test_reset_in_dma },
		{ "bad doorbells", test_bad_doorbells },
		{ "loopback", test_loopback },
		{ "fuzz", test_fuzz },
		{ "link", test_link },
		{ "link, garbage", test_link_garbage },
	};
	unsigned int i;

	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		unsigned int before = rig_failures;

		vrnic_set_first_lid(1);
		tests[i].run();
		printf("%s: %s\n", tests[i].name, rig_failures == before ? "passed" : "FAILED");
	}
	printf("%u checks, %u failed\n", rig_checks, rig_failures);
	return rig_failures ? 1 : 0;
}
