/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Host memory to compare with, and where memory lies physically. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUGE_PAGE	(2UL << 20)

struct host_memory {
	void *mapped;
	size_t mapped_length;
	uint8_t *start;		/* 2 MiB aligned */
	size_t length;
};

/* Physically contiguous runs, in the order of the virtual addresses. */
struct ranges {
	struct range {
		uint64_t start;
		uint64_t size;
	} *items;
	size_t count;
};

/* Untouched memory; @huge: by transparent huge pages, else by none. 0 or -errno. */
int host_map(struct host_memory *memory, size_t length, bool huge);
void host_unmap(struct host_memory *memory);

/* One store to each 4 KiB. */
void memory_touch(uint8_t *start, size_t length);

/*
 * Entries a scatterlist needs, from /proc/self/pagemap: the length must be
 * touched memory. 0, or -EACCES when the kernel hides the addresses, or
 * another negative errno. ranges_end() in any case.
 */
int ranges_read(struct ranges *ranges, const void *start, size_t length);
void ranges_add(struct ranges *ranges, uint64_t address, uint64_t size);
bool ranges_equal(const struct ranges *left, const struct ranges *right);
bool ranges_hold(const struct ranges *ranges, uint64_t address, uint64_t size);

/* How many of them lie in [@start, @start + @size) of the memory. */
uint64_t ranges_entries(const struct ranges *ranges, uint64_t start, uint64_t size);
void ranges_end(struct ranges *ranges);

#endif /* MEMORY_H */
