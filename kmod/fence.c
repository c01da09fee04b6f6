// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fences on DMA-bufs: they stand for DMA that goes on after an unmap. Whoever
 * has the descriptor can add fences, but DMA begins with a mapping; so those
 * alone are minded that are there when an importer that has the memory mapped
 * is told that it goes, or when it unmaps it after that.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>

#include "compat/compat.h"
#include "vpeer.h"

#define VPEER_FENCE_POLL	(HZ / 20)

/* Does DMA go on, as far as fences tell? The aperture's lock is held. */
bool vpeer_export_fenced(struct vpeer_export *x)
{
	if (x->fences_lost)
		return !vpeer_compat_fences_signaled(&x->resv);
	return x->fence && !dma_fence_is_signaled(x->fence);
}

/* No one else looks at fences once the aperture is gone. */
static void vpeer_fences_poll(struct work_struct *work)
{
	struct vpeer_export *x = container_of(to_delayed_work(work),
					      struct vpeer_export, fence_poll);
	bool over;

	down_write(&x->w->ap->lock);
	over = x->fenced && !vpeer_export_fenced(x);
	if (over)
		x->fenced = false;
	else if (x->fenced)
		queue_delayed_work(vpeer_wq, &x->fence_poll, VPEER_FENCE_POLL);
	up_write(&x->w->ap->lock);
	if (over)
		vpeer_range_drop(x->w->ap, x->offset, x->size);
}

void vpeer_fences_init(struct vpeer_export *x)
{
	INIT_DELAYED_WORK(&x->fence_poll, vpeer_fences_poll);
}

/**
 * vpeer_fences_hold - hold the pages of memory that fences are on
 * @x: export of a gone aperture, whose lock is held for writing; its pages are
 *	still held, or not yet taken over
 *
 * Until they signal, or the DMA-buf goes.
 */
void vpeer_fences_hold(struct vpeer_export *x)
{
	if (x->fenced || !vpeer_export_fenced(x))
		return;
	x->fenced = vpeer_range_hold(x->w->ap, x->offset, x->size);
	if (x->fenced)
		queue_delayed_work(vpeer_wq, &x->fence_poll, VPEER_FENCE_POLL);
}

/**
 * vpeer_fences_note - mind the fences that are there now
 * @x: export of a revoked window; its reservation object is locked
 */
void vpeer_fences_note(struct vpeer_export *x)
{
	struct dma_fence *fence = NULL;
	bool lost = !vpeer_compat_fences_get(&x->resv, &fence);

	down_write(&x->w->ap->lock);
	swap(x->fence, fence);
	/* Out of memory: all that the DMA-buf has count, now and later. */
	x->fences_lost |= lost;
	if (x->w->ap->gone)
		vpeer_fences_hold(x);
	up_write(&x->w->ap->lock);
	dma_fence_put(fence);
}

/* The DMA-buf is no more, and neither are its importers. */
void vpeer_fences_end(struct vpeer_export *x)
{
	cancel_delayed_work_sync(&x->fence_poll);
	if (x->fenced)
		vpeer_range_drop(x->w->ap, x->offset, x->size);
	dma_fence_put(x->fence);
	x->fence = NULL;
}
