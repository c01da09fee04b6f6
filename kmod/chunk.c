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

static struct dev_pagemap *vpeer_chunk_map(struct vpeer_aperture *ap,
					   unsigned long index)
{
	resource_size_t base = vpeer_chunk_base(ap, index);
	u64 size = vpeer_chunk_size(ap, index);
	struct dev_pagemap *pgmap;
	void *addr;

	/* Whoever shares the BAR may have made some since attach. */
	if (ap->foreign && vpeer_pages_exist(base, size))
		return ERR_PTR(-EBUSY);
	pgmap = kzalloc(sizeof(*pgmap), GFP_KERNEL);
	if (!pgmap)
		return ERR_PTR(-ENOMEM);

	pgmap->type = MEMORY_DEVICE_GENERIC;
	pgmap->range.start = base;
	pgmap->range.end = base + size - 1;
	pgmap->nr_range = 1;
	pgmap->vmemmap_shift = VPEER_GRANULE_ORDER;
	pgmap->ops = vpeer_compat_pagemap_ops();
	addr = memremap_pages(pgmap, dev_to_node(&ap->pdev->dev));
	if (IS_ERR(addr)) {
		kfree(pgmap);
		return ERR_CAST(addr);
	}
	vpeer_compat_allow_fast_pins(base, size, VPEER_GRANULE);
	trace_vpeer_chunk_map(ap, index * VPEER_CHUNK, size);
	return pgmap;
}

/**
 * vpeer_chunk_unmap - give struct pages back
 * @pgmap: of a chunk whose pages no one holds; freed
 *
 * Lockless page table walkers may be about to drop a page again: an RCU grace
 * period has passed since the last mapping went.
 */
void vpeer_chunk_unmap(struct dev_pagemap *pgmap)
{
	memunmap_pages(pgmap);
	kfree(pgmap);
}

/* Bytes that others hold of a mapped chunk. */
u64 vpeer_chunk_held(const struct vpeer_chunk *chunk)
{
	return vpeer_granules_held(chunk->pgmap->range.start,
				   range_len(&chunk->pgmap->range) / VPEER_GRANULE);
}

bool vpeer_granule_mapped(const struct vpeer_aperture *ap,
			  unsigned long granule)
{
	return ap->chunks[granule / VPEER_CHUNK_GRANULES].pgmap;
}

/* Granules of [at, end) that lie in the chunk of granule @at. */
static unsigned long vpeer_chunk_share(unsigned long at, unsigned long end)
{
	unsigned long chunk_end = roundup(at + 1, VPEER_CHUNK_GRANULES);

	return min(end, chunk_end) - at;
}

/**
 * vpeer_chunks_held - bytes that others hold of a range without mappings
 * @ap: aperture, its lock held
 * @first: first granule
 * @nr: granules
 */
u64 vpeer_chunks_held(const struct vpeer_aperture *ap, unsigned long first,
		      unsigned long nr)
{
	unsigned long at, share, end = first + nr;
	u64 held = 0;

	for (at = first; at < end; at += share) {
		share = vpeer_chunk_share(at, end);
		if (vpeer_granule_mapped(ap, at))
			held += vpeer_granules_held(ap->base + at * VPEER_GRANULE,
						    share);
	}
	return held;
}

/**
 * vpeer_chunks_claim - keep the granules' struct pages, once they are made
 * @ap: aperture, its lock held for writing
 * @first: first granule
 * @nr: granules
 */
void vpeer_chunks_claim(struct vpeer_aperture *ap, unsigned long first,
			unsigned long nr)
{
	unsigned long at, share, end = first + nr;

	for (at = first; at < end; at += share) {
		share = vpeer_chunk_share(at, end);
		ap->chunks[at / VPEER_CHUNK_GRANULES].users += share;
	}
}

void vpeer_chunks_release(struct vpeer_aperture *ap, unsigned long first,
			  unsigned long nr)
{
	unsigned long at, share, end = first + nr;

	for (at = first; at < end; at += share) {
		struct vpeer_chunk *chunk = &ap->chunks[at / VPEER_CHUNK_GRANULES];

		share = vpeer_chunk_share(at, end);
		chunk->users -= share;
		if (!chunk->users)
			chunk->idle_since = jiffies;
	}
}

static void vpeer_chunk_publish(struct vpeer_aperture *ap, unsigned long index,
				struct dev_pagemap *pgmap)
{
	struct vpeer_chunk *chunk = &ap->chunks[index];

	down_write(&ap->lock);
	chunk->pgmap = pgmap;
	chunk->idle_since = jiffies;
	/* Its claim may have ended meanwhile. Teardown cancels once gone is set. */
	if (!ap->gone)
		queue_delayed_work(vpeer_wq, &ap->reap, VPEER_REAP_PERIOD);
	up_write(&ap->lock);
}

static int vpeer_chunk_make(struct vpeer_aperture *ap, unsigned long index)
{
	struct dev_pagemap *pgmap;

	/* Teardown sets it before it takes chunk_lock and drops the chunks. */
	if (READ_ONCE(ap->gone))
		return -ENODEV;
	if (ap->chunks[index].pgmap)
		return 0;
	pgmap = vpeer_chunk_map(ap, index);
	if (IS_ERR(pgmap))
		return PTR_ERR(pgmap);
	vpeer_chunk_publish(ap, index, pgmap);
	return 0;
}

/**
 * vpeer_chunks_make - make the granules' struct pages if they are not there
 * @ap: aperture, its lock not held
 * @first: first granule of a claim
 * @nr: granules
 *
 * Return: 0, -ENODEV, -ENOMEM, -EBUSY if another has pages for the range, or
 * what memremap_pages() says.
 */
int vpeer_chunks_make(struct vpeer_aperture *ap, unsigned long first,
		      unsigned long nr)
{
	unsigned long index = first / VPEER_CHUNK_GRANULES;
	unsigned long last = (first + nr - 1) / VPEER_CHUNK_GRANULES;
	int ret = 0;

	for (; index <= last && !ret; index++) {
		mutex_lock(&ap->chunk_lock);
		ret = vpeer_chunk_make(ap, index);
		mutex_unlock(&ap->chunk_lock);
	}
	return ret;
}

/*
 * Takes an idle chunk's pages from it. A chunk lingers so that programs
 * started one after another do not make and drop its pages each time.
 */
static bool vpeer_chunk_drop(struct vpeer_chunk *chunk, bool *more)
{
	if (!chunk->pgmap || chunk->users)
		return false;
	/* What is held here is a walker's passing reference: come again. */
	if (time_before(jiffies, chunk->idle_since + VPEER_CHUNK_LINGER) ||
	    vpeer_chunk_held(chunk)) {
		*more = true;
		return false;
	}
	chunk->dropped = chunk->pgmap;
	chunk->pgmap = NULL;
	return true;
}

/**
 * vpeer_chunks_reap - drop the struct pages of chunks that have been idle
 * @ap: aperture, its chunk_lock held
 *
 * Return: true if some are idle but still mapped.
 */
bool vpeer_chunks_reap(struct vpeer_aperture *ap)
{
	bool any = false, more = false;
	unsigned long i;

	down_write(&ap->lock);
	for (i = 0; i < vpeer_nr_chunks(ap); i++)
		any |= vpeer_chunk_drop(&ap->chunks[i], &more);
	up_write(&ap->lock);
	if (!any)
		return more;

	synchronize_rcu();
	for (i = 0; i < vpeer_nr_chunks(ap); i++) {
		if (ap->chunks[i].dropped)
			vpeer_chunk_unmap(ap->chunks[i].dropped);
		ap->chunks[i].dropped = NULL;
	}
	return more;
}

/*
 * memset_io() is "rep stosb" on current processors: a transaction per byte in
 * uncached memory. Non-temporal stores of eight bytes combine to whole lines
 * in write-combining memory and leave the caches alone. The caller orders them.
 */
static void vpeer_zero(void *addr, size_t size)
{
	void *end = addr + size;

	for (; addr < end; addr += 64)
		asm volatile("movnti %1, 0x00(%0)\n\t"
			     "movnti %1, 0x08(%0)\n\t"
			     "movnti %1, 0x10(%0)\n\t"
			     "movnti %1, 0x18(%0)\n\t"
			     "movnti %1, 0x20(%0)\n\t"
			     "movnti %1, 0x28(%0)\n\t"
			     "movnti %1, 0x30(%0)\n\t"
			     "movnti %1, 0x38(%0)"
			     : : "r" (addr), "r" (0UL) : "memory");
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
			vpeer_zero(addr, VPEER_GRANULE);
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
