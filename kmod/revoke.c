// SPDX-License-Identifier: GPL-2.0-only
/*
 * Revocation, of all routes alike. In this order: no new users and a changed
 * generation, under the aperture's lock; then, without it, CPU mappings go,
 * importers of DMA-bufs are told, and what initiators hold gets a bounded time
 * to go. What is held even then stays out of use until the last pin drops: a
 * window that drains, or the quarantine of an aperture that ended.
 *
 * What that is worth depends on the initiator's driver. One that was told has
 * made its MRs useless before it unmapped them, and nothing lands from then on,
 * whatever the IOMMU does. The time it takes to let go is its own. One that
 * pins and takes no notice goes on until it lets go of its own accord; that is
 * reported, never success. A device that goes on by itself after its driver has
 * unmapped the memory is stopped by a translating IOMMU only.
 */
#include <linux/sched.h>

#include "trace.h"
#include "vpeer.h"

/* Stops CPU access through every node, whatever name space it lies in. */
static void vpeer_zap(struct vpeer_aperture *ap, u64 offset, u64 size)
{
	unmap_mapping_range(ap->inode->i_mapping, offset, size, 1);
}

/**
 * vpeer_window_revoke - no new users of a window
 * @w: window, its aperture's lock held for writing
 * @cause: why; VPEER_CAUSE_NONE for one that ends at its owner's request
 * @exports: where to put the DMA-bufs to be told of it
 *
 * The caller stops those that there are, by vpeer_window_stop(), after it has
 * dropped the lock.
 */
void vpeer_window_revoke(struct vpeer_window *w, enum vpeer_cause cause,
			 struct list_head *exports)
{
	struct vpeer_export *x;

	if (w->revoked)
		return;
	WRITE_ONCE(w->revoked, true);
	w->cause = cause;
	list_for_each_entry(x, &w->exports, node)
		list_add_tail(&x->told, exports);
	atomic64_inc(&w->ap->stats.revocations);
	if (!w->owner)
		return;
	vpeer_generation_bump(w->owner, w->slot);
	vpeer_event_signal_added(w->owner);
	if (cause != VPEER_CAUSE_NONE)
		vpeer_event_signal(w->owner);
}

/* The next DMA-buf to be told, referenced. Each may be released meanwhile. */
static struct vpeer_export *vpeer_export_next(struct vpeer_aperture *ap,
					      struct list_head *exports)
{
	struct vpeer_export *x;

	down_write(&ap->lock);
	x = list_first_entry_or_null(exports, struct vpeer_export, told);
	if (x) {
		list_del_init(&x->told);
		refcount_inc(&x->refs);
	}
	up_write(&ap->lock);
	return x;
}

static void vpeer_exports_tell(struct vpeer_aperture *ap,
			       struct list_head *exports)
{
	struct vpeer_export *x;

	while ((x = vpeer_export_next(ap, exports))) {
		vpeer_dmabuf_tell(x);
		vpeer_export_put(x);
		cond_resched();
	}
}

/* Stops the users of a window that vpeer_window_revoke() was called for. */
void vpeer_window_stop(struct vpeer_window *w, struct list_head *exports)
{
	vpeer_zap(w->ap, (u64)w->first * VPEER_GRANULE,
		  (u64)w->nr * VPEER_GRANULE);
	vpeer_exports_tell(w->ap, exports);
}

/* Returns whether the aperture was gone already. */
static bool vpeer_windows_revoke(struct vpeer_aperture *ap,
				 enum vpeer_cause cause, bool leave,
				 struct list_head *exports)
{
	struct vpeer_window *w;
	bool gone;

	down_write(&ap->lock);
	gone = ap->gone;
	ap->gone = gone || leave;
	list_for_each_entry(w, &ap->windows, node)
		vpeer_window_revoke(w, cause, exports);
	up_write(&ap->lock);
	return gone;
}

/**
 * vpeer_aperture_stop - revoke every window and stop its users
 * @ap: aperture
 * @cause: why
 * @leave: no new windows from now on
 *
 * Return: false if the aperture was gone already and @leave is not set.
 */
bool vpeer_aperture_stop(struct vpeer_aperture *ap, enum vpeer_cause cause,
			 bool leave)
{
	LIST_HEAD(exports);
	bool gone = vpeer_windows_revoke(ap, cause, leave, &exports);

	if (gone && !leave)
		return false;
	vpeer_zap(ap, 0, ap->size);
	vpeer_exports_tell(ap, &exports);
	return true;
}

static u64 vpeer_window_poll(void *context)
{
	struct vpeer_window *w = context;
	u64 held;

	down_read(&w->ap->lock);
	held = vpeer_window_held(w);
	up_read(&w->ap->lock);
	return held;
}

/* Waits until initiators hold nothing; returns the bytes they still hold. */
u64 vpeer_window_wait(struct vpeer_window *w, unsigned int wait_ms)
{
	return vpeer_wait_held(vpeer_window_poll, w, wait_ms, true);
}

/* Of windows that are revoked and stopped. */
static u64 vpeer_aperture_poll(void *context)
{
	struct vpeer_aperture *ap = context;
	struct vpeer_window *w;
	u64 held = 0;

	down_read(&ap->lock);
	list_for_each_entry(w, &ap->windows, node)
		if (w->revoked)
			held += vpeer_window_held(w);
	up_read(&ap->lock);
	return held;
}

static u64 vpeer_aperture_wait(struct vpeer_aperture *ap, unsigned int wait_ms)
{
	return vpeer_wait_held(vpeer_aperture_poll, ap, wait_ms, false);
}

/**
 * vpeer_aperture_revoke_all - revoke every window that exists now
 * @ap: aperture
 * @cause: why
 * @wait_ms: wait for initiators at most this long
 * @pinned: bytes they still hold; set if this succeeds
 *
 * Return: 0 or -ENODEV.
 */
int vpeer_aperture_revoke_all(struct vpeer_aperture *ap, enum vpeer_cause cause,
			      unsigned int wait_ms, u64 *pinned)
{
	if (!vpeer_aperture_stop(ap, cause, false))
		return -ENODEV;
	*pinned = vpeer_aperture_wait(ap, wait_ms);
	trace_vpeer_revoke(ap, 0, ap->size, *pinned);
	return 0;
}

/**
 * vpeer_aperture_hold_fenced - hold what importers have fences on
 * @ap: aperture that is gone, before its pages are taken over
 *
 * Memory that may be in use until they signal is held by its pages then.
 */
void vpeer_aperture_hold_fenced(struct vpeer_aperture *ap)
{
	struct vpeer_window *w;
	struct vpeer_export *x;

	down_write(&ap->lock);
	list_for_each_entry(w, &ap->windows, node) {
		if (!w->claimed)
			continue;
		list_for_each_entry(x, &w->exports, node)
			vpeer_fences_hold(x);
	}
	up_write(&ap->lock);
}

/* Everyone out: CPU access ends here, initiators get a bounded time to go. */
void vpeer_aperture_evict(struct vpeer_aperture *ap, enum vpeer_cause cause)
{
	unsigned int wait_ms = READ_ONCE(vpeer_revoke_wait_ms);
	int signal = READ_ONCE(vpeer_holder_signal);

	vpeer_aperture_stop(ap, cause, true);
	if (!vpeer_aperture_wait(ap, wait_ms) || !signal)
		return;

	pci_warn(ap->pdev, "BAR %d: pins outlast %u ms, sending signal %d to their holders\n",
		 ap->bar, wait_ms, signal);
	vpeer_holders_signal(ap, signal);
	vpeer_aperture_wait(ap, wait_ms);
}
