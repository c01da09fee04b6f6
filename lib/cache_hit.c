// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Get and put, as fast as they can be; cache_look.c has what a hit seldom needs. */
#include "cache_internal.h"

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

static struct vpeer_cache_entry *look_under_lock(struct vpeer_cache *cache, uint64_t start,
						 uint64_t size, uint32_t access, uint32_t kind)
{
	struct cache_entry *entry;

	if (cache_forked(cache))
		return NULL;
	entry = cache_find(cache, start, size, access, kind);
	__atomic_add_fetch(entry ? &cache->stats.slow_hits : &cache->stats.misses, 1,
			   __ATOMIC_RELAXED);
	return entry ? &entry->user : NULL;
}

/* An entry that @slot held is as if it had not been noted. */
static void take_back(struct vpeer_cache *cache, uint32_t *slot, uint32_t id)
{
	uint32_t state;

	vpeer_refslots_set(slot, 0);
	cache_near_fence(cache);
	state = cache_state(&cache->entries[id]);
	if (unlikely(state == CACHE_HELD || state == CACHE_DEAD))
		cache_finish(cache, id);
}

enum guess { WRONG, STALE, RIGHT };

/* Notes the entry in @slot, and leaves it there unless it is the wrong one. */
static inline enum guess verify(struct vpeer_cache *cache, uint32_t *slot, uint32_t id,
				uint64_t start, uint64_t size, uint32_t access, uint32_t kind)
{
	struct cache_entry *entry = &cache->entries[id];

	vpeer_refslots_set(slot, id);
	cache_near_fence(cache);
	if (likely(cache_state(entry) == CACHE_ALIVE && cache_covers(entry, start, size) &&
		   cache_allows(entry, access, kind)))
		return likely(cache_valid(entry, start, size)) ? RIGHT : STALE;
	take_back(cache, slot, id);
	return WRONG;
}

static inline struct vpeer_cache_entry *hit(struct vpeer_refslots_block *mine,
					    struct cache_entry *entry)
{
	__atomic_store_n(&mine->hits, mine->hits + 1, __ATOMIC_RELAXED);
	if (unlikely(!__atomic_load_n(&entry->used, __ATOMIC_RELAXED)))
		__atomic_store_n(&entry->used, 1, __ATOMIC_RELAXED);
	return &entry->user;
}

struct vpeer_cache_entry *vpeer_cache_get(struct vpeer_cache *cache, uint64_t start,
					  uint64_t size, uint32_t access, uint32_t kind)
{
	struct vpeer_refslots_block *mine = vpeer_refslots_mine(&cache->refslots);
	vpeer_table_word table = __atomic_load_n(&cache->hot->table, __ATOMIC_ACQUIRE);
	uint64_t granule = start >> table_shift(table), hash = table_hash(granule);
	uint32_t *slot = mine ? vpeer_refslots_empty(mine) : NULL;
	unsigned int first = table_first(granule, hash);

	/* In a child of fork() there is no table. */
	if (unlikely(!slot || !table))
		return look_under_lock(cache, start, size, access, kind);
	for (unsigned int i = 0; i < TABLE_PROBES * TABLE_LINE; i++) {
		const uint64_t *line = table_line(table, hash, i / TABLE_LINE);
		uint64_t found = __atomic_load_n(&line[(first + i) % TABLE_LINE], __ATOMIC_RELAXED);
		uint32_t id = (uint32_t)found;
		enum guess guess;

		if (unlikely(found >> 32 != (uint32_t)granule || !id))
			continue;
		guess = verify(cache, slot, id, start, size, access, kind);
		if (likely(guess == RIGHT))
			return hit(mine, &cache->entries[id]);
		if (guess == STALE) {
			cache_drop_stale(cache, &cache->entries[id]);
			break;
		}
	}
	return look_under_lock(cache, start, size, access, kind);
}

void vpeer_cache_put(struct vpeer_cache *cache, struct vpeer_cache_entry *user)
{
	struct vpeer_refslots_block *mine = vpeer_refslots_mine(&cache->refslots);
	struct cache_entry *entry = (struct cache_entry *)user;
	uint32_t id = cache_id(cache, entry);

	if (unlikely(!mine || !vpeer_refslots_clear(mine, id)))
		__atomic_sub_fetch(&cache->records[id].shared, 1, __ATOMIC_ACQ_REL);
	cache_near_fence(cache);
	if (unlikely(cache_state(entry) != CACHE_ALIVE))
		cache_finish(cache, id);
}
