/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a sample's events in the trace say of its memory. */
#ifndef EVENTS_H
#define EVENTS_H

#include "../selftest/initiator.h"
#include "memory.h"

/* Who did what to which memory. */
struct subject {
	bool window;			/* else host memory */
	const struct initiator *initiator;	/* NULL: the CPU alone */
	uint64_t bytes;			/* moved, registered or touched */
	uint64_t place;			/* of them on the disk */
	bool registers;			/* the memory becomes a scatterlist as a whole */
	uint64_t payload;		/* of an RDMA packet; 0: none is sent */
	const struct ranges *ranges;	/* of the memory; NULL when not known */
};

struct events {
	uint64_t copied;		/* bytes bounced for the initiator */
	uint64_t maps, mapped, table;	/* IOMMU mappings of the memory, bytes, entries */
	uint64_t made;			/* bytes that got struct pages */
	uint64_t requested;		/* bytes that the disk was asked for */
	uint64_t entries;		/* of these requests' scatterlists */
	const char *problem;		/* why all that is not known, NULL: it is */
};

void events_read(struct events *events, const char *trace_file, const struct subject *subject,
		 uint64_t page_sizes);

/* Page-table entries for a mapping, by the largest pages that fit. */
uint64_t table_entries(uint64_t page_sizes, uint64_t iova, uint64_t address, uint64_t size);

#endif /* EVENTS_H */
