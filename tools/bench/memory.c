// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../util.h"

#define PAGE		4096U
#define PAGE_PRESENT	(1ULL << 63)
#define PAGE_FRAME	((1ULL << 55) - 1)

/* An entry's length has 32 bits. */
#define LONGEST_ENTRY	((uint64_t)UINT32_MAX - PAGE + 1)

int host_map(struct host_memory *memory, size_t length, bool huge)
{
	size_t reserved = length + HUGE_PAGE;
	void *mapped = mmap(NULL, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	*memory = (struct host_memory){ 0 };
	if (mapped == MAP_FAILED)
		return -errno;
	memory->mapped = mapped;
	memory->mapped_length = reserved;
	memory->start = (uint8_t *)mapped + (-(uintptr_t)mapped & (HUGE_PAGE - 1));
	memory->length = length;
	if (madvise(memory->start, length, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) && huge)
		return -errno;
	return 0;
}

void host_unmap(struct host_memory *memory)
{
	if (memory->mapped)
		munmap(memory->mapped, memory->mapped_length);
	*memory = (struct host_memory){ 0 };
}

void memory_touch(uint8_t *start, size_t length)
{
	for (size_t i = 0; i < length; i += PAGE)
		*(volatile uint8_t *)(start + i) = 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* drains write-combining buffers */
}

void ranges_add(struct ranges *ranges, uint64_t address, uint64_t size)
{
	struct range *last = ranges->count ? &ranges->items[ranges->count - 1] : NULL;

	if (last && last->start + last->size == address && last->size + size <= LONGEST_ENTRY) {
		last->size += size;
		return;
	}
	ranges->items = xrealloc(ranges->items, ranges->count + 1, sizeof(*ranges->items));
	ranges->items[ranges->count++] = (struct range){ address, size };
}

static int add_entries(struct ranges *ranges, const uint64_t *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!(entries[i] & PAGE_PRESENT))
			return -ENODATA;
		if (!(entries[i] & PAGE_FRAME))
			return -EACCES;
		ranges_add(ranges, (entries[i] & PAGE_FRAME) * PAGE, PAGE);
	}
	return 0;
}

int ranges_read(struct ranges *ranges, const void *start, size_t length)
{
	int err = 0, fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	off_t place = (off_t)((uintptr_t)start / PAGE * sizeof(uint64_t));
	uint64_t entries[512];

	*ranges = (struct ranges){ 0 };
	if (fd < 0)
		return -errno;
	for (size_t left = length / PAGE; !err && left;) {
		size_t count = left < ARRAY_SIZE(entries) ? left : ARRAY_SIZE(entries);
		ssize_t wanted = (ssize_t)(count * sizeof(*entries));

		err = pread(fd, entries, (size_t)wanted, place) == wanted ?
			      add_entries(ranges, entries, count) : -EIO;
		place += wanted;
		left -= count;
	}
	close(fd);
	return err;
}

bool ranges_equal(const struct ranges *left, const struct ranges *right)
{
	return left->count == right->count &&
	       !memcmp(left->items, right->items, left->count * sizeof(*left->items));
}

bool ranges_hold(const struct ranges *ranges, uint64_t address, uint64_t size)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (address >= ranges->items[i].start &&
		    address - ranges->items[i].start < ranges->items[i].size &&
		    size <= ranges->items[i].size - (address - ranges->items[i].start))
			return true;
	return false;
}

uint64_t ranges_entries(const struct ranges *ranges, uint64_t start, uint64_t size)
{
	uint64_t entries = 0, place = 0;

	for (size_t i = 0; i < ranges->count; i++) {
		uint64_t end = place + ranges->items[i].size;

		entries += place < start + size && end > start;
		place = end;
	}
	return entries;
}

void ranges_end(struct ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ranges){ 0 };
}
