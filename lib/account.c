// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a context did, and what apertures it may keep registered. */
#include <stdlib.h>

#include "context.h"

struct vpeer_cache_budget *vpeer_context_budget(struct vpeer_context *context,
						const struct vpeer_memory *memory)
{
	struct vpeer_share *share;

	if (!memory->aperture_id)
		return NULL;
	pthread_mutex_lock(&context->lock);
	SLIST_FOREACH(share, &context->shares, next)
		if (share->aperture_id == memory->aperture_id)
			break;
	if (!share)
		share = calloc(1, sizeof(*share));
	if (share && !share->aperture_id) {
		share->aperture_id = memory->aperture_id;
		share->budget.limit = memory->aperture_size / 100 *
				      context->options.aperture_percent;
		SLIST_INSERT_HEAD(&context->shares, share, next);
	}
	pthread_mutex_unlock(&context->lock);
	return share ? &share->budget : NULL;
}

static uint64_t count_of(const struct vpeer_context *context, unsigned int counter)
{
	return __atomic_load_n(&context->counters[counter], __ATOMIC_RELAXED);
}

static void take_cache_stats(const struct vpeer_context *context, struct vpeer_stats *stats)
{
	struct vpeer_cache_stats cache;

	if (!context->cache)
		return;
	vpeer_cache_stats(context->cache, &cache);
	stats->hits += cache.hits;
	stats->stale = cache.stale;
	stats->evicted = cache.evictions;
	stats->entries = cache.entries;
	stats->bytes = cache.bytes;
}

void vpeer_context_stats(const struct vpeer_context *context, struct vpeer_stats *stats)
{
	*stats = (struct vpeer_stats){
		.hits = count_of(context, VPEER_COUNT_SHARED_HITS),
		.misses = count_of(context, VPEER_COUNT_MISSES),
		.registered = count_of(context, VPEER_COUNT_REGISTERED),
		.deregistered = count_of(context, VPEER_COUNT_DEREGISTERED),
		.deferred = count_of(context, VPEER_COUNT_DEFERRED),
		.lost = count_of(context, VPEER_COUNT_LOST),
		.failed = count_of(context, VPEER_COUNT_FAILED),
		.uncached = count_of(context, VPEER_COUNT_UNCACHED),
		.probes = count_of(context, VPEER_COUNT_PROBES),
		.revoked = count_of(context, VPEER_COUNT_REVOKED),
		.exports = count_of(context, VPEER_COUNT_EXPORTS),
	};
	take_cache_stats(context, stats);
	stats->entries += __atomic_load_n(&context->loose, __ATOMIC_RELAXED);
	stats->bytes += __atomic_load_n(&context->loose_bytes, __ATOMIC_RELAXED);
	for (unsigned int route = 0; route < VPEER_ROUTES; route++)
		stats->routes[route] = count_of(context, VPEER_COUNT_ROUTES + route);
}
