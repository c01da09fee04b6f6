// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Look-ups in the index of ranges, under the lock. */
#include "cache_internal.h"

#include <errno.h>

uint32_t cache_look(struct vpeer_cache *cache, uint64_t start, uint64_t size, uint32_t access,
		    uint32_t kind)
{
	const struct vpeer_range_index *index = &cache->index;
	uint32_t id;

	if (!size || size > UINT64_MAX - start)
		return 0;
	id = vpeer_range_first(index, start, start + size);
	while (id && !cache_allows(&cache->entries[id], access, kind))
		id = vpeer_range_next(index, id, start, start + size);
	return id;
}

void cache_reference(struct vpeer_cache *cache, uint32_t id)
{
	struct vpeer_refslots_block *mine = vpeer_refslots_attach(&cache->refslots);
	const void **slot = mine ? vpeer_refslots_empty(mine) : NULL;

	if (mine && cache_fenced(cache))
		vpeer_refslots_pass(mine);
	if (mine && !slot) {
		vpeer_refslots_spill(mine);
		slot = vpeer_refslots_empty(mine);
	}
	if (slot)
		vpeer_refslots_set(slot, &cache->entries[id]);
	else
		__atomic_add_fetch(&cache->records[id].shared, 1, __ATOMIC_ACQ_REL);
}

void vpeer_cache_hold(struct vpeer_cache *cache, struct vpeer_cache_entry *user)
{
	uint32_t id = cache_id(cache, (struct cache_entry *)user);

	__atomic_add_fetch(&cache->records[id].shared, 1, __ATOMIC_ACQ_REL);
}

int vpeer_cache_held(struct vpeer_cache *cache, const struct vpeer_cache_entry *user,
		     const void *value)
{
	const struct cache_entry *entry = (const struct cache_entry *)user;
	int held = 0;

	if (cache_forked(cache))
		return 0;
	cache_lock(cache);
	if (cache_state(entry) != CACHE_FREE && user->value == value) {
		held = cache_far_fence(cache) ? 0 : -EAGAIN;
		cache_scan(cache);
		if (cache_in_use(cache, cache_id(cache, entry)))
			held = 1;
	}
	cache_unlock(cache);
	return held;
}

bool cache_ask(const struct cache_entry *entry, uint64_t start, uint64_t size)
{
	const struct vpeer_cache_source_config *config = &entry->source->config;

	return config->check(config->arg, entry->user.value, start, size, entry->generation);
}

void cache_drop_stale(struct vpeer_cache *cache, struct cache_entry *entry)
{
	cache_lock(cache);
	if (cache_alive(entry)) {
		cache->stats.stale++;
		cache_retire(cache, cache_id(cache, entry));
	}
	cache_unlock(cache);
	vpeer_cache_put(cache, &entry->user);
	cache_drain(cache);
}

/* One look: what it finds is referenced, but may be stale. */
static struct cache_entry *find_any(struct vpeer_cache *cache, uint64_t start, uint64_t size,
				    uint32_t access, uint32_t kind)
{
	struct cache_entry *entry;
	uint32_t id;

	cache_lock(cache);
	id = cache_look(cache, start, size, access, kind);
	entry = &cache->entries[id];
	if (id) {
		cache_reference(cache, id);
		cache_fill(cache, start, id);
		cache_note_hit(entry);
	}
	cache_unlock(cache);
	return id ? entry : NULL;
}

struct cache_entry *cache_find(struct vpeer_cache *cache, uint64_t start, uint64_t size,
			       uint32_t access, uint32_t kind)
{
	struct cache_entry *entry = find_any(cache, start, size, access, kind);

	while (entry && !cache_valid(entry, start, size)) {
		cache_drop_stale(cache, entry);
		entry = find_any(cache, start, size, access, kind);
	}
	return entry;
}
