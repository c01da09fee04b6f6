// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who still holds BAR pages. A granule is one compound page whose head has
 * one reference of its own; neither memunmap_pages() nor any callback tells
 * when the others go (MEMORY_DEVICE_GENERIC pages take no pgmap reference per
 * pin), so the reference count is the only source of truth.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "compat/compat.h"
#include "vpeer.h"

#define VPEER_PIN_POLL_MS	10

/* The page at an offset whose chunk is mapped. */
struct page *vpeer_page(const struct vpeer_aperture *ap, u64 offset)
{
	return pfn_to_page(PHYS_PFN(ap->base + offset));
}

/**
 * vpeer_granules_held - bytes that others hold, once no mapping is left
 * @base: physical address of the first granule; its chunk must be mapped
 * @nr: granules
 *
 * Counts every reference, those of drivers that take pages without a pin
 * (O_DIRECT before 6.5) included. CPU mappings count too while they exist.
 */
u64 vpeer_granules_held(resource_size_t base, unsigned long nr)
{
	unsigned long i;
	u64 pages = 0;

	for (i = 0; i < nr; i++) {
		resource_size_t addr = base + i * VPEER_GRANULE;

		pages += page_ref_count(pfn_to_page(PHYS_PFN(addr))) - 1;
		if (!(i & 0xfff))
			cond_resched();
	}
	return pages << PAGE_SHIFT;
}

/**
 * vpeer_granules_pinned - bytes that initiators hold pinned
 * @ap: aperture, its lock held
 * @first: first granule
 * @nr: granules
 *
 * Counts pins only, so that it is exact while CPU mappings exist.
 */
u64 vpeer_granules_pinned(const struct vpeer_aperture *ap,
			  unsigned long first, unsigned long nr)
{
	unsigned long i;
	u64 pages = 0;

	for (i = first; i < first + nr; i++)
		if (vpeer_granule_mapped(ap, i))
			pages += vpeer_compat_pincount(
				vpeer_page(ap, (u64)i * VPEER_GRANULE));
	return pages << PAGE_SHIFT;
}

static struct page *vpeer_head(const struct vpeer_aperture *ap, u64 offset)
{
	return vpeer_page(ap, round_down(offset, VPEER_GRANULE));
}

/* The end of the part of [at, end) that lies in one chunk. */
static u64 vpeer_part_end(u64 at, u64 end)
{
	return min(end, round_down(at, VPEER_CHUNK) + VPEER_CHUNK);
}

/**
 * vpeer_range_hold - hold a range for an importer that sees no pages
 * @ap: aperture, its lock held
 * @offset: first byte, of a claimed window whose pages are made
 * @size: bytes, whole pages
 *
 * One page stands for all of the range in a chunk.
 *
 * Return: false if it is held too often; far beyond what importers need, but
 * the count must not overflow.
 */
bool vpeer_range_hold(const struct vpeer_aperture *ap, u64 offset, u64 size)
{
	u64 at, next, end = offset + size;

	for (at = offset; at < end; at = next) {
		struct page *page = vpeer_head(ap, at);

		next = vpeer_part_end(at, end);
		if (page_ref_count(page) > INT_MAX / 2) {
			vpeer_range_drop(ap, offset, at - offset);
			return false;
		}
		page_ref_add(page, (next - at) >> PAGE_SHIFT);
	}
	return true;
}

/* The range's pages outlast the hold, also in quarantine. */
void vpeer_range_drop(const struct vpeer_aperture *ap, u64 offset, u64 size)
{
	u64 at, next, end = offset + size;

	for (at = offset; at < end; at = next) {
		next = vpeer_part_end(at, end);
		page_ref_sub(vpeer_head(ap, at), (next - at) >> PAGE_SHIFT);
	}
}

/**
 * vpeer_wait_held - wait until initiators hold nothing
 * @held: tells the bytes they hold
 * @context: its argument
 * @wait_ms: at most this long
 * @killable: and no longer than until a fatal signal
 *
 * Return: the bytes they still hold.
 */
u64 vpeer_wait_held(u64 (*held)(void *context), void *context,
		    unsigned int wait_ms, bool killable)
{
	unsigned long end = jiffies + msecs_to_jiffies(wait_ms);

	for (;;) {
		u64 bytes = held(context);

		if (!bytes || time_after_eq(jiffies, end))
			return bytes;
		if (killable && fatal_signal_pending(current))
			return bytes;
		msleep(VPEER_PIN_POLL_MS);
	}
}
