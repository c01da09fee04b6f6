// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cache_table.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#define MOST_OF_A_GRANULE	2U
#define HUGE_PAGE	((size_t)2 << 20)

static size_t places(unsigned int bits)
{
	return (size_t)TABLE_BLOCK << bits;
}

static size_t bytes_of(unsigned int bits)
{
	return places(bits) * 2 * sizeof(uint32_t);
}

size_t vpeer_table_bytes(const struct vpeer_table *table)
{
	return bytes_of(table->bits);
}

struct vpeer_table *vpeer_table_make(unsigned int bits)
{
	size_t bytes = VPEER_LARGEST_PAGE + bytes_of(bits);
	struct vpeer_table *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (table == MAP_FAILED)
		return NULL;
	/* Only saves look-ups of addresses. */
	if (bytes > HUGE_PAGE)
		madvise(table, bytes, MADV_HUGEPAGE);
	table->place_shift = 64 - bits - TABLE_BLOCK_BITS;
	table->bits = bits;
	table->tags = table_ids(table) + places(bits);
	return table;
}

void vpeer_table_free(struct vpeer_table *table)
{
	if (table)
		munmap(table, VPEER_LARGEST_PAGE + vpeer_table_bytes(table));
}

void vpeer_table_empty(struct vpeer_table *table)
{
	madvise(table_ids(table), vpeer_table_bytes(table), MADV_DONTNEED);
}

/* Readers verify what they find, so number and tag need not change at once. */
static void set_place(struct vpeer_table *table, size_t place, uint32_t tag, uint32_t id)
{
	__atomic_store_n(&table->tags[place], tag, __ATOMIC_RELAXED);
	__atomic_store_n(&table_ids(table)[place], id, __ATOMIC_RELAXED);
}

struct search {
	uint32_t tag, id;
	size_t place;
	bool found;
	unsigned int same_tag;	/* of use, and for the same granule */
};

/* The best place of a line: where the entry is already, else the first that is of no use. */
static void find_place(struct vpeer_table *table, size_t first,
		       const struct vpeer_table_judge *judge, struct search *search)
{
	for (unsigned int i = 0; i < TABLE_LINE; i++) {
		size_t place = table_next(first, i);
		uint32_t id = table_ids(table)[place], tag = table->tags[place];

		if (id == search->id && tag == search->tag) {
			search->place = place;
			search->found = true;
			return;
		}
		if (id && judge->useful(judge->arg, tag, id, table->shift)) {
			search->same_tag += tag == search->tag;
			continue;
		}
		if (!search->found)
			search->place = place;
		search->found = true;
	}
}

enum vpeer_table_fill vpeer_table_fill(struct vpeer_table *table, uint64_t start, uint32_t id,
				       const struct vpeer_table_judge *judge)
{
	uint64_t granule = table_granule(table, start), hash = table_hash(granule);
	struct search search = { .tag = (uint32_t)granule, .id = id };

	for (unsigned int probe = 0; probe < TABLE_PROBES && !search.found; probe++)
		find_place(table, table_place(table, granule, hash, probe), judge, &search);
	/* Which one goes depends on who comes, so that not always the same two displace each other. */
	if (!search.found)
		search.place = table_next(table_place(table, granule, hash, 0), id);
	set_place(table, search.place, search.tag, id);
	if (!search.found)
		return TABLE_DISPLACED;
	return search.same_tag > MOST_OF_A_GRANULE ? TABLE_CROWDED : TABLE_FILLED;
}
