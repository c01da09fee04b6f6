// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cache_table.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#define HUGE_PAGE	((size_t)2 << 20)

static size_t places(unsigned int bits)
{
	return (size_t)TABLE_BLOCK << bits;
}

size_t vpeer_table_bytes(const struct vpeer_table *table)
{
	return places(table->bits) * (sizeof(*table->ids) + sizeof(*table->tags));
}

int vpeer_table_make(struct vpeer_table *table, unsigned int bits, unsigned int shift)
{
	struct vpeer_table made = { .shift = shift, .block_shift = 64 - bits, .bits = bits };
	size_t bytes = vpeer_table_bytes(&made);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	if (memory == MAP_FAILED)
		return -ENOMEM;
	/* Only saves look-ups of addresses. */
	if (bytes >= HUGE_PAGE)
		madvise(memory, bytes, MADV_HUGEPAGE);
	made.ids = memory;
	made.tags = made.ids + places(bits);
	*table = made;
	return 0;
}

void vpeer_table_free(struct vpeer_table *table)
{
	munmap(table->ids, vpeer_table_bytes(table));
}

void vpeer_table_empty(struct vpeer_table *table)
{
	madvise(table->ids, vpeer_table_bytes(table), MADV_DONTNEED);
}

/* Readers verify what they find, so number and tag need not change at once. */
static void set_place(struct vpeer_table *table, size_t place, uint32_t tag, uint32_t id)
{
	__atomic_store_n(&table->tags[place], tag, __ATOMIC_RELAXED);
	__atomic_store_n(&table->ids[place], id, __ATOMIC_RELAXED);
}

/*
 * The best place of a line: where @id is already, else one that is of no use. False
 * if all are.
 */
static bool find_place(const struct vpeer_table *table, size_t block, unsigned int first, uint32_t tag,
		       uint32_t id, const struct vpeer_table_judge *judge, size_t *found)
{
	bool any = false;

	for (unsigned int i = 0; i < TABLE_LINE; i++) {
		size_t place = block + table_next(first, i);
		uint32_t there = table->ids[place], its_tag = table->tags[place];

		if (there == id && its_tag == tag) {
			*found = place;
			return true;
		}
		if (any || (there && judge->useful(judge->arg, its_tag, there, table->shift)))
			continue;
		*found = place;
		any = true;
	}
	return any;
}

int vpeer_table_fill(struct vpeer_table *table, uint64_t start, uint32_t id,
		     const struct vpeer_table_judge *judge)
{
	uint64_t granule = start >> table->shift, hash = table_hash(granule);
	unsigned int first = table_first(granule, hash), probe = 0;
	size_t place;
	bool found;

	do {
		found = find_place(table, table_block(table, hash, probe), first, (uint32_t)granule,
				   id, judge, &place);
	} while (!found && ++probe < TABLE_PROBES);
	/* Which one goes depends on who comes, so that not always the same two displace each other. */
	if (!found)
		place = table_block(table, hash, 0) + table_next(first, id);
	set_place(table, place, (uint32_t)granule, id);
	return !found;
}
