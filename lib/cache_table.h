/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From an address to the numbers of entries that may have it: a guess that whoever
 * looks has to verify. Read without a lock while it is written under one, and
 * replaced by a larger one; none is unmapped before the cache ends.
 *
 * Addresses are taken in granules. A slot has 32 bits of the granule's number and
 * the entry's number; 0 is empty. Granules that follow one another have their slots
 * so too, in blocks of 64, so that entries asked for in the order of their
 * addresses are found with few misses of the processor's cache. Eight slots are one
 * line of that, and a search stays within a line of a block before it goes to
 * another block.
 */
#ifndef VPEER_CACHE_TABLE_H
#define VPEER_CACHE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_LINE		8U	/* slots */
#define TABLE_BLOCK		64U
#define TABLE_PROBES		4U	/* blocks in which a granule may be */
#define TABLE_MIN_SHIFT		12
#define TABLE_MAX_SHIFT		21
#define TABLE_MIN_BITS		3U	/* of a block's number: a page of slots */
#define TABLE_MAX_BITS		23U

/*
 * A table in one word: where its slots are, the shift that makes a granule of an
 * address, and the one that makes a block's number of a hash.
 */
typedef uint64_t vpeer_table_word;

static inline vpeer_table_word table_word(const void *slots, unsigned int bits,
					  unsigned int shift)
{
	return (uintptr_t)slots | shift << 6 | (64 - bits);
}

static inline uint64_t *table_slots(vpeer_table_word word)
{
	return (uint64_t *)(uintptr_t)(word & ~0xfffULL);
}

static inline unsigned int table_shift(vpeer_table_word word)
{
	return word >> 6 & 63;
}

static inline unsigned int table_bits(vpeer_table_word word)
{
	return 64 - (word & 63);
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

/* The block: one, its neighbour, another, its neighbour. */
static inline uint64_t *table_block(vpeer_table_word word, uint64_t hash, unsigned int probe)
{
	if (probe & 2)
		hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93ULL;
	return table_slots(word) + ((hash >> (word & 63)) ^ (probe & 1)) * TABLE_BLOCK;
}

/* The slot of a block to look at after @step others. */
static inline unsigned int table_next(unsigned int first, unsigned int step)
{
	return first / TABLE_LINE * TABLE_LINE + (first + step) % TABLE_LINE;
}

static inline uint64_t table_slot(uint64_t granule, uint32_t id)
{
	return granule << 32 | id;
}

/* Tells of a slot's granule and entry whether the slot is of use. */
struct vpeer_table_judge {
	int (*useful)(void *arg, uint32_t tag, uint32_t id, unsigned int shift);
	void *arg;
};

/* An empty table; 0 if there is no memory. */
vpeer_table_word vpeer_table_make(unsigned int bits, unsigned int shift);
void vpeer_table_free(vpeer_table_word word);

/* Gives its memory back, but not the addresses: whoever still reads there finds nothing. */
void vpeer_table_empty(vpeer_table_word word);
size_t vpeer_table_bytes(vpeer_table_word word);

/* Notes @id for @start. Returns 1 if a slot that was of use had to go, else 0. */
int vpeer_table_fill(vpeer_table_word word, uint64_t start, uint32_t id,
		     const struct vpeer_table_judge *judge);

#endif /* VPEER_CACHE_TABLE_H */
