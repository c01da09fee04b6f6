// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <string.h>

#include "vgpu_engine.h"
#include "vgpu_regs.h"

#define STEP_BYTES	(1ULL << 20)

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool in_memory(const struct vgpu_memory *memory, uint64_t address, uint64_t length)
{
	uint64_t size = memory->pages * VGPU_PAGE_SIZE;

	return length && length <= size && address <= size - length;
}

static bool has_source(const struct vgpu_job *job)
{
	return job->operation != VGPU_FILL;
}

static bool has_destination(const struct vgpu_job *job)
{
	return job->operation != VGPU_CHECKSUM;
}

static bool overlap(const struct vgpu_job *job)
{
	return job->source < job->destination + job->length &&
	       job->destination < job->source + job->length;
}

static int start_bytes(struct vgpu_job *job, const struct vgpu_memory *memory)
{
	if (has_source(job) && !in_memory(memory, job->source, job->length))
		return VGPU_BAD_ARGUMENT;
	if (has_destination(job) && !in_memory(memory, job->destination, job->length))
		return VGPU_BAD_ARGUMENT;
	if (job->operation == VGPU_COPY && overlap(job))
		return VGPU_BAD_ARGUMENT;
	if (job->operation == VGPU_CHECKSUM)
		job->result = VGPU_FNV_BASIS;
	if (job->operation == VGPU_COMPARE)
		job->result = job->length;
	return VGPU_RUNNING;
}

int vgpu_job_start(struct vgpu_job *job, struct vgpu_memory *memory)
{
	job->done = 0;
	job->result = 0;
	switch (job->operation) {
	case VGPU_FILL:
	case VGPU_COPY:
	case VGPU_CHECKSUM:
	case VGPU_COMPARE:
		return start_bytes(job, memory);
	case VGPU_ALLOC:
		return vgpu_memory_alloc(memory, job->count, &job->result);
	case VGPU_FREE:
		return vgpu_memory_free(memory, job->page, job->count);
	case VGPU_MAP:
		return vgpu_memory_map(memory, job->page, job->aperture_page, job->count);
	case VGPU_UNMAP:
		return vgpu_memory_unmap(memory, job->aperture_page, job->count);
	default:
		return VGPU_BAD_ARGUMENT;
	}
}

static void fill(const struct vgpu_job *job, uint8_t *to, uint64_t length)
{
	for (uint64_t at = 0; at < length; at++)
		to[at] = job->pattern >> (job->done + at) % 8 * 8;
}

static void checksum(struct vgpu_job *job, const uint8_t *from, uint64_t length)
{
	uint64_t sum = job->result;

	for (uint64_t at = 0; at < length; at++)
		sum = (sum ^ from[at]) * VGPU_FNV_PRIME;
	job->result = sum;
}

/* Returns whether the bytes are the same. The guest may change them meanwhile. */
static bool compare(struct vgpu_job *job, const uint8_t *one, const uint8_t *other, uint64_t length)
{
	for (uint64_t at = 0; at < length; at++)
		if (one[at] != other[at]) {
			job->result = job->done + at;
			return false;
		}
	return true;
}

static uint64_t to_page_end(uint64_t address)
{
	return VGPU_PAGE_SIZE - address % VGPU_PAGE_SIZE;
}

/* As far as source and destination each stay within a page. */
static bool do_part(struct vgpu_job *job, struct vgpu_memory *memory)
{
	uint64_t source = job->source + job->done, destination = job->destination + job->done;
	uint64_t length = job->length - job->done;
	uint8_t *from = NULL, *to = NULL;
	bool go_on = true;

	if (has_source(job)) {
		from = vgpu_memory_at(memory, source);
		length = least(length, to_page_end(source));
	}
	if (has_destination(job)) {
		to = vgpu_memory_at(memory, destination);
		length = least(length, to_page_end(destination));
	}
	if (job->operation == VGPU_FILL)
		fill(job, to, length);
	else if (job->operation == VGPU_COPY)
		memcpy(to, from, length);
	else if (job->operation == VGPU_CHECKSUM)
		checksum(job, from, length);
	else
		go_on = compare(job, from, to, length);
	job->done += length;
	return go_on;
}

int vgpu_job_step(struct vgpu_job *job, struct vgpu_memory *memory)
{
	uint64_t end = least(job->length, job->done + STEP_BYTES);

	while (job->done < end)
		if (!do_part(job, memory))
			return VGPU_DONE;
	return job->done == job->length ? VGPU_DONE : VGPU_RUNNING;
}
