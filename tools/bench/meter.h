/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counted work: what the kernel and the machine did for one sample. */
#ifndef METER_H
#define METER_H

#include "../selftest/initiator.h"
#include "../selftest/trace.h"
#include "memory.h"

enum counter {
	COUNT_COPIED,		/* bytes the CPU copied */
	COUNT_ZEROED,		/* bytes the kernel zeroed */
	COUNT_ENTRIES,		/* scatterlist entries */
	COUNT_MAPS,		/* IOMMU map calls for the memory */
	COUNT_MAPPED,		/* their bytes */
	COUNT_TABLE,		/* IOMMU page-table entries written for them */
	COUNT_PINS,		/* pages pinned */
	COUNT_FAULTS_4K,
	COUNT_FAULTS_2M,
	COUNT_MADE,		/* bytes that got struct pages */
	COUNT_INSTRUCTIONS,
	COUNTERS
};

struct counts {
	uint64_t value[COUNTERS];
	bool known[COUNTERS];
};

/* Who did what to which memory. */
struct subject {
	bool window;			/* else host memory */
	const struct initiator *initiator;	/* NULL: the CPU alone */
	uint64_t bytes;			/* moved, registered or touched */
	uint64_t request;		/* bytes a scatterlist is made for; 0 for none */
	const struct ranges *ranges;	/* of the memory; NULL when not known */
};

struct snapshot {
	uint64_t pinned_pages, huge_faults;	/* of /proc/vmstat */
	uint64_t faults;			/* of this process */
	uint64_t faults_4k, faults_2m, scrubbed;	/* of the aperture */
	uint64_t sent, received;		/* packets of soft RDMA */
	uint64_t instructions;
	bool has_pins, has_huge, has_packets;
};

struct meter {
	const struct trace *trace;
	char aperture[64];		/* directory in sysfs */
	int perf;
	uint64_t page_sizes;		/* of the IOMMU, as a bitmap */
	char page_sizes_source[96];
	bool sees_pages_made;
	struct snapshot before;
	char missing[COUNTERS][256];	/* why a counter is not read; empty: it is */
};

/* @trace was begun. Never fails: what is missing is said. */
void meter_begin(struct meter *meter, const struct trace *trace, unsigned int index);
void meter_end(struct meter *meter);

void meter_start(struct meter *meter, const struct subject *subject);
void meter_stop(struct meter *meter, const struct subject *subject, struct counts *counts);

/* Name in the JSON document, title in the table, and where the figure comes from. */
const char *counter_name(enum counter counter);
const char *counter_title(enum counter counter);
const char *counter_source(enum counter counter);

/* Scatterlist entries when each @request bytes of the memory get a list of their own. */
uint64_t meter_entries(const struct ranges *ranges, uint64_t request);

/* Page-table entries for a mapping, by the largest pages that fit. */
uint64_t meter_table_entries(uint64_t page_sizes, uint64_t iova, uint64_t address, uint64_t size);

/* Reads @trace_file's events into @counts; false if events were lost or it is not readable. */
bool meter_read_events(const char *trace_file, const struct subject *subject,
		       uint64_t page_sizes, struct counts *counts);

#endif /* METER_H */
