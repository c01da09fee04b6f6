// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table in which hits look: what is in it, and when it is replaced. */
#include "cache_internal.h"

#include <errno.h>

#define SLOTS_PER_ENTRY		4U
/* Requests for parts of large ranges take slots too: so many are worth it. */
#define MOST_SLOTS_PER_ENTRY	64U
#define MOST_SLOTS_ANYWAY	(1U << 16)

static vpeer_table_word current_table(const struct vpeer_cache *cache)
{
	return cache->tables[cache->table_count - 1];
}

static uint64_t slot_count(vpeer_table_word table)
{
	return vpeer_table_bytes(table) / sizeof(uint64_t);
}

/* Whether a slot's entry has an address of its granule, of which the slot has 32 bits. */
static int is_useful(void *arg, uint32_t tag, uint32_t id, unsigned int shift)
{
	const struct vpeer_cache *cache = arg;
	const struct cache_entry *entry = &cache->entries[id];
	uint32_t first = (uint32_t)(entry->start >> shift);
	uint32_t last = (uint32_t)((entry->end - 1) >> shift);

	return cache_alive(entry) && tag - first <= last - first;
}

static int fill_one(struct vpeer_cache *cache, vpeer_table_word table, uint64_t start,
		    uint32_t id)
{
	struct vpeer_table_judge judge = { .useful = is_useful, .arg = cache };

	return vpeer_table_fill(table, start, id, &judge);
}

static int replace_table(struct vpeer_cache *cache, unsigned int bits, unsigned int shift)
{
	vpeer_table_word table, old = cache->table_count ? current_table(cache) : 0;

	if (cache->table_count == CACHE_TABLES)
		return -ENOMEM;
	table = vpeer_table_make(bits, shift);
	if (!table)
		return -ENOMEM;
	for (uint32_t id = cache->queue.first; id; id = cache->records[id].queue.next)
		fill_one(cache, table, cache->entries[id].start, id);
	cache->tables[cache->table_count++] = table;
	cache->displaced = 0;
	__atomic_store_n(&cache->hot->table, table, __ATOMIC_RELEASE);
	if (old)
		vpeer_table_empty(old);
	return 0;
}

int cache_fill_begin(struct vpeer_cache *cache)
{
	return replace_table(cache, TABLE_MIN_BITS, TABLE_MAX_SHIFT);
}

void cache_fill_end(struct vpeer_cache *cache)
{
	while (cache->table_count)
		vpeer_table_free(cache->tables[--cache->table_count]);
}

void cache_fill(struct vpeer_cache *cache, uint64_t start, uint32_t id)
{
	vpeer_table_word table = current_table(cache);
	uint64_t slots = slot_count(table), most = cache->stats.entries * MOST_SLOTS_PER_ENTRY;

	cache->displaced += (uint64_t)fill_one(cache, table, start, id);
	if (most < MOST_SLOTS_ANYWAY)
		most = MOST_SLOTS_ANYWAY;
	/* Without memory for a larger one the small one does, and finds less. */
	if (cache->displaced > slots / 4 && slots < most && table_bits(table) < TABLE_MAX_BITS)
		replace_table(cache, table_bits(table) + 1, table_shift(table));
}

int cache_fill_fit(struct vpeer_cache *cache, uint64_t size)
{
	vpeer_table_word table = current_table(cache);
	unsigned int bits = table_bits(table), shift = table_shift(table);
	uint64_t slots = (cache->stats.entries + 1) * SLOTS_PER_ENTRY;

	while (shift > TABLE_MIN_SHIFT && size >> shift == 0)
		shift--;
	while (bits < TABLE_MAX_BITS && (uint64_t)TABLE_BLOCK << bits < slots)
		bits++;
	if (bits == table_bits(table) && shift == table_shift(table))
		return 0;
	return replace_table(cache, bits, shift);
}
