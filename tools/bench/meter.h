/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counted work: what the kernel and the machine did for one sample. */
#ifndef METER_H
#define METER_H

#include "../selftest/trace.h"
#include "counters.h"
#include "events.h"

/* Of a source that may not be readable. */
struct reading {
	uint64_t value;
	bool known;
};

struct snapshot {
	struct reading pins;		/* of the whole machine */
	struct reading faults, huge;	/* faults and bytes of huge pages of this process */
	struct reading faults_4k, faults_2m, scrubbed;	/* of the aperture */
	struct reading sent, received;	/* packets of soft RDMA */
	struct reading instructions;
};

#define REASON_LEN	384

struct meter {
	const struct trace *trace;
	char aperture[64];		/* directory in sysfs */
	int perf;
	uint64_t page_sizes;		/* of the IOMMU, as a bitmap */
	char page_sizes_source[96];
	const char *no_pages_made, *no_requests;	/* why these events are not seen */
	const char *no_recording;	/* why no event is */
	struct snapshot before;
	char reasons[COUNTERS][REASON_LEN];	/* why the last sample does not tell */
	char missing[COUNTERS][REASON_LEN];	/* the first of these that left a figure out */
};

/* @trace was begun. Never fails: what is missing is said. */
void meter_begin(struct meter *meter, const struct trace *trace, unsigned int index);
void meter_end(struct meter *meter);

void meter_start(struct meter *meter, const struct subject *subject);
void meter_stop(struct meter *meter, const struct subject *subject, struct counts *counts);

/* Of a sample whose memory did not stay where subject->ranges has it. */
void meter_moved(struct meter *meter, struct counts *counts);

/*
 * The last of @count samples, less what the work of others may be part of.
 * @whose: comparison and side, for the reason of what is missing.
 */
struct counts meter_settle(struct meter *meter, const struct counts *samples, size_t count,
			   bool window, const char *whose);

/*
 * Why a number of packets, in one direction, does not tell that @bytes went
 * through packets of @payload bytes, or with 0 that nothing did. NULL: it does.
 */
const char *packets_problem(uint64_t packets, uint64_t bytes, uint64_t payload);

#endif /* METER_H */
