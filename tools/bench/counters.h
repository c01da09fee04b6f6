/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is counted of a sample, and when such counts can be relied on. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A value that is not known is 0. */
struct counts {
	uint64_t value[COUNTERS];
	bool known[COUNTERS];
};

/* Samples that are counted, for counters that others' work is part of. */
#define MOST_COUNTED	4

/* Name in the JSON document, title in the table, and where the figure comes from. */
const char *counter_name(enum counter counter);
const char *counter_title(enum counter counter);
const char *counter_source(enum counter counter);

void counts_set(struct counts *counts, enum counter counter, bool known, uint64_t value);

/*
 * Whether the last of @count samples of the same work tells the work's own
 * share: of what is counted of the whole machine or aperture others only add
 * to it, so that the last two agree and none is less. What others can also
 * lessen has to be the same in all.
 */
bool counts_settled(const struct counts *samples, size_t count, bool window,
		    enum counter counter);
bool counts_all_settled(const struct counts *samples, size_t count, bool window);

#endif /* COUNTERS_H */
