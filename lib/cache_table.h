/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From an address to the numbers of entries that may have it: a guess that whoever
 * looks has to verify. Read without a lock while it is written under one, and
 * replaced by a larger one; none is unmapped before the cache ends.
 *
 * Addresses are taken in granules. A place has the number of an entry, 0 for none,
 * and apart from it, as a first guess does without, a tag: 32 bits of the granule's
 * number. Granules that follow one another have their places so too, in blocks of
 * 64, so that entries asked for in the order of their addresses are found with few
 * misses of the processor's cache. Sixteen numbers are one line of that, and a search
 * stays within a line of a block before it goes to another block.
 */
#ifndef VPEER_CACHE_TABLE_H
#define VPEER_CACHE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "reserve.h"

#define TABLE_LINE		16U	/* places */
#define TABLE_BLOCK_BITS	6U
#define TABLE_BLOCK		(1U << TABLE_BLOCK_BITS)
#define TABLE_PROBES		4U	/* blocks in which a granule may be */
#define TABLE_MIN_SHIFT		12
#define TABLE_MAX_SHIFT		30
#define TABLE_MIN_BITS		3U	/* of the number of blocks */
#define TABLE_MAX_BITS		23U

/* At the beginning of a mapping, in which the numbers and then the tags follow. */
struct vpeer_table {
	uint32_t shift;		/* makes a granule of an address; see table_granule() */
	uint32_t place_shift;	/* makes a place of a hash */
	uint32_t bits;		/* of the number of blocks */
	uint32_t *tags;
};

/* At a place known in advance, since a hit has to load much anyway. */
static inline uint32_t *table_ids(struct vpeer_table *table)
{
	return (uint32_t *)((char *)table + VPEER_LARGEST_PAGE);
}

/* Who still looks into a table that was emptied may see it used anew, with another shift. */
static inline uint64_t table_granule(const struct vpeer_table *table, uint64_t address)
{
	return address >> __atomic_load_n(&table->shift, __ATOMIC_RELAXED);
}

static inline uint64_t table_hash(uint64_t granule)
{
	return granule / TABLE_BLOCK * 0x9e3779b97f4a7c15ULL;
}

/*
 * The place where a granule is looked for first, in the block of a probe: one block,
 * its neighbour, another, its neighbour. The hash has its part in where in the block
 * that is, too: else granules far apart, which often have the same low bits, would
 * all meet.
 */
static inline size_t table_place(const struct vpeer_table *table, uint64_t granule,
				 uint64_t hash, unsigned int probe)
{
	if (probe & 2)
		hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93ULL;
	return (hash >> table->place_shift) ^ granule % TABLE_BLOCK ^ (probe & 1) * TABLE_BLOCK;
}

/* The place of the same line to look at after @step others. */
static inline size_t table_next(size_t first, unsigned int step)
{
	return first / TABLE_LINE * TABLE_LINE + (first + step) % TABLE_LINE;
}

/* Tells of a place's tag and entry whether the place is of use. */
struct vpeer_table_judge {
	int (*useful)(void *arg, uint32_t tag, uint32_t id, unsigned int shift);
	void *arg;
};

/* Makes an empty table; NULL if there is no memory. */
struct vpeer_table *vpeer_table_make(unsigned int bits);
/* NULL is allowed. */
void vpeer_table_free(struct vpeer_table *table);

/* Gives its memory back, but not the addresses: whoever still reads there finds nothing. */
void vpeer_table_empty(struct vpeer_table *table);
size_t vpeer_table_bytes(const struct vpeer_table *table);

enum vpeer_table_fill {
	TABLE_FILLED,
	TABLE_CROWDED,		/* filled, but the granule has others already */
	TABLE_DISPLACED,	/* filled, but another that was of use had to go */
};

/* Notes @id for @start. */
enum vpeer_table_fill vpeer_table_fill(struct vpeer_table *table, uint64_t start, uint32_t id,
				       const struct vpeer_table_judge *judge);

#endif /* VPEER_CACHE_TABLE_H */
