// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. It says of each access whether that is to its own queues or to memory of regions. */
#include "test_vrnic.h"

#define ENTRIES	8	/* of CQs: so few that it must look how far they were taken */

struct area {
	uint64_t iova, length;
	bool own;
	unsigned int seen;
};

#define AREAS	12

struct areas {
	const struct machine *machine;
	struct area area[AREAS];
	unsigned int count;
};

static struct areas of_a, of_b;
static unsigned int strangers;

static void add(struct areas *areas, uint64_t iova, uint64_t length, bool own)
{
	areas->area[areas->count++] = (struct area){ iova, length, own, 0 };
}

static void add_queue(struct areas *areas, const struct queue *queue)
{
	add(areas, queue->ring, ENTRIES * sizeof(struct vrnic_completion), true);
	add(areas, queue->consumer, sizeof(uint32_t), true);
}

static void add_all(struct areas *areas, const struct pair *pair, const struct buffer *buffer)
{
	const struct machine *machine = pair->machine;

	*areas = (struct areas){ .machine = machine };
	add(areas, machine->command, VRNIC_COMMAND_SIZE, true);
	add(areas, machine->eqs[0], RIG_EQ_ENTRIES * sizeof(struct vrnic_event), true);
	add(areas, machine->eqs[1], RIG_EQ_ENTRIES * sizeof(struct vrnic_event), true);
	add(areas, pair->send_ring, RIG_WRS * 128, true);
	add(areas, pair->receive_ring, RIG_WRS * 128, true);
	add_queue(areas, pair->send_cq);
	add_queue(areas, pair->receive_cq);
	add(areas, buffer->iova, buffer->length, false);
}

static void look(struct machine *machine)
{
	struct areas *areas = machine == of_a.machine ? &of_a : &of_b;

	for (unsigned int i = 0; i < areas->count; i++) {
		struct area *area = &areas->area[i];

		if (machine->dma_at < area->iova || machine->dma_at - area->iova >= area->length)
			continue;
		area->seen++;
		CHECK(machine->function.own_queues == area->own);
		return;
	}
	strangers++;
}

static bool all_seen(const struct areas *areas)
{
	for (unsigned int i = 0; i < areas->count; i++)
		if (!areas->area[i].seen)
			return false;
	return areas->count > 0;
}

static void send_one(struct bench *bench, struct pair *from, struct pair *to,
		     const struct buffer *source, const struct buffer *sink)
{
	struct vrnic_send_wr wr = wr_of(VRNIC_WR_SEND, 1, source, 0, 100000);

	pair_receive(to, 1, sink, 0, 100000);
	pair_post(from, &wr);
	rig_run();
	CHECK(queue_status(from->send_cq) == VRNIC_WC_OK);
	CHECK(queue_status(to->receive_cq) == VRNIC_WC_OK);
	rig_doorbell(&bench->a, VRNIC_DOORBELL_ARM, 1, bench->a_send.taken);
	rig_doorbell(&bench->b, VRNIC_DOORBELL_ARM, 1, bench->b_send.taken);
}

static void move_all_ways(struct bench *bench)
{
	static const unsigned int opcodes[] = { VRNIC_WR_WRITE, VRNIC_WR_READ, VRNIC_WR_FETCH_ADD };

	for (unsigned int i = 0; i < 3 * ENTRIES; i++) {
		unsigned int opcode = opcodes[i % 3];
		uint32_t length = opcode == VRNIC_WR_FETCH_ADD ? 8 : 100000;

		send_one(bench, &bench->qa, &bench->qb, &bench->from, &bench->to);
		send_one(bench, &bench->qb, &bench->qa, &bench->to, &bench->from);
		bench_post(bench, wr_remote(opcode, 1, &bench->from, length, &bench->to, 0));
		CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	}
}

void test_own_queues(void)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (!bench)
		abort();
	bench_open(bench, VRNIC_QP_RC, ENTRIES);
	add_all(&of_a, &bench->qa, &bench->from);
	add_all(&of_b, &bench->qb, &bench->to);
	bench->a.during_dma = look;
	bench->b.during_dma = look;
	strangers = 0;
	move_all_ways(bench);
	CHECK(!pair_failed(&bench->qa) && !pair_failed(&bench->qb));
	CHECK(all_seen(&of_a) && all_seen(&of_b) && !strangers);
	bench_free(bench);
}
