// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. What it moves when all is well. */
#include "test_vrnic.h"

void test_send(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_completion completion;
	struct vrnic_send_wr wr;

	pair_receive(&bench->qb, 100, &bench->to, 0, BENCH_SIZE);
	pair_receive(&bench->qb, 101, &bench->to, 0, 0);
	wr = wr_of(VRNIC_WR_SEND, 1, &bench->from, 0, 300000);
	bench_post(bench, wr);
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
	bench_post(bench, wr);
	CHECK(queue_poll(&bench->b_receive, &completion));
	CHECK(completion.id == 101 && completion.flags == VRNIC_WC_IMMEDIATE);
	CHECK(completion.immediate == 0x12345678 && completion.length == 0);
	CHECK(queue_status(&bench->a_send) == -1);	/* not signaled */
	bench_free(bench);
}

void test_inline(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr = wr_of(VRNIC_WR_WRITE, 1, NULL, 0, 0);

	wr.flags |= VRNIC_WR_INLINE;
	wr.inline_length = 5;
	memcpy(wr.data, "hello", 5);
	wr.remote_address = bench->to.address + 10;
	wr.remote_key = bench->to.key;
	bench_post(bench, wr);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes + 10, "hello\0", 6));
	wr.inline_length = VRNIC_MAX_INLINE + 1;
	bench_post(bench, wr);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_LOCAL_QP);
	bench_free(bench);
}

void test_write_and_read(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_completion completion;
	struct vrnic_send_wr wr;

	bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, BENCH_SIZE, &bench->to, 0));
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, BENCH_SIZE));
	CHECK(queue_status(&bench->b_receive) == -1);
	buffer_fill(&bench->to, 99);
	bench_post(bench, wr_remote(VRNIC_WR_READ, 2, &bench->from, BENCH_SIZE - 12345, &bench->to,
				    12345));
	CHECK(queue_poll(&bench->a_send, &completion));
	CHECK(completion.status == VRNIC_WC_OK && completion.opcode == VRNIC_WC_READ);
	CHECK(!memcmp(bench->from.bytes, bench->to.bytes + 12345, BENCH_SIZE - 12345));
	pair_receive(&bench->qb, 7, NULL, 0, 0);
	wr = wr_remote(VRNIC_WR_WRITE_IMM, 3, &bench->from, 100000, &bench->to, 1);
	wr.immediate = 42;
	bench_post(bench, wr);
	CHECK(queue_poll(&bench->b_receive, &completion));
	CHECK(completion.opcode == VRNIC_WC_RECEIVE_WRITE_IMM && completion.immediate == 42);
	CHECK(completion.length == 100000 && completion.id == 7);
	CHECK(!memcmp(bench->to.bytes + 1, bench->from.bytes, 100000));
	bench_free(bench);
}

void test_many(void)
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

void test_atomics(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint64_t *there = (uint64_t *)(bench->to.bytes + 64), *here = (uint64_t *)bench->from.bytes;
	struct vrnic_send_wr wr =
		wr_remote(VRNIC_WR_FETCH_ADD, 1, &bench->from, 8, &bench->to, 64);

	*there = 40;
	wr.compare_add = 2;
	bench_post(bench, wr);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK && *here == 40 && *there == 42);
	wr.opcode = VRNIC_WR_COMPARE_SWAP;
	wr.compare_add = 41;
	wr.swap = 1;
	bench_post(bench, wr);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK && *here == 42 && *there == 42);
	wr.compare_add = 42;
	bench_post(bench, wr);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK && *here == 42 && *there == 1);
	wr.remote_address += 4;
	bench_post(bench, wr);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_REMOTE_REQUEST);
	CHECK(pair_failed(&bench->qa) && pair_failed(&bench->qb));
	bench_free(bench);
}

/* As a command between two turns would: where the answer goes is unmapped when it comes. */
static void unmap_the_other(struct machine *machine)
{
	struct vrnic *nic = TAILQ_FIRST(&vrnics);

	machine->during_dma = NULL;
	nic->mrs[1]->mapped = false;
}

void test_atomic_again(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	uint64_t *there = (uint64_t *)bench->to.bytes, *here = (uint64_t *)bench->from.bytes;
	struct vrnic_send_wr wr =
		wr_remote(VRNIC_WR_FETCH_ADD, 1, &bench->from, 8, &bench->to, 0);
	uint32_t key;

	*there = 40;
	wr.compare_add = 2;
	bench->b.during_dma = unmap_the_other;
	bench_post(bench, wr);
	CHECK(machine_event_of(&bench->a, 0, VRNIC_EVENT_PAGE_REQUEST, &key));
	rig_run_for(20000);
	CHECK(queue_status(&bench->a_send) == -1 && *there == 42);
	CHECK(buffer_map(&bench->from) == VRNIC_OK);
	rig_run_for(20000);
	/* It was asked for many times, and done once. */
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK && *here == 40 && *there == 42);
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
	bench_post(bench, wr);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(*here == 2 && there[8] == expected);
	bench_free(bench);
}

void test_fence(void)
{
	read_then_write(VRNIC_WR_FENCE, 2);
	read_then_write(0, 1);
}

void test_datagrams(void)
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
	bench_post(bench, wr);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	pair_receive(&bench->qb, 1, &bench->to, 0, 1039);
	bench_post(bench, wr);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(queue_status(&bench->b_receive) == -1);
	wr.sge[0].length = 999;
	wr.qkey++;
	bench_post(bench, wr);
	CHECK(queue_status(&bench->b_receive) == -1);
	wr.qkey = 1u << 31;
	bench_post(bench, wr);
	CHECK(queue_poll(&bench->b_receive, &completion));
	CHECK(completion.length == 1039 && completion.source_qp == 3 && completion.immediate == 9);
	CHECK(completion.source_lid == machine_lid(&bench->a));
	CHECK(bench->to.bytes[0] == 0 && bench->to.bytes[39] == 0);
	CHECK(!memcmp(bench->to.bytes + 40, bench->from.bytes, 999));
	while (!queue_status(&bench->a_send))
		;
	wr.sge[0].length = VRNIC_MTU + 1;
	bench_post(bench, wr);
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_LOCAL_LENGTH);
	bench_free(bench);
}

void test_loopback(void)
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
	buffer_make(&machine, &buffer, 1, BENCH_SIZE, ALL);
	buffer_fill(&buffer, 5);
	pair_receive(&two, 2, &buffer, 500000, 400000);
	wr = wr_of(VRNIC_WR_SEND, 1, &buffer, 0, 400000);
	pair_post(&one, &wr);
	rig_run();
	CHECK(queue_status(&queue) == VRNIC_WC_OK && queue_status(&queue) == VRNIC_WC_OK);
	CHECK(!memcmp(buffer.bytes, buffer.bytes + 500000, 400000));
	CHECK(strstr(machine_state(&machine), "qp 2 RC RTS peer 1/1 "));
	CHECK(strstr(machine_state(&machine), "mr 0x0000015a pd 7 "));
	CHECK(!strstr(machine_state(&machine), "qp 3 "));
	machine_free(&machine);
}
