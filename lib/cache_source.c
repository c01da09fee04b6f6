// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sources, and entries that go because somebody says so. */
#include "cache_internal.h"

#include <errno.h>
#include <stdlib.h>

int vpeer_cache_source_begin(struct vpeer_cache *cache,
			     const struct vpeer_cache_source_config *config,
			     struct vpeer_cache_source **source)
{
	struct vpeer_cache_source *begun;

	*source = NULL;
	if (cache_forked(cache))
		return -ECHILD;
	begun = calloc(1, sizeof(*begun));
	if (!begun)
		return -ENOMEM;
	begun->cache = cache;
	begun->config = *config;
	begun->references = 1;
	if (config->word)
		begun->seen = __atomic_load_n(config->word, __ATOMIC_ACQUIRE);
	cache_lock(cache);
	begun->next = cache->sources;
	begun->link = &cache->sources;
	if (begun->next)
		begun->next->link = &begun->next;
	cache->sources = begun;
	cache_unlock(cache);
	*source = begun;
	return 0;
}

bool cache_source_put(struct vpeer_cache_source *source)
{
	if (--source->references)
		return false;
	*source->link = source->next;
	if (source->next)
		source->next->link = source->link;
	return true;
}

void cache_source_release(struct vpeer_cache_source *source)
{
	if (source->config.release)
		source->config.release(source->config.arg);
	free(source);
}

static void retire_all(struct vpeer_cache *cache, struct vpeer_cache_source *source)
{
	while (source->entries.first) {
		cache_retire(cache, source->entries.first);
		cache->stats.invalidated++;
	}
}

void vpeer_cache_source_invalidate(struct vpeer_cache_source *source)
{
	struct vpeer_cache *cache = source->cache;

	if (cache_forked(cache))
		return;
	cache_lock(cache);
	/* No range: of no concern to other sources' insertions. */
	__atomic_store_n(&cache->ticket, cache->ticket + 1, __ATOMIC_RELEASE);
	cache->recent[cache->ticket % CACHE_RECENT] = (struct cache_range){ .first = UINT64_MAX };
	source->invalidated = cache->ticket;
	retire_all(cache, source);
	cache_unlock(cache);
	cache_drain(cache);
}

void vpeer_cache_source_end(struct vpeer_cache_source *source)
{
	struct vpeer_cache *cache = source->cache;
	bool released;

	if (cache_forked(cache))
		return;
	cache_lock(cache);
	source->ended = true;
	if (source->entries.first) {
		retire_all(cache, source);
		cache_unlock(cache);
		cache_drain(cache);
		cache_lock(cache);
	}
	released = cache_source_put(source);
	cache_unlock(cache);
	if (released)
		cache_source_release(source);
}

uint64_t vpeer_cache_invalidate(struct vpeer_cache *cache, uint64_t start, uint64_t size)
{
	uint64_t last = size - 1 > UINT64_MAX - start ? UINT64_MAX : start + size - 1;
	const struct vpeer_range_index *index = &cache->index;
	uint64_t min_end = start == UINT64_MAX ? start : start + 1;
	uint64_t count = 0;
	uint32_t id;

	if (!size || cache_forked(cache))
		return 0;
	cache_lock(cache);
	__atomic_store_n(&cache->ticket, cache->ticket + 1, __ATOMIC_RELEASE);
	cache->recent[cache->ticket % CACHE_RECENT] = (struct cache_range){ start, last };
	while ((id = vpeer_range_first(index, last, min_end)) != 0) {
		cache_retire(cache, id);
		count++;
	}
	cache->stats.invalidated += count;
	cache_unlock(cache);
	cache_drain(cache);
	return count;
}

uint64_t vpeer_cache_ticket(struct vpeer_cache *cache)
{
	return __atomic_load_n(&cache->ticket, __ATOMIC_ACQUIRE);
}

/* Since the ticket of @insert. */
int cache_invalidated(const struct vpeer_cache *cache, const struct vpeer_cache_insert *insert)
{
	uint64_t last = insert->start + insert->size - 1;

	if (insert->source->ended || insert->source->invalidated > insert->ticket)
		return -ESTALE;
	if (cache->ticket - insert->ticket > CACHE_RECENT)
		return -EBUSY;
	for (uint64_t ticket = insert->ticket + 1; ticket <= cache->ticket; ticket++) {
		const struct cache_range *range = &cache->recent[ticket % CACHE_RECENT];

		if (range->first <= last && insert->start <= range->last)
			return -ESTALE;
	}
	return 0;
}

static void look_at_word(struct vpeer_cache *cache, struct vpeer_cache_source *source)
{
	uint64_t now = __atomic_load_n(source->config.word, __ATOMIC_ACQUIRE);
	uint32_t id = source->entries.first, next;

	if (source->seen == now)
		return;
	for (; id; id = next) {
		next = cache->records[id].sibling.next;
		if (cache->entries[id].generation == now)
			continue;
		cache_retire(cache, id);
		cache->stats.stale++;
	}
	source->seen = now;
}

void vpeer_cache_reclaim(struct vpeer_cache *cache)
{
	struct vpeer_cache_source *source;

	if (cache_forked(cache))
		return;
	cache_lock(cache);
	for (source = cache->sources; source; source = source->next)
		if (source->config.word)
			look_at_word(cache, source);
	cache_unlock(cache);
	cache_drain(cache);
}
