// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cache_table.h"

#include <sys/mman.h>

#define HUGE_PAGE	((size_t)2 << 20)

size_t vpeer_table_bytes(vpeer_table_word word)
{
	return (TABLE_BLOCK * sizeof(uint64_t)) << table_bits(word);
}

vpeer_table_word vpeer_table_make(unsigned int bits, unsigned int shift)
{
	size_t bytes = vpeer_table_bytes(table_word(NULL, bits, shift));
	void *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (slots == MAP_FAILED)
		return 0;
	/* Only saves look-ups of addresses. */
	if (bytes >= 2 * HUGE_PAGE)
		madvise(slots, bytes, MADV_HUGEPAGE);
	return table_word(slots, bits, shift);
}

void vpeer_table_free(vpeer_table_word word)
{
	munmap(table_slots(word), vpeer_table_bytes(word));
}

void vpeer_table_empty(vpeer_table_word word)
{
	madvise(table_slots(word), vpeer_table_bytes(word), MADV_DONTNEED);
}

/* The best place of a line: where it is already, else one that is of no use; NULL if all are. */
static uint64_t *place_in_line(uint64_t *block, unsigned int first, uint64_t slot,
			       unsigned int shift, const struct vpeer_table_judge *judge)
{
	uint64_t *place = NULL;

	for (unsigned int i = 0; i < TABLE_LINE; i++) {
		uint64_t *at = &block[table_next(first, i)];

		if (*at == slot)
			return at;
		if (!place && (!*at || !judge->useful(judge->arg, (uint32_t)(*at >> 32),
						      (uint32_t)*at, shift)))
			place = at;
	}
	return place;
}

int vpeer_table_fill(vpeer_table_word word, uint64_t start, uint32_t id,
		     const struct vpeer_table_judge *judge)
{
	uint64_t granule = start >> table_shift(word), hash = table_hash(granule);
	uint64_t slot = table_slot(granule, id), *place = NULL;
	unsigned int first = table_first(granule, hash);

	for (unsigned int probe = 0; probe < TABLE_PROBES && !place; probe++)
		place = place_in_line(table_block(word, hash, probe), first, slot,
				      table_shift(word), judge);
	if (place) {
		__atomic_store_n(place, slot, __ATOMIC_RELAXED);
		return 0;
	}
	/* Which one goes depends on who comes, so that not always the same two displace each other. */
	place = &table_block(word, hash, 0)[table_next(first, id)];
	__atomic_store_n(place, slot, __ATOMIC_RELAXED);
	return 1;
}
