// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The far side of hits' fences; see cache_internal.h. */
#include "cache_internal.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

int cache_try_far_fence(bool first)
{
	if (first && syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		return errno;
	return syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) ? errno : 0;
}

/* The number first: who sees that fences are needed takes the long way from then on. */
static void need_fences(struct vpeer_cache *cache, int err)
{
	struct vpeer_refslots_block *mine = vpeer_refslots_mine(&cache->refslots);

	cache->late = true;
	cache->refused = err;
	__atomic_store_n(&cache->quick, VPEER_REFSLOTS_NOBODY, __ATOMIC_RELAXED);
	__atomic_store_n(&cache->fenced, true, __ATOMIC_RELEASE);
	if (mine)
		vpeer_refslots_pass(mine);
}

static bool is_seen(struct vpeer_cache *cache)
{
	int err = 0;

	if (cache->alone || (cache->fenced && !cache->late))
		return true;
	if (!cache->fenced) {
		err = cache_try_far_fence(false);
		if (!err)
			return true;
		need_fences(cache, err);
	}
	if (vpeer_refslots_all_passed(&cache->refslots))
		return true;
	/* Another thread's filter may be another one. */
	return !err && !cache_try_far_fence(false);
}

bool cache_far_fence(struct vpeer_cache *cache)
{
	bool seen;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	seen = is_seen(cache);
	vpeer_pause();
	return seen;
}

void cache_pass(struct vpeer_cache *cache, struct vpeer_refslots_block *mine)
{
	if (vpeer_refslots_pass(mine) && cache->late && cache->config.passed)
		cache->config.passed(cache->config.user);
}

void cache_unlock(struct vpeer_cache *cache)
{
	int err = cache->refused;

	cache->refused = 0;
	pthread_mutex_unlock(&cache->lock);
	if (err && cache->config.refused)
		cache->config.refused(cache->config.user, err);
}
