// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Room for an entry, by way of others that nobody has. */
#include "cache_internal.h"

#include <errno.h>

/* What is wanting. */
struct need {
	bool entry;
	uint64_t bytes;
	uint64_t budget;
};

static uint64_t excess(uint64_t used, uint64_t size, uint64_t limit)
{
	return used > limit - size ? used - (limit - size) : 0;
}

static struct need need_of(const struct vpeer_cache *cache,
			   const struct vpeer_cache_insert *insert)
{
	const struct vpeer_cache_config *config = &cache->config;
	const struct vpeer_cache_budget *budget = insert->budget;

	return (struct need){
		.entry = cache->stats.entries >= config->max_entries,
		.bytes = config->max_bytes ?
			excess(cache->stats.bytes, insert->size, config->max_bytes) : 0,
		.budget = budget ? excess(budget->used, insert->size, budget->limit) : 0,
	};
}

static bool is_met(const struct need *need)
{
	return !need->entry && !need->bytes && !need->budget;
}

static uint64_t less(uint64_t amount, uint64_t size)
{
	return amount > size ? amount - size : 0;
}

static bool helps(const struct need *need, bool same_budget)
{
	return need->entry || need->bytes || (need->budget && same_budget);
}

/*
 * Takes the entries to be evicted from the front of the queue. Those that are in
 * use, or were hit, go to its end; so each may be met twice. They are marked dead,
 * but stay where they are.
 */
static unsigned int choose(struct vpeer_cache *cache, const struct vpeer_cache_budget *budget,
			   struct need *need, uint32_t *ids, unsigned int room)
{
	uint64_t steps = 2 * cache->stats.entries;
	uint32_t id = cache->queue.first, next;
	unsigned int count = 0;

	cache_scan(cache);
	for (; steps-- && id && count < room && !is_met(need);
	     id = next ? next : cache->queue.first) {
		struct cache_entry *entry = &cache->entries[id];
		bool same_budget = budget && cache->records[id].budget == budget;

		next = cache->records[id].queue.next;
		if (!cache_alive(entry) || !helps(need, same_budget))
			continue;
		if (cache_in_use(cache, id) || cache_was_hit(entry)) {
			cache_set_state(entry, CACHE_ALIVE);
			cache_take_out(cache, &cache->queue, CACHE_QUEUE, id);
			cache_append(cache, &cache->queue, CACHE_QUEUE, id);
			continue;
		}
		vpeer_pause();
		cache_set_state(entry, CACHE_DEAD);
		ids[count++] = id;
		need->entry = false;
		need->bytes = less(need->bytes, entry->size);
		if (same_budget)
			need->budget = less(need->budget, entry->size);
	}
	return count;
}

static void let_live(struct vpeer_cache *cache, const uint32_t *ids, unsigned int count)
{
	while (count)
		cache_set_state(&cache->entries[ids[--count]], CACHE_ALIVE);
}

/* False if they may be in use unseen. */
static bool evict(struct vpeer_cache *cache, const uint32_t *ids, unsigned int count,
		  struct cache_batch *batch)
{
	if (!cache_far_fence(cache)) {
		let_live(cache, ids, count);
		return false;
	}
	cache_scan(cache);
	for (unsigned int i = 0; i < count; i++) {
		if (cache_in_use(cache, ids[i])) {
			cache_set_state(&cache->entries[ids[i]], CACHE_ALIVE);
			continue;
		}
		cache_unlink(cache, ids[i]);
		cache_give(cache, ids[i], batch);
		cache->stats.evictions++;
	}
	return true;
}

/* 0; -ENOSPC; -EAGAIN if the batch is full: drop it and come again */
int cache_make_room(struct vpeer_cache *cache, const struct vpeer_cache_insert *insert,
		    struct cache_batch *batch)
{
	const struct vpeer_cache_config *config = &cache->config;
	const struct vpeer_cache_budget *budget = insert->budget;
	uint32_t ids[CACHE_BATCH];

	if ((config->max_bytes && insert->size > config->max_bytes) ||
	    (budget && insert->size > budget->limit))
		return -ENOSPC;
	for (;;) {
		struct need need = need_of(cache, insert);
		unsigned int room = CACHE_BATCH - batch->count, count;

		if (is_met(&need))
			return 0;
		if (!room)
			return -EAGAIN;
		count = choose(cache, budget, &need, ids, room);
		if (count < room && !is_met(&need)) {
			let_live(cache, ids, count);
			return -ENOSPC;
		}
		if (!evict(cache, ids, count, batch))
			return -ENOSPC;
	}
}

static uint64_t count_idle(struct vpeer_cache *cache)
{
	uint64_t count = 0;

	cache_scan(cache);
	for (uint32_t id = cache->queue.first; id; id = cache->records[id].queue.next)
		count += !cache_in_use(cache, id);
	return count;
}

/* As choose(), of those that are idle only; @steps: how many may still be looked at. */
static unsigned int choose_idle(struct vpeer_cache *cache, uint64_t *steps, uint32_t *ids,
				uint64_t room)
{
	uint32_t id = cache->queue.first, next;
	unsigned int count = 0;

	cache_scan(cache);
	for (; *steps && id && count < room; id = next, --*steps) {
		struct cache_entry *entry = &cache->entries[id];

		next = cache->records[id].queue.next;
		if (!cache_alive(entry))
			continue;
		if (cache_in_use(cache, id) || cache_was_hit(entry)) {
			cache_set_state(entry, CACHE_ALIVE);
			cache_take_out(cache, &cache->queue, CACHE_QUEUE, id);
			cache_append(cache, &cache->queue, CACHE_QUEUE, id);
			if (!next)
				next = cache->queue.first;
			continue;
		}
		cache_set_state(entry, CACHE_DEAD);
		ids[count++] = id;
	}
	return count;
}

uint64_t vpeer_cache_trim(struct vpeer_cache *cache, uint64_t keep)
{
	uint64_t idle, steps, dropped = 0;
	struct cache_batch batch;
	uint32_t ids[CACHE_BATCH];
	unsigned int count;
	bool more = true;

	if (cache_forked(cache))
		return 0;
	cache_lock(cache);
	idle = count_idle(cache);
	steps = 2 * cache->stats.entries;
	while (more && idle > keep && steps) {
		count = choose_idle(cache, &steps, ids,
				    idle - keep < CACHE_BATCH ? idle - keep : CACHE_BATCH);
		batch.count = 0;
		more = evict(cache, ids, count, &batch);
		cache_unlock(cache);
		dropped += batch.count;
		idle -= count;
		cache_drop(cache, &batch);
		cache_lock(cache);
	}
	cache_unlock(cache);
	return dropped;
}

void vpeer_cache_clear(struct vpeer_cache *cache)
{
	if (cache_forked(cache))
		return;
	cache_lock(cache);
	cache->alone = true;
	cache_unlock(cache);
	cache_drain(cache);
	vpeer_cache_trim(cache, 0);
	cache_lock(cache);
	cache->alone = false;
	cache_unlock(cache);
}
