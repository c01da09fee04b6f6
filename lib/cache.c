// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Beginning and end of a cache, and what it tells. */
#include "cache_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The cache itself, to which entries are added at its end. Number 0 is no entry, but has memory. */
static int begin_cache(struct vpeer_cache **cache, size_t entries)
{
	struct vpeer_reserve memory;
	int err = vpeer_reserve_begin(&memory, cache_bytes(entries));

	if (err)
		return err;
	err = vpeer_reserve_grow(&memory, cache_bytes(1));
	if (!err && madvise(memory.base, VPEER_LARGEST_PAGE, MADV_WIPEONFORK))
		err = -errno;
	if (err) {
		vpeer_reserve_end(&memory);
		return err;
	}
	*cache = (struct vpeer_cache *)memory.base;
	(*cache)->memory = memory;
	(*cache)->quick = VPEER_REFSLOTS_NOBODY;
	pthread_mutex_init(&(*cache)->lock, NULL);
	return 0;
}

static int begin_rest(struct vpeer_cache *cache, size_t entries)
{
	int err = vpeer_reserve_begin(&cache->record_memory, entries * sizeof(*cache->records));

	if (!err)
		err = vpeer_reserve_begin(&cache->node_memory,
					  entries * sizeof(*cache->index.nodes));
	if (err)
		return err;
	cache->records = (struct cache_record *)cache->record_memory.base;
	cache->index.nodes = (struct vpeer_range_node *)cache->node_memory.base;
	return cache_fill_begin(cache);
}

static void end_memory(struct vpeer_cache *cache)
{
	struct vpeer_reserve memory = cache->memory;

	cache_fill_end(cache);
	vpeer_reserve_end(&cache->record_memory);
	vpeer_reserve_end(&cache->node_memory);
	pthread_mutex_destroy(&cache->lock);
	vpeer_reserve_end(&memory);
}

static void spill(void *arg, const void *object)
{
	struct vpeer_cache *cache = arg;

	__atomic_add_fetch(&cache->records[cache_id(cache, object)].shared, 1, __ATOMIC_ACQ_REL);
}

int vpeer_cache_begin(struct vpeer_cache **cache, const struct vpeer_cache_config *config)
{
	size_t entries = (size_t)config->max_entries + 1;
	struct vpeer_cache *begun;
	int err, refused;

	*cache = NULL;
	if (!config->drop || !config->max_entries ||
	    config->max_entries > VPEER_CACHE_MAX_ENTRIES)
		return -EINVAL;
	err = begin_cache(&begun, entries);
	if (err)
		return err;
	begun->config = *config;
	refused = config->fences ? 0 : cache_try_far_fence(true);
	begun->fenced = config->fences || refused;
	err = begin_rest(begun, entries);
	if (!err)
		err = vpeer_refslots_begin(&begun->refslots, spill, begun);
	if (err) {
		end_memory(begun);
		return err;
	}
	if (!begun->fenced)
		begun->quick = begun->refslots.id;
	*cache = begun;
	if (refused && config->refused)
		config->refused(config->user, refused);
	return 0;
}

static void free_sources(struct vpeer_cache *cache)
{
	struct vpeer_cache_source *source = cache->sources, *next;

	for (; source; source = next) {
		next = source->next;
		free(source);
	}
}

int vpeer_cache_end(struct vpeer_cache *cache)
{
	if (!cache)
		return 0;
	if (cache->sources && !cache_forked(cache))
		return -EBUSY;
	free_sources(cache);
	vpeer_refslots_end(&cache->refslots);
	end_memory(cache);
	return 0;
}

void vpeer_cache_stats(struct vpeer_cache *cache, struct vpeer_cache_stats *stats)
{
	*stats = (struct vpeer_cache_stats){ 0 };
	if (cache_forked(cache))
		return;
	cache_lock(cache);
	*stats = cache->stats;
	stats->slow_hits = __atomic_load_n(&cache->slow_hits, __ATOMIC_RELAXED);
	stats->misses = __atomic_load_n(&cache->misses, __ATOMIC_RELAXED);
	stats->hits = stats->slow_hits + vpeer_refslots_hits(&cache->refslots);
	stats->memory = cache->memory.committed + cache->record_memory.committed +
			cache->node_memory.committed + cache_fill_bytes(cache) +
			vpeer_refslots_memory(&cache->refslots);
	stats->fenced = cache->fenced;
	cache_unlock(cache);
}
