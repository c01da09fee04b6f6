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

#define TABLE_LINE		16U	/* places */
#define TABLE_BLOCK		64U
#define TABLE_PROBES		4U	/* blocks in which a granule may be */
#define TABLE_MIN_SHIFT		12
#define TABLE_MAX_SHIFT		30
#define TABLE_MIN_BITS		3U	/* of a block's number */
#define TABLE_MAX_BITS		23U

struct vpeer_table {
	uint32_t *ids;		/* the number of each place */
	uint32_t *tags;		/* behind them */
	uint32_t shift;		/* makes a granule of an address; see table_granule() */
	uint32_t block_shift;	/* makes a block's number of a hash */
	uint32_t bits;		/* of a block's number */
};

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
 * Where in its block a granule is looked for first. The hash has its part in it:
 * else granules far apart, which often have the same low bits, would all meet.
 */
static inline unsigned int table_first(uint64_t granule, uint64_t hash)
{
	return (granule + (hash >> 32)) % TABLE_BLOCK;
}

/* The first place of a block: of one, its neighbour, another, its neighbour. */
static inline size_t table_block(const struct vpeer_table *table, uint64_t hash,
				 unsigned int probe)
{
	if (probe & 2)
		hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93ULL;
	return ((hash >> table->block_shift) ^ (probe & 1)) * TABLE_BLOCK;
}

/* The place of a block to look at after @step others. */
static inline unsigned int table_next(unsigned int first, unsigned int step)
{
	return first / TABLE_LINE * TABLE_LINE + (first + step) % TABLE_LINE;
}

/* Tells of a place's tag and entry whether the place is of use. */
struct vpeer_table_judge {
	int (*useful)(void *arg, uint32_t tag, uint32_t id, unsigned int shift);
	void *arg;
};

/* Makes an empty table. -ENOMEM */
int vpeer_table_make(struct vpeer_table *table, unsigned int bits);
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
