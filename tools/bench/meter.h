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

struct meter {
	const struct trace *trace;
	char aperture[64];		/* directory in sysfs */
	int perf;
	uint64_t page_sizes;		/* of the IOMMU, as a bitmap */
	char page_sizes_source[96];
	const char *no_pages_made, *no_requests;	/* why these events are not seen */
	struct snapshot before;
	char missing[COUNTERS][256];	/* why a counter was not read; empty: it was */
};

/* @trace was begun. Never fails: what is missing is said. */
void meter_begin(struct meter *meter, const struct trace *trace, unsigned int index);
void meter_end(struct meter *meter);

void meter_start(struct meter *meter, const struct subject *subject);
void meter_stop(struct meter *meter, const struct subject *subject, struct counts *counts);

/* The last of @count samples, less what others may have added to. */
struct counts meter_settle(struct meter *meter, const struct counts *samples, size_t count,
			   bool window);

#endif /* METER_H */
