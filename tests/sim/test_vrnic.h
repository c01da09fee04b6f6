/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests of vrnic without QEMU, driven as a driver does, and as none should. */
#ifndef SIM_TEST_VRNIC_H
#define SIM_TEST_VRNIC_H

#include "test_rig.h"

#define ALL	(VRNIC_LOCAL_WRITE | VRNIC_REMOTE_WRITE | VRNIC_REMOTE_READ | VRNIC_REMOTE_ATOMIC)
#define BENCH_SIZE	(1u << 20)

/* Two functions with a connection between them, and a buffer of BENCH_SIZE bytes on each side. */
struct bench {
	struct machine a, b;
	struct queue a_send, a_receive, b_send, b_receive;
	struct pair qa, qb;
	struct buffer from, to;
};

/* ENTRIES: of its CQs */
void bench_open(struct bench *bench, uint32_t type, uint32_t entries);
struct bench *bench_new(uint32_t type);
void bench_free(struct bench *bench);
void bench_post(struct bench *bench, struct vrnic_send_wr wr);	/* and lets it run */

void buffer_fill(struct buffer *buffer, unsigned int seed);
int queue_status(struct queue *queue);	/* of the next completion, or -1 for none */
bool pair_failed(struct pair *pair);	/* it is in state ERROR */

/* test_vrnic_commands.c */
void test_registers(void);
void test_commands(void);
void test_mr_commands(void);
void test_bad_doorbells(void);
void test_hang(void);

/* test_vrnic_transfers.c */
void test_send(void);
void test_inline(void);
void test_write_and_read(void);
void test_many(void);
void test_atomics(void);
void test_atomic_again(void);
void test_fence(void);
void test_datagrams(void);
void test_loopback(void);

/* test_vrnic_refusals.c */
void test_remote_refusals(void);
void test_remote_rights(void);
void test_domains(void);
void test_local_refusals(void);
void test_receive_refusals(void);
void test_flush(void);

/* test_vrnic_resets.c */
void test_reset_and_again(void);
void test_destroy_with_work(void);
void test_reset_in_dma(void);

/* test_vrnic_waits.c */
void test_rnr(void);
void test_retries(void);
void test_nobody(void);
void test_page_request_remote(void);
void test_page_request_local(void);
void test_page_request_receive(void);
void test_unmap_midway(void);

/* test_vrnic_completions.c */
void test_overrun(void);
void test_events(void);
void test_cqe_error(void);

/* test_vrnic_counters.c */
void test_page_request_count(void);
void test_event_count(void);
void test_completion_count(void);

/* test_vrnic_queues.c */
void test_own_queues(void);

/* test_vrnic_segments.c */
void test_segments(void);

/* test_vrnic_slow.c */
void test_slow_turns(void);

/* test_vrnic_memory.c */
void test_no_memory(void);

/* test_fuzz.c */
void test_fuzz(void);

/* test_link.c */
void test_link(void);
void test_link_garbage(void);

#endif
