// SPDX-License-Identifier: GPL-2.0-only
/*
 * The caches of which cache_cost.c measures hits: the library's and UCX's. Nothing is
 * registered with a device: both hold what a registration would be. Both are valid as
 * they promise it: the library compares a generation at each hit, UCX has its handler
 * of unmapped memory installed.
 */
#include "cache_cost.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>

#include <ucm/api/ucm.h>
#include <ucs/memory/rcache.h>

#include "cache.h"

/* The library's. */

static uint64_t generation = 1;
static struct vpeer_cache *cache;
static struct vpeer_cache_source *source;
uint64_t vpeer_bytes;

static void drop(void *user, void *value)
{
	(void)user;
	(void)value;
}

void vpeer_insert(uint64_t start, uint64_t size)
{
	struct vpeer_cache_insert range = {
		.start = start,
		.size = size,
		.access = PROT_READ | PROT_WRITE,
		.generation = generation,
		.ticket = vpeer_cache_ticket(cache),
		.source = source,
		.value = &generation,
	};
	struct vpeer_cache_entry *entry;
	int err = vpeer_cache_insert(cache, &range, &entry);

	if (err)
		die("vpeer_cache_insert", err);
	vpeer_cache_put(cache, entry);
}

void vpeer_begin(uint32_t entries)
{
	struct vpeer_cache_config config = { .max_entries = entries, .drop = drop };
	struct vpeer_cache_source_config word = { .word = &generation };
	int err = vpeer_cache_begin(&cache, &config);

	if (!err)
		err = vpeer_cache_source_begin(cache, &word, &source);
	if (err)
		die("vpeer_cache_begin", err);
}

static void vpeer_fill(const uint64_t *starts, size_t count)
{
	struct vpeer_cache_stats stats;

	vpeer_begin((uint32_t)count);
	for (size_t i = 0; i < count; i++)
		vpeer_insert(starts[i], SIZE);
	vpeer_cache_stats(cache, &stats);
	vpeer_bytes = stats.memory;
}

void vpeer_hit(uint64_t start, uint64_t size)
{
	struct vpeer_cache_entry *entry = vpeer_cache_get(cache, start, size, PROT_READ, 0);

	if (!entry)
		die("a range is not found", ENOENT);
	vpeer_cache_put(cache, entry);
}

static void vpeer_hits(const uint64_t *starts, size_t count)
{
	struct vpeer_cache *all = cache;

	for (size_t i = 0; i < count; i++) {
		struct vpeer_cache_entry *entry;

		entry = vpeer_cache_get(all, starts[i], SIZE, PROT_READ, 0);
		if (!entry)
			die("a range is not found", ENOENT);
		vpeer_cache_put(all, entry);
	}
}

void vpeer_empty(void)
{
	int err;

	vpeer_cache_source_end(source);
	err = vpeer_cache_end(cache);
	if (err)
		die("vpeer_cache_end", err);
}

const struct subject vpeer = { "vpeer", vpeer_fill, vpeer_hits, vpeer_empty };

/* UCX's. */

static ucs_rcache_t *rcache;

static ucs_status_t ucx_register(void *context, ucs_rcache_t *owner, void *arg,
				 ucs_rcache_region_t *region, uint16_t flags)
{
	(void)context;
	(void)owner;
	(void)arg;
	(void)region;
	(void)flags;
	return UCS_OK;
}

static void ucx_deregister(void *context, ucs_rcache_t *owner, ucs_rcache_region_t *region)
{
	(void)context;
	(void)owner;
	(void)region;
}

static void ucx_merge(void *context, ucs_rcache_t *owner, void *arg, ucs_rcache_region_t *region)
{
	(void)context;
	(void)owner;
	(void)arg;
	(void)region;
}

static void ucx_dump(void *context, ucs_rcache_t *owner, ucs_rcache_region_t *region, char *text,
		     size_t size)
{
	(void)context;
	(void)owner;
	(void)region;
	snprintf(text, size, "none");
}

static void ucx_hits(const uint64_t *starts, size_t count)
{
	ucs_rcache_t *all = rcache;

	for (size_t i = 0; i < count; i++) {
		ucs_rcache_region_t *region;

		if (ucs_rcache_get(all, (void *)(uintptr_t)starts[i], SIZE, UCS_PGT_ADDR_ALIGN,
				   PROT_READ, NULL, &region) != UCS_OK)
			die("ucs_rcache_get", EIO);
		ucs_rcache_region_put(all, region);
	}
}

static void ucx_fill(const uint64_t *starts, size_t count)
{
	static ucs_rcache_ops_t ops = {
		.mem_reg = ucx_register,
		.mem_dereg = ucx_deregister,
		.merge = ucx_merge,
		.dump_region = ucx_dump,
	};
	ucs_rcache_params_t params = {
		.region_struct_size = sizeof(ucs_rcache_region_t),
		.ucm_events = UCM_EVENT_VM_UNMAPPED,
		.ucm_event_priority = 1000,
		.ops = &ops,
		.flags = UCS_RCACHE_FLAG_NO_PFN_CHECK,
		.max_regions = ULONG_MAX,
		.max_size = SIZE_MAX,
		.max_unreleased = SIZE_MAX,
	};

	if (ucs_rcache_create(&params, "bench", NULL, &rcache) != UCS_OK)
		die("ucs_rcache_create", EIO);
	ucx_hits(starts, count);
}

static void ucx_empty(void)
{
	ucs_rcache_destroy(rcache);
}

const struct subject ucx = { "UCX", ucx_fill, ucx_hits, ucx_empty };
