// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. How it tells that work is done. */
#include "test_vrnic.h"

void test_overrun(void)
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
		while (!queue_status(&bench->a_send))
			;
	}
	CHECK(!machine_event_of(&bench->a, 0, VRNIC_EVENT_CQ_ERROR, &number));
	CHECK(!pair_failed(&bench->qa));
	for (i = 0; i < 9; i++)
		pair_post(&bench->qa, &wr);
	rig_run();
	CHECK(machine_event_of(&bench->a, 0, VRNIC_EVENT_CQ_ERROR, &number) && number == 1);
	CHECK(machine_event_of(&bench->a, 0, VRNIC_EVENT_QP_FATAL, &number) && number == 3);
	CHECK(pair_failed(&bench->qa));
	for (i = 0; i < 8; i++)
		CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	CHECK(queue_status(&bench->a_send) == -1);
	bench_free(bench);
}

void test_events(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);
	struct vrnic_send_wr wr = wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 8, &bench->to, 0);
	uint32_t number;

	bench_post(bench, wr);
	CHECK(!machine_event_of(&bench->a, 1, VRNIC_EVENT_COMPLETION, &number));
	/* Armed with the completion seen: the next one tells. */
	rig_doorbell(&bench->a, VRNIC_DOORBELL_ARM, 1, 1);
	rig_run();
	CHECK(!machine_event_of(&bench->a, 1, VRNIC_EVENT_COMPLETION, &number));
	bench_post(bench, wr);
	CHECK(machine_event_of(&bench->a, 1, VRNIC_EVENT_COMPLETION, &number) && number == 1);
	CHECK(bench->a.interrupts[1] == 1);
	bench_post(bench, wr);
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
	bench_post(bench, wr);
	CHECK(!machine_event_of(&bench->b, 1, VRNIC_EVENT_COMPLETION, &number));
	wr.flags |= VRNIC_WR_SOLICITED;
	bench_post(bench, wr);
	CHECK(machine_event_of(&bench->b, 1, VRNIC_EVENT_COMPLETION, &number) && number == 2);
	bench_free(bench);
}

void test_cqe_error(void)
{
	struct bench *bench = bench_new(VRNIC_QP_RC);

	bench->a.function.faults.on = 1u << FAULT_CQE_ERROR;
	bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 100, &bench->to, 0));
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_GENERAL);
	CHECK(!memcmp(bench->to.bytes, bench->from.bytes, 100));
	bench->a.function.faults.on = 0;
	bench_post(bench, wr_remote(VRNIC_WR_WRITE, 1, &bench->from, 100, &bench->to, 0));
	CHECK(queue_status(&bench->a_send) == VRNIC_WC_OK);
	bench_free(bench);
}
