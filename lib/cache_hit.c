// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Get and put, as fast as they can be; cache_look.c has what a hit seldom needs. */
#include "cache_internal.h"

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/* What is asked for. */
struct wish {
	uint64_t start;
	uint64_t size;
	uint32_t access;
	uint32_t kind;
};

/* @slot is emptied again: as if the entry in it had not been noted. */
static void take_back(struct vpeer_cache *cache, uint32_t *slot, uint32_t id)
{
	uint32_t state;

	vpeer_refslots_set(slot, 0);
	cache_near_fence(cache);
	state = cache_state(&cache->entries[id]);
	if (state == CACHE_HELD || state == CACHE_DEAD)
		cache_finish(cache, id);
}

enum guess { WRONG, STALE, RIGHT };

/* Notes the entry in @slot, and leaves it there unless it is the wrong one. */
static enum guess verify(struct vpeer_cache *cache, uint32_t *slot, uint32_t id,
			 const struct wish *wish)
{
	struct cache_entry *entry = &cache->entries[id];

	vpeer_refslots_set(slot, id);
	cache_near_fence(cache);
	if (cache_alive(entry) && cache_covers(entry, wish->start, wish->size) &&
	    cache_allows(entry, wish->access, wish->kind))
		return cache_valid(entry, wish->start, wish->size) ? RIGHT : STALE;
	take_back(cache, slot, id);
	return WRONG;
}

static inline void count_hit(struct vpeer_refslots_block *mine)
{
	__atomic_store_n(&mine->hits, mine->hits + 1, __ATOMIC_RELAXED);
}

/* All places of the table; 0 if none has it. */
static uint32_t look_in_table(struct vpeer_cache *cache, vpeer_table_word table, uint32_t *slot,
			      const struct wish *wish)
{
	uint64_t granule = wish->start >> table_shift(table), hash = table_hash(granule);
	unsigned int first = table_first(granule, hash);

	for (unsigned int i = 0; i < TABLE_PROBES * TABLE_LINE; i++) {
		const uint64_t *block = table_block(table, hash, i / TABLE_LINE);
		uint64_t found = __atomic_load_n(&block[table_next(first, i)], __ATOMIC_RELAXED);
		uint32_t id = (uint32_t)found;
		enum guess guess;

		if (found >> 32 != (uint32_t)granule || !id)
			continue;
		guess = verify(cache, slot, id, wish);
		if (guess == RIGHT)
			return id;
		if (guess == WRONG)
			continue;
		cache_drop_stale(cache, &cache->entries[id]);
		return 0;
	}
	return 0;
}

static struct vpeer_cache_entry *look_in_index(struct vpeer_cache *cache, const struct wish *wish)
{
	struct cache_entry *entry;

	entry = cache_find(cache, wish->start, wish->size, wish->access, wish->kind);
	__atomic_add_fetch(entry ? &cache->stats.slow_hits : &cache->stats.misses, 1,
			   __ATOMIC_RELAXED);
	return entry ? &entry->user : NULL;
}

static __attribute__((noinline)) struct vpeer_cache_entry *
look_everywhere(struct vpeer_cache *cache, uint64_t start, uint64_t size, uint32_t access,
		uint32_t kind)
{
	struct wish wish = { start, size, access, kind };
	struct vpeer_refslots_block *mine = vpeer_refslots_mine(&cache->refslots);
	vpeer_table_word table = __atomic_load_n(&cache->hot->table, __ATOMIC_ACQUIRE);
	uint32_t *slot = mine ? vpeer_refslots_empty(mine) : NULL, id = 0;

	if (cache_forked(cache))
		return NULL;
	if (slot)
		id = look_in_table(cache, table, slot, &wish);
	if (!id)
		return look_in_index(cache, &wish);
	cache_note_hit(&cache->entries[id]);
	count_hit(mine);
	return &cache->entries[id].user;
}

static __attribute__((noinline)) struct vpeer_cache_entry *
look_further(struct vpeer_cache *cache, uint64_t start, uint64_t size, uint32_t access,
	     uint32_t kind)
{
	uint32_t *slot = &vpeer_refslots_recent.block->ids[0];

	take_back(cache, slot, *slot);
	return look_everywhere(cache, start, size, access, kind);
}

/*
 * The first place of the table and the first slot of the thread, where most hits are.
 * With whatever is not as it mostly is, look_everywhere() begins anew. In a child of
 * fork() the number in the hot page is nobody's.
 */
struct vpeer_cache_entry *vpeer_cache_get(struct vpeer_cache *cache, uint64_t start,
					  uint64_t size, uint32_t access, uint32_t kind)
{
	struct vpeer_refslots_block *mine = vpeer_refslots_recent.block;
	const struct cache_hot *hot = cache->hot;
	vpeer_table_word table = __atomic_load_n(&hot->table, __ATOMIC_ACQUIRE);
	uint64_t granule = start >> table_shift(table), hash = table_hash(granule), found;
	struct cache_entry *entry;

	if (unlikely(vpeer_refslots_recent.id != hot->quick ||
		     __atomic_load_n(&mine->ids[0], __ATOMIC_RELAXED)))
		return look_everywhere(cache, start, size, access, kind);
	found = __atomic_load_n(&table_block(table, hash, 0)[table_first(granule, hash)],
				__ATOMIC_RELAXED);
	if (unlikely(found >> 32 != (uint32_t)granule))
		return look_everywhere(cache, start, size, access, kind);
	entry = &cache->entries[(uint32_t)found];
	vpeer_refslots_set(&mine->ids[0], (uint32_t)found);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (unlikely(cache_state(entry) != CACHE_HIT || !cache_covers(entry, start, size) ||
		     !cache_allows(entry, access, kind) ||
		     __atomic_load_n(entry->word, __ATOMIC_ACQUIRE) != entry->generation))
		return look_further(cache, start, size, access, kind);
	count_hit(mine);
	return &entry->user;
}

static __attribute__((noinline)) void put_anywhere(struct vpeer_cache *cache,
						   struct cache_entry *entry)
{
	struct vpeer_refslots_block *mine = vpeer_refslots_mine(&cache->refslots);
	uint32_t id = cache_id(cache, entry);

	if (!mine || !vpeer_refslots_clear(mine, id))
		__atomic_sub_fetch(&cache->records[id].shared, 1, __ATOMIC_ACQ_REL);
	cache_near_fence(cache);
	if (!cache_alive(entry))
		cache_finish(cache, id);
}

void vpeer_cache_put(struct vpeer_cache *cache, struct vpeer_cache_entry *user)
{
	struct vpeer_refslots_block *mine = vpeer_refslots_recent.block;
	struct cache_entry *entry = (struct cache_entry *)user;
	uint32_t id = cache_id(cache, entry);

	if (unlikely(vpeer_refslots_recent.id != cache->hot->quick ||
		     __atomic_load_n(&mine->ids[0], __ATOMIC_RELAXED) != id)) {
		put_anywhere(cache, entry);
		return;
	}
	vpeer_refslots_set(&mine->ids[0], 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (unlikely(!cache_alive(entry)))
		cache_finish(cache, id);
}
