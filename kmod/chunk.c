// SPDX-License-Identifier: GPL-2.0-only
/*
 * Struct pages over the BAR, in chunks of at most 1 GiB that are made when a
 * window first needs them. 2 MiB compound pages keep the memory map small and
 * make a granule's state one reference count.
 */
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "trace.h"
#include "vpeer.h"

#define VPEER_CHUNK_LINGER	(2 * HZ)

unsigned long vpeer_nr_chunks(const struct vpeer_aperture *ap)
{
	return DIV_ROUND_UP(ap->size, VPEER_CHUNK);
}

static resource_size_t vpeer_chunk_base(const struct vpeer_aperture *ap,
					unsigned long index)
{
	return ap->base + index * VPEER_CHUNK;
}

static u64 vpeer_chunk_size(const struct vpeer_aperture *ap,
			    unsigned long index)
{
	return min(VPEER_CHUNK, ap->size - index * VPEER_CHUNK);
}

/**
 * vpeer_pages_exist - does another driver have struct pages for the range
 * @base: physical address, a multiple of the granule
 * @size: bytes
 *
 * memremap_pages() looks at the ends of a range only, and then warns.
 */
bool vpeer_pages_exist(resource_size_t base, u64 size)
{
	u64 at;

	for (at = 0; at < size; at += VPEER_GRANULE) {
		unsigned long pfn = PHYS_PFN(base + at);

		/* RAM nearby may make a whole section valid. */
		if (pfn_valid(pfn) && is_zone_device_page(pfn_to_page(pfn)))
			return true;
	}
	return false;
}

static int vpeer_chunk_map(struct vpeer_aperture *ap, unsigned long index)
{
	struct vpeer_chunk *chunk = &ap->chunks[index];
	resource_size_t base = vpeer_chunk_base(ap, index);
	u64 size = vpeer_chunk_size(ap, index);
	struct dev_pagemap *pgmap;
	void *addr;

	/* Whoever shares the BAR may have made some since attach. */
	if (ap->foreign && vpeer_pages_exist(base, size))
		return -EBUSY;
	pgmap = kzalloc(sizeof(*pgmap), GFP_KERNEL);
	if (!pgmap)
		return -ENOMEM;

	pgmap->type = MEMORY_DEVICE_GENERIC;
	pgmap->range.start = base;
	pgmap->range.end = base + size - 1;
	pgmap->nr_range = 1;
	pgmap->vmemmap_shift = VPEER_GRANULE_ORDER;
	pgmap->ops = vpeer_compat_pagemap_ops();
	addr = memremap_pages(pgmap, dev_to_node(&ap->pdev->dev));
	if (IS_ERR(addr)) {
		kfree(pgmap);
		return PTR_ERR(addr);
	}

	chunk->pgmap = pgmap;
	trace_vpeer_chunk_map(ap, index * VPEER_CHUNK, size);
	return 0;
}

/**
 * vpeer_chunk_unmap - give the struct pages back
 * @chunk: a mapped chunk whose pages no one holds
 */
void vpeer_chunk_unmap(struct vpeer_chunk *chunk)
{
	struct dev_pagemap *pgmap = chunk->pgmap;

	/* Lockless page table walkers may be about to drop a page again. */
	synchronize_rcu();
	chunk->pgmap = NULL;
	memunmap_pages(pgmap);
	kfree(pgmap);
}

static unsigned long vpeer_chunk_granules(const struct vpeer_chunk *chunk)
{
	return range_len(&chunk->pgmap->range) / VPEER_GRANULE;
}

bool vpeer_chunk_idle(const struct vpeer_chunk *chunk)
{
	return vpeer_granules_idle(chunk->pgmap->range.start,
				   vpeer_chunk_granules(chunk));
}

u64 vpeer_chunk_held(const struct vpeer_chunk *chunk)
{
	return vpeer_granules_held(chunk->pgmap->range.start,
				   vpeer_chunk_granules(chunk));
}

/* Granules of [first, first + nr) that lie in the chunk of granule @at. */
static unsigned long vpeer_chunk_share(unsigned long at, unsigned long end)
{
	unsigned long chunk_end = roundup(at + 1, VPEER_CHUNK_GRANULES);

	return min(end, chunk_end) - at;
}

/**
 * vpeer_chunks_claim - make sure the granules have struct pages
 * @ap: aperture, its lock held for writing
 * @first: first granule
 * @nr: granules
 */
int vpeer_chunks_claim(struct vpeer_aperture *ap, unsigned long first,
		       unsigned long nr)
{
	unsigned long at = first, end = first + nr;
	int ret;

	while (at < end) {
		unsigned long index = at / VPEER_CHUNK_GRANULES;
		unsigned long share = vpeer_chunk_share(at, end);

		if (!ap->chunks[index].pgmap) {
			ret = vpeer_chunk_map(ap, index);
			if (ret)
				goto release;
		}
		ap->chunks[index].users += share;
		at += share;
	}
	return 0;

release:
	vpeer_chunks_release(ap, first, at - first);
	queue_delayed_work(vpeer_wq, &ap->reap, VPEER_REAP_PERIOD);
	return ret;
}

void vpeer_chunks_release(struct vpeer_aperture *ap, unsigned long first,
			  unsigned long nr)
{
	unsigned long at = first, end = first + nr;

	while (at < end) {
		struct vpeer_chunk *chunk = &ap->chunks[at / VPEER_CHUNK_GRANULES];
		unsigned long share = vpeer_chunk_share(at, end);

		chunk->users -= share;
		if (!chunk->users)
			chunk->idle_since = jiffies;
		at += share;
	}
}

/**
 * vpeer_chunk_reap - unmap a chunk that has been idle for a while
 * @ap: aperture, its lock held for writing
 * @index: chunk
 * @now: do not linger
 *
 * A chunk lingers so that programs started one after another do not make and
 * drop its pages each time.
 *
 * Return: true if the chunk is idle but still mapped.
 */
bool vpeer_chunk_reap(struct vpeer_aperture *ap, unsigned long index, bool now)
{
	struct vpeer_chunk *chunk = &ap->chunks[index];

	if (!chunk->pgmap || chunk->users)
		return false;
	if (!now && time_before(jiffies, chunk->idle_since + VPEER_CHUNK_LINGER))
		return true;

	/* A walker's passing reference: come again. */
	if (!vpeer_chunk_idle(chunk))
		return true;

	vpeer_chunk_unmap(chunk);
	return false;
}

/**
 * vpeer_scrub - zero a granule that may hold someone's data
 * @ap: aperture, its lock held
 * @granule: a claimed granule
 *
 * Done before the first fault or export of a claim, one granule at a time, so
 * that no one waits for a whole aperture to be zeroed.
 */
void vpeer_scrub(struct vpeer_aperture *ap, unsigned long granule)
{
	struct vpeer_granule *g = &ap->granules[granule];
	void *addr = page_address(vpeer_page(ap, (u64)granule * VPEER_GRANULE));

	/* Pairs with the release below: exposed means zeroed. */
	if (smp_load_acquire(&g->content) == VPEER_CONTENT_EXPOSED)
		return;

	mutex_lock(&ap->scrub_lock);
	if (g->content != VPEER_CONTENT_EXPOSED) {
		if (g->content != VPEER_CONTENT_CLEAN) {
			memset_io((void __iomem *)addr, 0, VPEER_GRANULE);
			/* Zeroes before anything the new owner writes. */
			wmb();
			atomic64_add(VPEER_GRANULE, &ap->stats.bytes_scrubbed);
			trace_vpeer_scrub(ap, granule * VPEER_GRANULE,
					  VPEER_GRANULE);
		}
		/* Pairs with the acquire above. */
		smp_store_release(&g->content, VPEER_CONTENT_EXPOSED);
	}
	mutex_unlock(&ap->scrub_lock);
}
