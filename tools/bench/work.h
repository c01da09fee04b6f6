/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations that are done to a window and, in the same way, to host memory. */
#ifndef WORK_H
#define WORK_H

#include "../selftest/rdma.h"
#include "../selftest/scratch.h"
#include "../util.h"
#include "memory.h"
#include "meter.h"

enum side { WINDOW, HOST };

/* Of a sample that is counted, not timed. */
struct counting {
	struct meter *meter;
	struct subject subject;
	struct counts counts;
};

struct work {
	const struct vpeer_entry *entry;
	const struct initiator *initiator;	/* NULL: the CPU */
	bool huge;			/* host memory of huge pages */
	uint64_t bytes;			/* in a sample */
	uint64_t piece;			/* in an RDMA transfer */
	struct vpeer_aperture *aperture;
	struct vpeer_window *window;
	struct host_memory host, local;
	uint8_t *memory[2];		/* of the sides; NULL before a sample makes it */
	struct ranges ranges[2];
	struct rdma rdma;
	struct ibv_mr *mr[2], *local_mr;
	int disk;			/* descriptor, -1 without */
	uint64_t place;			/* on the disk */
	double idle_since;		/* of the aperture's pages */
	double started;			/* of the sample */
	struct counting *counting;	/* NULL: the sample is timed */
	uint64_t bytes_pinned;		/* the module's count while registered */
};

struct operation {
	const char *name;
	bool registers;			/* the memory becomes a scatterlist as a whole */
	bool sends;			/* RDMA packets */
	/* All return 0 or a negative errno with @error filled. */
	int (*begin)(struct work *work, struct vpeer_error *error);
	/* One sample: the seconds that count. */
	int (*run)(struct work *work, enum side side, double *seconds, struct vpeer_error *error);
};

extern const struct operation operation_touch, operation_register, operation_deregister,
	operation_rdma_write, operation_rdma_read, operation_disk_read, operation_disk_write;

double now(void);

/* What lies between counts, in seconds or in counted work. */
void work_start(struct work *work);
double work_stop(struct work *work);

/* Touched window and host memory of work->bytes. */
int work_take(struct work *work, struct vpeer_error *error);
int work_open_aperture(struct work *work, struct vpeer_error *error);
void work_end(struct work *work);

const char *side_name(enum side side);

#endif /* WORK_H */
