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
static void take_back(struct vpeer_cache *cache, const void **slot)
{
	const struct cache_entry *entry = *slot;
	uint32_t state;

	vpeer_refslots_set(slot, NULL);
	cache_near_fence(cache);
	state = cache_state(entry);
	if (state == CACHE_HELD || state == CACHE_DEAD)
		cache_finish(cache, cache_id(cache, entry));
}

enum guess { WRONG, STALE, RIGHT };

/* Notes the entry in @slot, and leaves it there unless it is the wrong one. */
static enum guess verify(struct vpeer_cache *cache, const void **slot,
			 const struct cache_entry *entry, const struct wish *wish)
{
	vpeer_refslots_set(slot, entry);
	cache_near_fence(cache);
	if (cache_alive(entry) && cache_covers(entry, wish->start, wish->size) &&
	    cache_allows(entry, wish->access, wish->kind))
		return cache_valid(entry, wish->start, wish->size) ? RIGHT : STALE;
	take_back(cache, slot);
	return WRONG;
}

static inline void count_hit(struct vpeer_refslots_block *mine)
{
	__atomic_store_n(&mine->hits, mine->hits + 1, __ATOMIC_RELAXED);
}

/* All places of the table; 0 if none has it. */
static uint32_t look_in_table(struct vpeer_cache *cache, struct vpeer_table *table,
			      const void **slot, const struct wish *wish)
{
	uint64_t granule = table_granule(table, wish->start), hash = table_hash(granule);

	for (unsigned int i = 0; i < TABLE_PROBES * TABLE_LINE; i++) {
		size_t first = table_place(table, granule, hash, i / TABLE_LINE);
		size_t place = table_next(first, i);
		uint32_t tag = __atomic_load_n(&table->tags[place], __ATOMIC_RELAXED);
		uint32_t id = __atomic_load_n(&table_ids(table)[place], __ATOMIC_RELAXED);
		enum guess guess;

		if (tag != (uint32_t)granule || !id)
			continue;
		guess = verify(cache, slot, &cache->entries[id], wish);
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
	__atomic_add_fetch(entry ? &cache->slow_hits : &cache->misses, 1,
			   __ATOMIC_RELAXED);
	return entry ? &entry->user : NULL;
}

static __attribute__((noinline)) struct vpeer_cache_entry *
look_everywhere(struct vpeer_cache *cache, uint64_t start, uint64_t size, uint32_t access,
		uint32_t kind)
{
	struct wish wish = { start, size, access, kind };
	struct vpeer_refslots_block *mine = vpeer_refslots_mine(&cache->refslots);
	struct vpeer_table *table = __atomic_load_n(&cache->table, __ATOMIC_ACQUIRE);
	const void **slot = mine ? vpeer_refslots_empty(mine) : NULL;
	uint32_t id = 0;

	if (cache_forked(cache))
		return NULL;
	if (mine && cache_fenced(cache))
		cache_pass(cache, mine);
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
	take_back(cache, &vpeer_refslots_recent.block->objects[0]);
	return look_everywhere(cache, start, size, access, kind);
}

static inline bool is_quick(const struct vpeer_cache *cache)
{
	return vpeer_refslots_recent.id == __atomic_load_n(&cache->quick, __ATOMIC_RELAXED);
}

/*
 * The first place of the table and the first slot of the thread, where most hits are.
 * With whatever is not as it mostly is, look_everywhere() begins anew. In a child of
 * fork() the number is nobody's.
 */
struct vpeer_cache_entry *vpeer_cache_get(struct vpeer_cache *cache, uint64_t start,
					  uint64_t size, uint32_t access, uint32_t kind)
{
	struct vpeer_refslots_block *mine = vpeer_refslots_recent.block;
	struct vpeer_table *table;
	struct cache_entry *entry;
	uint64_t granule, hash;
	size_t place;
	uint32_t id;

	if (unlikely(!is_quick(cache) || mine->objects[0]))
		return look_everywhere(cache, start, size, access, kind);
	table = __atomic_load_n(&cache->table, __ATOMIC_ACQUIRE);
	granule = table_granule(table, start);
	hash = table_hash(granule);
	/* Whatever entry it is, number 0 included, it is verified: no need to look at the tag. */
	place = table_place(table, granule, hash, 0);
	id = __atomic_load_n(&table_ids(table)[place], __ATOMIC_RELAXED);
	entry = &cache->entries[id];
	/* Kept in one register, rather than computed anew with each field's offset. */
	__asm__("" : "+r"(entry));
	vpeer_refslots_set(&mine->objects[0], entry);
	cache_quick_fence();
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

	if (mine && cache_fenced(cache))
		cache_pass(cache, mine);
	if (!mine || !vpeer_refslots_clear(mine, entry))
		__atomic_sub_fetch(&cache->records[id].shared, 1, __ATOMIC_ACQ_REL);
	cache_near_fence(cache);
	if (!cache_alive(entry))
		cache_finish(cache, id);
}

void vpeer_cache_put(struct vpeer_cache *cache, struct vpeer_cache_entry *user)
{
	struct vpeer_refslots_block *mine = vpeer_refslots_recent.block;
	struct cache_entry *entry = (struct cache_entry *)user;

	if (unlikely(!is_quick(cache) || mine->objects[0] != entry)) {
		put_anywhere(cache, entry);
		return;
	}
	vpeer_refslots_set(&mine->objects[0], NULL);
	cache_quick_fence();
	if (unlikely(!cache_alive(entry)))
		cache_finish(cache, cache_id(cache, entry));
}
