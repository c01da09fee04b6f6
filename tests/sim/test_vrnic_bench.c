// SPDX-License-Identifier: GPL-2.0-only
/* Two functions with a connection between them. */
#include "test_vrnic.h"

void buffer_fill(struct buffer *buffer, unsigned int seed)
{
	uint64_t i;

	for (i = 0; i < buffer->length; i++)
		buffer->bytes[i] = seed + i * 7 + (i >> 8);
}

void bench_open(struct bench *bench, uint32_t type, uint32_t entries)
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
	buffer_make(&bench->a, &bench->from, 1, BENCH_SIZE, ALL);
	buffer_make(&bench->b, &bench->to, 9, BENCH_SIZE, ALL);
	buffer_fill(&bench->from, 3);
}

struct bench *bench_new(uint32_t type)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (!bench)
		abort();
	bench_open(bench, type, RIG_CQ_ENTRIES);
	return bench;
}

void bench_free(struct bench *bench)
{
	machine_free(&bench->a);
	machine_free(&bench->b);
	free(bench);
}

int queue_status(struct queue *queue)
{
	struct vrnic_completion completion;

	return queue_poll(queue, &completion) ? completion.status : -1;
}

bool pair_failed(struct pair *pair)
{
	struct vrnic_cmd_modify_qp answer;

	return pair_query(pair, &answer) == VRNIC_OK && answer.state == VRNIC_QPS_ERROR;
}

void bench_post(struct bench *bench, struct vrnic_send_wr wr)
{
	pair_post(&bench->qa, &wr);
	rig_run();
}
