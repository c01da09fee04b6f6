/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From an address to the numbers of entries that may have it: a guess that whoever
 * looks has to verify. Read without a lock while it is written under one, and
 * replaced by a larger one; none is unmapped before the cache ends.
 *
 * Addresses are taken in granules. A slot has 32 bits of the granule's number and
 * the entry's number; 0 is empty. Eight slots are a line of the processor's cache,
 * and eight granules that follow one another have their slots there, so that
 * entries asked for in the order of their addresses are found in a few lines.
 */
#ifndef VPEER_CACHE_TABLE_H
#define VPEER_CACHE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_LINE		8	/* slots */
#define TABLE_PROBES		4	/* lines in which a granule may be */
#define TABLE_MIN_SHIFT		12
#define TABLE_MAX_SHIFT		21
#define TABLE_MIN_BITS		6	/* lines, as a power of two */
#define TABLE_MAX_BITS		26

/* A table in one word: where its slots are, the granule's shift and the bits of a line's number. */
typedef uint64_t vpeer_table_word;

static inline uint64_t *table_slots(vpeer_table_word word)
{
	return (uint64_t *)(uintptr_t)(word & ~0xfffULL);
}

static inline unsigned int table_shift(vpeer_table_word word)
{
	return word & 63;
}

static inline unsigned int table_bits(vpeer_table_word word)
{
	return word >> 6 & 63;
}

static inline uint64_t table_hash(uint64_t granule)
{
	return (granule / TABLE_LINE) * 0x9e3779b97f4a7c15ULL;
}

/* The line of a granule for a probe: one, its neighbour, another, its neighbour. */
static inline uint64_t *table_line(vpeer_table_word word, uint64_t hash, unsigned int probe)
{
	if (probe & 2)
		hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93ULL;
	return table_slots(word) +
	       ((hash >> (64 - table_bits(word))) ^ (probe & 1)) * TABLE_LINE;
}

/* Where in a line a search begins; granules with the same low bits shall not all have the same. */
static inline unsigned int table_first(uint64_t granule, uint64_t hash)
{
	return (granule + (hash >> 29)) % TABLE_LINE;
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
