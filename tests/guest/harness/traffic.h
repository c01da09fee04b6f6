/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process that has registered a DMA-buf with one of two RDMA functions and moves changing bytes between it
 * and memory at the other, whatever becomes of it.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TRAFFIC_BATCH	8			/* writes to the DMA-buf's memory, and a read */
#define TRAFFIC_CHUNK	(16 << 10)		/* bytes of each */
#define TRAFFIC_SIZE	(TRAFFIC_BATCH * TRAFFIC_CHUNK)

/* Batches are numbered from 1. */
struct traffic_state {
	atomic_bool go, end;
	atomic_bool idle;	/* has seen that it is not to go */
	atomic_uint begun;
	atomic_uint last_good;	/* of which anything succeeded */
};

struct traffic {
	pid_t pid;
	struct traffic_state *state;
};

/*
 * Registers TRAFFIC_SIZE bytes of the DMA-buf from OFFSET on; with the initiator, which reaches them by lkey,
 * or with the target. Returns once a first batch has succeeded; KEPT, if not -1, is closed in the process, as
 * the DMA-buf is.
 */
void traffic_start(struct traffic *t, int dmabuf, uint64_t offset, bool by_lkey, int kept);

/* Batches without end, or none; the last one is over then. Some must have begun in between. */
void traffic_go(struct traffic *t, bool on);

/* Waits until so many more have begun. */
void traffic_wait(const struct traffic *t, unsigned int batches);

/* Deregisters and ends; checks how it ended. */
void traffic_release(struct traffic *t);

void traffic_kill(struct traffic *t);

#endif /* TRAFFIC_H */
