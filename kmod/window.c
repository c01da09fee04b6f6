// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: runs of granules claimed by an open file.
 *
 * A window passes through: claimed by a file; perhaps revoked (no CPU access,
 * still its owner's); released by its owner; draining while initiators hold
 * pins; unclaimed, when its granules are free for others. VMAs keep the
 * structure alive beyond that, with nothing behind it.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "trace.h"
#include "vpeer.h"

static bool vpeer_granules_free(struct vpeer_aperture *ap, unsigned long first,
				unsigned long nr, u32 *reason)
{
	unsigned long i;

	for (i = first; i < first + nr; i++) {
		struct vpeer_window *w = ap->granules[i].window;

		if (w) {
			vpeer_refuse(reason, w->owner ? VPEER_REASON_RANGE_OWNED :
						VPEER_REASON_RANGE_DRAINING);
			return false;
		}
	}
	return true;
}

static int vpeer_window_take(struct vpeer_window *w, u32 *reason)
{
	int ret;

	ret = vpeer_generation_take(w->owner);
	if (ret < 0)
		return vpeer_refuse(reason, VPEER_REASON_TOO_MANY_WINDOWS);
	w->slot = ret;

	ret = vpeer_user_charge(w->uid, w->nr * VPEER_GRANULE);
	if (ret) {
		ret = vpeer_refuse(reason, ret == -EDQUOT ?
				   VPEER_REASON_USER_LIMIT :
				   VPEER_REASON_NO_MEMORY);
		goto give_slot;
	}

	return 0;

give_slot:
	vpeer_generation_give(w->owner, w->slot);
	return ret;
}

static void vpeer_window_link(struct vpeer_window *w)
{
	struct vpeer_aperture *ap = w->ap;
	unsigned long i;

	for (i = w->first; i < w->first + w->nr; i++)
		ap->granules[i].window = w;
	vpeer_chunks_claim(ap, w->first, w->nr);
	ap->nr_free -= w->nr;
	ap->nr_windows++;
	w->claimed = true;
	list_add_tail(&w->node, &ap->windows);
	list_add_tail(&w->owned, &w->owner->windows);
}

/**
 * vpeer_window_claim - claim granules for an open file
 * @file: owner; its aperture's lock held for writing, drained windows reaped,
 *	aperture not gone
 * @first: first granule, within the aperture
 * @nr: granules, at least 1
 * @implicit: claimed by a plain mmap()
 * @reason: where to note why not
 *
 * Its struct pages are made later, by vpeer_chunks_make().
 *
 * Return: the window, with one reference that vpeer_window_release() drops,
 * or an error pointer.
 */
struct vpeer_window *vpeer_window_claim(struct vpeer_file *file,
					unsigned long first, unsigned long nr,
					bool implicit, u32 *reason)
{
	struct vpeer_aperture *ap = file->ap;
	struct vpeer_window *w;
	int ret;

	if (!vpeer_granules_free(ap, first, nr, reason))
		return ERR_PTR(-EBUSY);

	w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w)
		return ERR_PTR(vpeer_refuse(reason, VPEER_REASON_NO_MEMORY));
	refcount_set(&w->refs, 1);
	INIT_LIST_HEAD(&w->holders);
	INIT_LIST_HEAD(&w->exports);
	w->ap = ap;
	w->owner = file;
	w->uid = file->uid;
	w->first = first;
	w->nr = nr;
	w->implicit = implicit;

	ret = vpeer_window_take(w, reason);
	if (ret) {
		kfree(w);
		return ERR_PTR(ret);
	}
	vpeer_window_link(w);
	trace_vpeer_claim(ap, first * VPEER_GRANULE, nr * VPEER_GRANULE);
	return w;
}

/**
 * vpeer_window_find - the file's window that contains an offset
 * @file: open file, its aperture's lock held
 * @offset: byte of the aperture, within its size
 */
struct vpeer_window *vpeer_window_find(struct vpeer_file *file, u64 offset)
{
	struct vpeer_aperture *ap = file->ap;
	struct vpeer_window *w = ap->granules[offset / VPEER_GRANULE].window;

	return w && w->owner == file ? w : NULL;
}

/* The file's first window that ends behind @offset. */
struct vpeer_window *vpeer_window_next(struct vpeer_file *file, u64 offset)
{
	struct vpeer_window *w, *best = NULL;

	list_for_each_entry(w, &file->windows, owned) {
		if ((u64)(w->first + w->nr) * VPEER_GRANULE <= offset)
			continue;
		if (!best || w->first < best->first)
			best = w;
	}
	return best;
}

void vpeer_window_put(struct vpeer_window *w)
{
	if (!refcount_dec_and_test(&w->refs))
		return;
	vpeer_holders_free(&w->holders);
	kfree(w);
}

/* May anyone reach this byte through the window now? */
bool vpeer_window_reaches(const struct vpeer_window *w, u64 offset)
{
	unsigned long granule = offset / VPEER_GRANULE;

	return !w->ap->gone && !w->revoked && w->claimed &&
	       granule >= w->first && granule - w->first < w->nr;
}

/* Bytes that importers may use until their fences signal. */
static u64 vpeer_window_fenced(const struct vpeer_window *w)
{
	struct vpeer_export *x;
	u64 bytes = 0;

	list_for_each_entry(x, &w->exports, node)
		if (vpeer_export_fenced(x))
			bytes += x->size;
	return bytes;
}

/* Bytes of a zapped window that others still hold; its aperture's lock held. */
u64 vpeer_window_held(const struct vpeer_window *w)
{
	u64 held;

	if (!w->claimed)
		return 0;
	held = vpeer_chunks_held(w->ap, w->first, w->nr);
	return held ? held : vpeer_window_fenced(w);
}

/* Bytes that initiators hold and a revocation cannot take back. */
u64 vpeer_window_pinned(const struct vpeer_window *w)
{
	return vpeer_granules_pinned(w->ap, w->first, w->nr) +
	       atomic64_read(&w->kept);
}

/* Of a revoked window all that is held counts, by references without a pin too. */
u64 vpeer_window_in_use(const struct vpeer_window *w)
{
	return w->revoked && w->claimed ? vpeer_window_held(w) :
					  vpeer_window_pinned(w);
}

/**
 * vpeer_window_unclaim - give the granules back to the aperture
 * @w: released window without pins, or of an aperture that is gone; the
 *	aperture's lock held for writing
 */
void vpeer_window_unclaim(struct vpeer_window *w)
{
	struct vpeer_aperture *ap = w->ap;
	unsigned long i;

	for (i = w->first; i < w->first + w->nr; i++) {
		struct vpeer_granule *g = &ap->granules[i];

		g->window = NULL;
		if (g->content == VPEER_CONTENT_EXPOSED)
			g->content = VPEER_CONTENT_DIRTY;
	}
	vpeer_chunks_release(ap, w->first, w->nr);
	vpeer_user_uncharge(w->uid, w->nr * VPEER_GRANULE);
	ap->nr_free += w->nr;
	ap->nr_windows--;
	list_del(&w->node);
	w->claimed = false;
	trace_vpeer_unclaim(ap, w->first * VPEER_GRANULE,
			    w->nr * VPEER_GRANULE);
	if (w->draining)
		module_put(THIS_MODULE);
	vpeer_window_put(w);
}

/**
 * vpeer_windows_reap - give back the granules of drained windows
 * @ap: aperture, its lock held for writing
 *
 * Return: true while some windows still wait.
 */
bool vpeer_windows_reap(struct vpeer_aperture *ap)
{
	struct vpeer_window *w, *next;
	bool more = false;

	list_for_each_entry_safe(w, next, &ap->windows, node) {
		if (!w->draining)
			continue;
		if (vpeer_window_held(w))
			more = true;
		else
			vpeer_window_unclaim(w);
	}
	return more;
}

static void vpeer_window_drain(struct vpeer_window *w)
{
	/* The caller's open file holds one reference already. */
	__module_get(THIS_MODULE);
	w->draining = true;
	w->revoked = true;
}

/**
 * vpeer_window_release - its owner gives the window up
 * @w: owned window whose mappings are zapped; the aperture's lock held for
 *	writing
 */
void vpeer_window_release(struct vpeer_window *w)
{
	struct vpeer_aperture *ap = w->ap;

	vpeer_generation_give(w->owner, w->slot);
	vpeer_event_signal_added(w->owner);
	list_del(&w->owned);
	w->owner = NULL;

	if (!w->claimed) {
		vpeer_window_put(w);
		return;
	}
	if (vpeer_window_held(w))
		vpeer_window_drain(w);
	else
		vpeer_window_unclaim(w);
	/* When the aperture is gone, its teardown looks after the rest. */
	if (!ap->gone)
		queue_delayed_work(vpeer_wq, &ap->reap, VPEER_REAP_PERIOD);
}

/**
 * vpeer_window_unused - end an implicit window without mapping and DMA-buf
 * @w: window; the aperture's lock held for writing
 */
void vpeer_window_unused(struct vpeer_window *w)
{
	if (w->implicit && w->owner && !w->mappings && !w->nr_exports)
		vpeer_window_release(w);
}

/**
 * vpeer_window_unmapped - addresses of the window are about to be free
 * @w: window; the aperture's lock held for writing
 *
 * What was registered by them must not be found by them again, although the
 * window lives on.
 */
void vpeer_window_unmapped(struct vpeer_window *w)
{
	if (!w->owner)
		return;
	vpeer_generation_unmap(w->owner, w->slot);
	vpeer_event_signal_added(w->owner);
}

void vpeer_file_windows_release(struct vpeer_file *file)
{
	struct vpeer_window *w, *next;

	down_write(&file->ap->lock);
	list_for_each_entry_safe(w, next, &file->windows, owned)
		vpeer_window_release(w);
	up_write(&file->ap->lock);
}
