// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How entries go: when nobody has them, and each once. */
#include "cache_internal.h"

void cache_unlink(struct vpeer_cache *cache, uint32_t id)
{
	struct vpeer_cache_source *source = cache->entries[id].source;

	vpeer_range_remove(&cache->index, id);
	cache_take_out(cache, &cache->queue, CACHE_QUEUE, id);
	cache_take_out(cache, &source->entries, CACHE_SIBLING, id);
}

void cache_retire(struct vpeer_cache *cache, uint32_t id)
{
	cache_unlink(cache, id);
	cache_set_state(&cache->entries[id], CACHE_DEAD);
	cache->records[id].queue.next = cache->pending;
	cache->pending = id;
}

static void note_seen(void *arg, const void *object)
{
	struct vpeer_cache *cache = arg;
	struct cache_record *record = &cache->records[cache_id(cache, object)];

	if (record->scan != cache->scan)
		record->seen = 0;
	record->scan = cache->scan;
	record->seen++;
}

void cache_scan(struct vpeer_cache *cache)
{
	cache->scan++;
	vpeer_refslots_scan(&cache->refslots, note_seen, cache);
}

/* The count is read after the slots: what moves from a slot to it meanwhile is not missed. */
bool cache_in_use(const struct vpeer_cache *cache, uint32_t id)
{
	const struct cache_record *record = &cache->records[id];
	int64_t seen = record->scan == cache->scan ? record->seen : 0;

	return seen + __atomic_load_n(&record->shared, __ATOMIC_ACQUIRE) > 0;
}

void cache_give(struct vpeer_cache *cache, uint32_t id, struct cache_batch *batch)
{
	struct cache_entry *entry = &cache->entries[id];
	struct cache_record *record = &cache->records[id];

	batch->values[batch->count] = entry->user.value;
	batch->sources[batch->count++] = entry->source;
	cache->stats.entries--;
	cache->stats.bytes -= entry->size;
	if (record->budget)
		record->budget->used -= entry->size;
	cache_set_state(entry, CACHE_FREE);
	record->queue.next = cache->unused;
	cache->unused = id;
}

void cache_drop(struct vpeer_cache *cache, struct cache_batch *batch)
{
	unsigned int released = 0;

	if (!batch->count)
		return;
	for (unsigned int i = 0; i < batch->count; i++)
		cache->config.drop(cache->config.user, batch->values[i]);
	cache_lock(cache);
	cache->stats.drops += batch->count;
	for (unsigned int i = 0; i < batch->count; i++)
		if (cache_source_put(batch->sources[i]))
			batch->sources[released++] = batch->sources[i];
	cache_unlock(cache);
	batch->count = 0;
	for (unsigned int i = 0; i < released; i++)
		cache_source_release(batch->sources[i]);
}

/* Whether there is more to look at: what may be in use unseen waits. */
static bool look_at_pending(struct vpeer_cache *cache, struct cache_batch *batch)
{
	if (!cache->pending || !cache_far_fence(cache))
		return false;
	cache_scan(cache);
	while (cache->pending && batch->count < CACHE_BATCH) {
		uint32_t id = cache->pending;

		cache->pending = cache->records[id].queue.next;
		if (cache_in_use(cache, id))
			cache_set_state(&cache->entries[id], CACHE_HELD);
		else
			cache_give(cache, id, batch);
	}
	return cache->pending;
}

void cache_drain(struct vpeer_cache *cache)
{
	struct cache_batch batch;
	bool more;

	do {
		batch.count = 0;
		cache_lock(cache);
		more = look_at_pending(cache, &batch);
		cache_unlock(cache);
		cache_drop(cache, &batch);
	} while (more);
}

/*
 * For who gave a reference back and found the entry dead. One that is pending is
 * left to who will look at it, which is after this reference was given back.
 */
void cache_finish(struct vpeer_cache *cache, uint32_t id)
{
	struct cache_batch batch;

	if (cache_forked(cache))
		return;
	batch.count = 0;
	cache_lock(cache);
	if (cache_state(&cache->entries[id]) == CACHE_HELD) {
		cache_scan(cache);
		if (!cache_in_use(cache, id))
			cache_give(cache, id, &batch);
	}
	cache_unlock(cache);
	cache_drop(cache, &batch);
}
