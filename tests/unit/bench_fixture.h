/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What tests of "vpeer bench" share: units, and the trace of a disk that reads. */
#ifndef BENCH_FIXTURE_H
#define BENCH_FIXTURE_H

#include <stdbool.h>

#include "bench/events.h"

#define GIB	(1ULL << 30)
#define MIB	(1ULL << 20)
#define TINY	0.000001

bool near(double got, double wanted, double most);

/* A disk reads 32 KiB into memory of three runs. */
struct disk_read {
	struct initiator disk;
	struct ranges ranges;
	struct subject subject;
};

void disk_read_make(struct disk_read *read);
void disk_read_end(struct disk_read *read);

/* Headers of a trace from which no event is lost, and of one from which some are. */
#define TRACE_WHOLE	"# entries-in-buffer/entries-written: 6/6   #P:2\n"
#define TRACE_LOST	"# entries-in-buffer/entries-written: 5/6   #P:2\n"

/* The events of struct disk_read among those of others. */
extern const char disk_read_trace[];

/* Makes @root/trace of the two texts and reads it. */
void read_trace(const char *root, const char *header, const char *text,
		const struct subject *subject, struct events *events);

#endif /* BENCH_FIXTURE_H */
