/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A private tracing instance that shows IOMMU mappings and bounce buffers. */
#ifndef TRACE_H
#define TRACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"

struct trace {
	char path[PATH_MAX];	/* of the instance; empty when there is none */
	int held;		/* open file in it, so that nobody else removes it */
	bool mappings;		/* event iommu:map is on */
	bool bounces;		/* event swiotlb:swiotlb_bounced is on */
	bool no_swiotlb;	/* the kernel has no bounce buffers */
	char problem[256];	/* why something is off */
};

#define DEBUGFS	"/sys/kernel/debug"

struct swiotlb_state {
	bool absent;		/* the kernel allocated no bounce buffers at all */
	bool readable;
	bool has_high_water;
	uint64_t used;
	uint64_t high_water;
};

struct trace_hits {
	uint64_t mappings;	/* whose physical range lies inside the window */
	uint64_t first_iova;
	uint64_t first_address;
	uint64_t bounces;	/* of the device */
	uint64_t other_bounces;	/* of other devices */
	bool lost;		/* the buffer wrapped */
};

/*
 * One line of a trace file. True when it is an iommu:map event.
 * @size is in bytes.
 */
bool trace_parse_map(const char *line, uint64_t *iova, uint64_t *address, uint64_t *size);

/* True when it is a swiotlb_bounced event; @device is its device name. */
bool trace_parse_bounce(const char *line, char *device, size_t size);

/* A request that a disk's driver got: @number is the disk's, the rest in bytes. */
struct trace_request {
	dev_t number;
	uint64_t start;
	uint64_t size;
};

/* True when it is a block_rq_issue event. */
bool trace_parse_request(const char *line, struct trace_request *request);

/* True when the header says that events were overwritten. */
bool trace_parse_lost(const char *line);

/*
 * Never fails: what does not work is said in the structure. @root is where
 * tracefs is, NULL to look for it. Removes what killed selftests left there.
 */
void trace_begin(struct trace *trace, const char *root);
void trace_end(struct trace *trace);

/* Forgets what was recorded; keeps only mappings of the given range. */
void trace_watch(const struct trace *trace, uint64_t start, uint64_t size);

/* 0 or a negative errno. @device may be empty. */
int trace_collect(const struct trace *trace, uint64_t start, uint64_t size, const char *device,
		  struct trace_hits *hits);

/* Reads the counters below @debugfs, after resetting the high-water mark if @reset. */
void swiotlb_read(struct swiotlb_state *state, const char *debugfs, bool reset);

#endif /* TRACE_H */
