// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../selftest/trace.h"

#define SMALLEST_PAGE	(1ULL << 12)

uint64_t table_entries(uint64_t page_sizes, uint64_t iova, uint64_t address, uint64_t size)
{
	uint64_t entries = 0;

	while (size) {
		uint64_t page = SMALLEST_PAGE;

		for (uint64_t larger = page << 1; larger && larger <= size; larger <<= 1)
			if (page_sizes & larger && !((iova | address) & (larger - 1)))
				page = larger;
		iova += page;
		address += page;
		size -= page < size ? page : size;
		entries++;
	}
	return entries;
}

/* These are false for an event that is not understood. */
static bool add_map(const char *line, const struct subject *subject, uint64_t page_sizes,
		    struct events *events)
{
	uint64_t iova, address, size;

	if (!trace_parse_map(line, &iova, &address, &size))
		return false;
	if (!subject->ranges || !ranges_hold(subject->ranges, address, size))
		return true;
	events->maps++;
	events->mapped += size;
	events->table += table_entries(page_sizes, iova, address, size);
	return true;
}

static bool add_bounce(const char *line, const struct subject *subject, struct events *events)
{
	const char *text = strstr(line, " size=");
	char device[128];
	uint64_t size;

	if (!text || !trace_parse_bounce(line, device, sizeof(device)) ||
	    sscanf(text, " size=%" SCNu64, &size) != 1)
		return false;
	if (subject->initiator && !strcmp(device, subject->initiator->pci))
		events->copied += size;
	return true;
}

static bool add_pages_made(const char *line, struct events *events)
{
	const char *text = strstr(line, " size=");
	uint64_t size;

	if (!text || sscanf(text, " size=%" SCNx64, &size) != 1)
		return false;
	events->made += size;
	return true;
}

static bool add_request(const char *line, const struct subject *subject, struct events *events)
{
	const struct initiator *disk = subject->initiator;
	struct trace_request request;

	if (!trace_parse_request(line, &request))
		return false;
	if (!disk || disk->kind != INITIATOR_BLOCK || disk->number != request.number ||
	    request.start < subject->place || request.start - subject->place >= subject->bytes)
		return true;
	events->requested += request.size;
	if (subject->ranges)
		events->entries += ranges_entries(subject->ranges, request.start - subject->place,
						  request.size);
	return true;
}

static bool add_line(const char *line, const struct subject *subject, uint64_t page_sizes,
		     struct events *events)
{
	if (strstr(line, " map: "))
		return add_map(line, subject, page_sizes, events);
	if (strstr(line, " swiotlb_bounced: "))
		return add_bounce(line, subject, events);
	if (strstr(line, " block_rq_issue: "))
		return add_request(line, subject, events);
	return !strstr(line, " vpeer_chunk_map: ") || add_pages_made(line, events);
}

void events_read(struct events *events, const char *trace_file, const struct subject *subject,
		 uint64_t page_sizes)
{
	FILE *file = fopen(trace_file, "re");
	char *line = NULL;
	size_t room = 0;

	*events = (struct events){ 0 };
	while (file && getline(&line, &room, file) > 0) {
		if (line[0] == '#') {
			if (trace_parse_lost(line))
				events->problem = "events were lost: the trace buffer wrapped";
		} else if (!add_line(line, subject, page_sizes, events)) {
			events->problem = "an event of this kernel is not understood";
		}
	}
	if (!file || ferror(file))
		events->problem = "the trace is not readable";
	free(line);
	if (file)
		fclose(file);
}
