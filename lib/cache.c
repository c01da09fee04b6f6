// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Beginning and end of a cache, and what it tells. */
#include "cache_internal.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOT_SIZE	4096	/* of the page that a child has zeroed; larger pages do as well */

static bool has_far_fence(void)
{
	return !syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) &&
	       !syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static int begin_hot(struct vpeer_cache *cache)
{
	void *page = mmap(NULL, HOT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -errno;
	cache->hot = page;
	if (madvise(page, HOT_SIZE, MADV_WIPEONFORK))
		return -errno;
	cache->hot->quick = VPEER_REFSLOTS_NOBODY;
	return 0;
}

/* Number 0 is no entry, but has memory. */
static int begin_memory(struct vpeer_cache *cache)
{
	size_t count = (size_t)cache->config.max_entries + 1;
	int err;

	err = vpeer_reserve_begin(&cache->entry_memory, count * sizeof(*cache->entries));
	if (!err)
		err = vpeer_reserve_begin(&cache->record_memory, count * sizeof(*cache->records));
	if (!err)
		err = vpeer_reserve_begin(&cache->node_memory,
					  count * sizeof(*cache->index.nodes));
	if (err)
		return err;
	cache->entries = (struct cache_entry *)cache->entry_memory.base;
	cache->records = (struct cache_record *)cache->record_memory.base;
	cache->index.nodes = (struct vpeer_range_node *)cache->node_memory.base;
	return 0;
}

static void end_memory(struct vpeer_cache *cache)
{
	cache_fill_end(cache);
	vpeer_reserve_end(&cache->entry_memory);
	vpeer_reserve_end(&cache->record_memory);
	vpeer_reserve_end(&cache->node_memory);
	if (cache->hot)
		munmap(cache->hot, HOT_SIZE);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

static void spill(void *arg, const void *object)
{
	struct vpeer_cache *cache = arg;

	__atomic_add_fetch(&cache->records[cache_id(cache, object)].shared, 1, __ATOMIC_ACQ_REL);
}

int vpeer_cache_begin(struct vpeer_cache **cache, const struct vpeer_cache_config *config)
{
	struct vpeer_cache *begun;
	int err;

	*cache = NULL;
	if (!config->drop || !config->max_entries ||
	    config->max_entries > VPEER_CACHE_MAX_ENTRIES)
		return -EINVAL;
	begun = aligned_alloc(_Alignof(struct vpeer_cache), sizeof(*begun));
	if (!begun)
		return -ENOMEM;
	memset(begun, 0, sizeof(*begun));
	begun->config = *config;
	begun->fenced = config->fences || !has_far_fence();
	pthread_mutex_init(&begun->lock, NULL);
	err = begin_hot(begun);
	if (!err)
		err = begin_memory(begun);
	if (!err)
		err = cache_fill_begin(begun);
	if (!err)
		err = vpeer_refslots_begin(&begun->refslots, spill, begun);
	if (err) {
		end_memory(begun);
		return err;
	}
	if (!begun->fenced)
		begun->hot->quick = begun->refslots.id;
	*cache = begun;
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
	uint64_t slow_hits, misses;

	*stats = (struct vpeer_cache_stats){ 0 };
	if (cache_forked(cache))
		return;
	cache_lock(cache);
	*stats = cache->stats;
	slow_hits = __atomic_load_n(&cache->stats.slow_hits, __ATOMIC_RELAXED);
	misses = __atomic_load_n(&cache->stats.misses, __ATOMIC_RELAXED);
	stats->slow_hits = slow_hits;
	stats->misses = misses;
	stats->hits = slow_hits + vpeer_refslots_hits(&cache->refslots);
	stats->memory = sizeof(*cache) + HOT_SIZE + cache->entry_memory.committed +
			cache->record_memory.committed + cache->node_memory.committed +
			cache_fill_bytes(cache) +
			vpeer_refslots_memory(&cache->refslots);
	stats->fenced = cache->fenced;
	cache_unlock(cache);
}
