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
