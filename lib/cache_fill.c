// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table in which hits look: what is in it, and when it is replaced. */
#include "cache_internal.h"

#include <errno.h>

#define PLACES_PER_ENTRY		4U
/* Requests for parts of large ranges take places too: so many are worth it. */
#define MOST_PLACES_PER_ENTRY	64U
#define MOST_PLACES_ANYWAY	(1U << 16)

static struct vpeer_table *current_table(struct vpeer_cache *cache)
{
	return &cache->tables[cache->table_count - 1];
}

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

static int fill_one(struct vpeer_cache *cache, struct vpeer_table *table, uint64_t start,
		    uint32_t id)
{
	struct vpeer_table_judge judge = { .useful = is_useful, .arg = cache };

	return vpeer_table_fill(table, start, id, &judge);
}

static int replace_table(struct vpeer_cache *cache, unsigned int bits, unsigned int shift)
{
	struct vpeer_table *table = &cache->tables[cache->table_count];

	if (cache->table_count == CACHE_TABLES || vpeer_table_make(table, bits, shift))
		return -ENOMEM;
	for (uint32_t id = cache->queue.first; id; id = cache->records[id].queue.next)
		fill_one(cache, table, cache->entries[id].start, id);
	cache->table_count++;
	cache->displaced = 0;
	__atomic_store_n(&cache->hot->table, table, __ATOMIC_RELEASE);
	if (cache->table_count > 1)
		vpeer_table_empty(table - 1);
	return 0;
}

int cache_fill_begin(struct vpeer_cache *cache)
{
	return replace_table(cache, TABLE_MIN_BITS, TABLE_MAX_SHIFT);
}

void cache_fill_end(struct vpeer_cache *cache)
{
	while (cache->table_count)
		vpeer_table_free(&cache->tables[--cache->table_count]);
}

void cache_fill(struct vpeer_cache *cache, uint64_t start, uint32_t id)
{
	struct vpeer_table *table = current_table(cache);
	uint64_t places = place_count(table), most = cache->stats.entries * MOST_PLACES_PER_ENTRY;

	cache->displaced += (uint64_t)fill_one(cache, table, start, id);
	if (most < MOST_PLACES_ANYWAY)
		most = MOST_PLACES_ANYWAY;
	/* Without memory for a larger one the small one does, and finds less. */
	if (cache->displaced > places / 4 && places < most && table->bits < TABLE_MAX_BITS)
		replace_table(cache, table->bits + 1, table->shift);
}

int cache_fill_fit(struct vpeer_cache *cache, uint64_t size)
{
	struct vpeer_table *table = current_table(cache);
	unsigned int bits = table->bits, shift = table->shift;
	uint64_t places = (cache->stats.entries + 1) * PLACES_PER_ENTRY;

	while (shift > TABLE_MIN_SHIFT && size >> shift == 0)
		shift--;
	while (bits < TABLE_MAX_BITS && (uint64_t)TABLE_BLOCK << bits < places)
		bits++;
	if (bits == table->bits && shift == table->shift)
		return 0;
	return replace_table(cache, bits, shift);
}
