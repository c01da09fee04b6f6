// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table in which hits look: what is in it, and when it is replaced. */
#include "cache_internal.h"

#include <errno.h>

#define PLACES_PER_ENTRY	4U
/* Requests for parts of large ranges take places too: so many are worth it. */
#define MOST_PLACES_PER_ENTRY	64U
#define MOST_PLACES_ANYWAY	(1U << 16)
#define FEW_CROWDED		16U

static uint64_t place_count(const struct vpeer_table *table)
{
	return (uint64_t)TABLE_BLOCK << table->bits;
}

/* Whether a place's entry has an address of its granule, of which the tag is 32 bits. */
static int is_useful(void *arg, uint32_t tag, uint32_t id, unsigned int shift)
{
	const struct vpeer_cache *cache = arg;
	const struct cache_entry *entry = &cache->entries[id];
	uint32_t first = (uint32_t)(entry->start >> shift);
	uint32_t last = (uint32_t)((entry->start + entry->size - 1) >> shift);

	return cache_alive(entry) && tag - first <= last - first;
}

static enum vpeer_table_fill fill_one(struct vpeer_cache *cache, struct vpeer_table *table,
				      uint64_t start, uint32_t id)
{
	struct vpeer_table_judge judge = { .useful = is_useful, .arg = cache };

	return vpeer_table_fill(table, start, id, &judge);
}

static uint32_t first_entry(struct vpeer_cache *cache)
{
	return vpeer_range_first(&cache->index, UINT64_MAX, 0);
}

static uint32_t next_entry(struct vpeer_cache *cache, uint32_t id)
{
	return vpeer_range_next(&cache->index, id, UINT64_MAX, 0);
}

static unsigned int log2_of(uint64_t number)
{
	return 63 - (unsigned int)__builtin_clzll(number);
}

/*
 * The largest granule that most entries have for themselves: then the places of
 * neighbours are neighbours, and there are few for one entry.
 */
static unsigned int best_shift(struct vpeer_cache *cache)
{
	uint32_t id = first_entry(cache), next;
	uint64_t counts[64] = { 0 }, total = 0, smaller = 0;
	unsigned int shift = 0;

	if (!id)
		return TABLE_MAX_SHIFT;
	for (; (next = next_entry(cache, id)) != 0; id = next) {
		uint64_t distance = cache->entries[next].start - cache->entries[id].start;

		if (distance) {
			counts[log2_of(distance)]++;
			total++;
		}
	}
	if (!total)
		counts[log2_of(cache->entries[id].size)] = total = 1;
	while (shift < TABLE_MAX_SHIFT && smaller + counts[shift] <= total / 16)
		smaller += counts[shift++];
	return shift < TABLE_MIN_SHIFT ? TABLE_MIN_SHIFT : shift;
}

static int replace_table(struct vpeer_cache *cache, unsigned int bits)
{
	struct vpeer_table *old = cache->table, **tables = cache->tables[bits];
	struct vpeer_table **place = old && old == tables[0] ? &tables[1] : &tables[0], *table;

	if (!*place)
		*place = vpeer_table_make(bits);
	table = *place;
	if (!table)
		return -ENOMEM;
	__atomic_store_n(&table->shift, best_shift(cache), __ATOMIC_RELAXED);
	for (uint32_t id = first_entry(cache); id; id = next_entry(cache, id))
		fill_one(cache, table, cache->entries[id].start, id);
	cache->displaced = 0;
	cache->crowded = 0;
	__atomic_store_n(&cache->table, table, __ATOMIC_RELEASE);
	if (old)
		vpeer_table_empty(old);
	return 0;
}

int cache_fill_begin(struct vpeer_cache *cache)
{
	return replace_table(cache, TABLE_MIN_BITS);
}

void cache_fill_end(struct vpeer_cache *cache)
{
	for (unsigned int bits = 0; bits <= TABLE_MAX_BITS; bits++)
		for (unsigned int i = 0; i < 2; i++)
			vpeer_table_free(cache->tables[bits][i]);
}

uint64_t cache_fill_bytes(const struct vpeer_cache *cache)
{
	return vpeer_table_bytes(cache->table);
}

/* The table is grown, or its granule made smaller, if that is likely to make more hits quick. */
void cache_fill(struct vpeer_cache *cache, uint64_t start, uint32_t id)
{
	struct vpeer_table *table = cache->table;
	uint64_t places = place_count(table), most = cache->stats.entries * MOST_PLACES_PER_ENTRY;
	enum vpeer_table_fill filled = fill_one(cache, table, start, id);

	cache->displaced += filled == TABLE_DISPLACED;
	cache->crowded += filled == TABLE_CROWDED && cache->entries[id].start == start;
	if (most < MOST_PLACES_ANYWAY)
		most = MOST_PLACES_ANYWAY;
	/* Without memory for another one the present one does, and finds less. */
	if (cache->displaced > places / 4 && places < most && table->bits < TABLE_MAX_BITS)
		replace_table(cache, table->bits + 1);
	else if (cache->crowded > FEW_CROWDED + cache->stats.entries / 8)
		replace_table(cache, table->bits);
}

int cache_fill_fit(struct vpeer_cache *cache)
{
	unsigned int bits = cache->table->bits;
	uint64_t places = (cache->stats.entries + 1) * PLACES_PER_ENTRY;

	while (bits < TABLE_MAX_BITS && (uint64_t)TABLE_BLOCK << bits < places)
		bits++;
	/* The first entry tells of the granule what none did. */
	if (bits == cache->table->bits && cache->stats.inserts != 1)
		return 0;
	return replace_table(cache, bits);
}
