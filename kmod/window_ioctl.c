// SPDX-License-Identifier: GPL-2.0-only
/* Window calls of /dev/vpeerN. */
#include <linux/capability.h>

#include "trace.h"
#include "vpeer.h"

/* First run of nr free granules, or nr_granules if there is none. */
static unsigned long vpeer_find_free(const struct vpeer_aperture *ap,
				     unsigned long nr)
{
	unsigned long i, run = 0;

	for (i = 0; i < ap->nr_granules; i++) {
		run = ap->granules[i].window ? 0 : run + 1;
		if (run == nr)
			return i + 1 - nr;
	}
	return ap->nr_granules;
}

static int vpeer_place(const struct vpeer_aperture *ap,
		       struct vpeer_window_alloc *arg, unsigned long nr,
		       unsigned long *first)
{
	if (arg->flags & VPEER_ALLOC_FIXED) {
		if (!IS_ALIGNED(arg->offset, VPEER_GRANULE))
			return vpeer_refuse(&arg->reason,
					    VPEER_REASON_BAD_ALIGNMENT);
		*first = arg->offset / VPEER_GRANULE;
		return vpeer_aperture_contains(ap, arg->offset,
					       nr * VPEER_GRANULE,
					       &arg->reason);
	}

	*first = vpeer_find_free(ap, nr);
	if (*first == ap->nr_granules)
		return vpeer_refuse(&arg->reason, VPEER_REASON_NO_SPACE);
	return 0;
}

/* A new window, with a reference for the caller. */
static struct vpeer_window *vpeer_alloc_locked(struct vpeer_file *file,
					       struct vpeer_window_alloc *arg,
					       unsigned long nr)
{
	struct vpeer_window *w;
	unsigned long first;
	int ret;

	ret = vpeer_aperture_usable(file->ap, &arg->reason);
	if (ret)
		return ERR_PTR(ret);
	vpeer_windows_reap(file->ap);
	ret = vpeer_place(file->ap, arg, nr, &first);
	if (ret)
		return ERR_PTR(ret);

	w = vpeer_window_claim(file, first, nr, false, &arg->reason);
	if (IS_ERR(w))
		return w;
	refcount_inc(&w->refs);
	arg->slot = w->slot;
	arg->offset = first * VPEER_GRANULE;
	arg->size = nr * VPEER_GRANULE;
	return w;
}

/* Why struct pages could not be made. */
int vpeer_chunk_refuse(u32 *reason, int error)
{
	switch (error) {
	case -ENODEV:
		return vpeer_refuse(reason, VPEER_REASON_GONE);
	case -ENOMEM:
		return vpeer_refuse(reason, VPEER_REASON_NO_MEMORY);
	case -EBUSY:
		return vpeer_refuse(reason, VPEER_REASON_PAGES_EXIST);
	default:
		return vpeer_refuse(reason, VPEER_REASON_ADDRESS_RANGE);
	}
}

/* Makes a new window's pages, or gives the window up; drops the reference. */
static int vpeer_alloc_pages(struct vpeer_window *w, u32 *reason)
{
	struct vpeer_aperture *ap = w->ap;
	int ret = vpeer_chunks_make(ap, w->first, w->nr);
	LIST_HEAD(exports);

	if (ret) {
		/* Another thread may have mapped it, by guessing its offset. */
		down_write(&ap->lock);
		vpeer_window_revoke(w, VPEER_CAUSE_NONE, &exports);
		up_write(&ap->lock);
		vpeer_window_stop(w, &exports);
	}
	down_write(&ap->lock);
	/* Another thread may have freed it, by guessing its offset. */
	if (ret && w->owner)
		vpeer_window_release(w);
	vpeer_window_put(w);
	up_write(&ap->lock);
	return ret ? vpeer_chunk_refuse(reason, ret) : 0;
}

int vpeer_ioctl_window_alloc(void *context, void *data)
{
	struct vpeer_file *file = context;
	struct vpeer_window_alloc *arg = data;
	struct vpeer_aperture *ap = file->ap;
	struct vpeer_window *w;
	int ret;

	if (arg->flags & ~VPEER_ALLOC_FIXED || !arg->size)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	ret = vpeer_aperture_contains(ap, 0, arg->size, &arg->reason);
	if (ret)
		return ret;

	down_write(&ap->lock);
	w = vpeer_alloc_locked(file, arg,
			       DIV_ROUND_UP(arg->size, VPEER_GRANULE));
	up_write(&ap->lock);
	return IS_ERR(w) ? PTR_ERR(w) : vpeer_alloc_pages(w, &arg->reason);
}

/* The file's window that starts at arg->offset, revoked and referenced. */
static struct vpeer_window *vpeer_window_get_revoked(struct vpeer_file *file,
						     struct vpeer_window_op *arg,
						     enum vpeer_cause cause,
						     struct list_head *exports)
{
	struct vpeer_aperture *ap = file->ap;
	struct vpeer_window *w;

	if (arg->offset >= ap->size)
		return ERR_PTR(vpeer_refuse(&arg->reason,
					    VPEER_REASON_BEYOND_END));

	down_write(&ap->lock);
	if (ap->gone) {
		w = ERR_PTR(vpeer_refuse(&arg->reason, VPEER_REASON_GONE));
		goto unlock;
	}
	w = vpeer_window_find(file, arg->offset);
	if (!w || (u64)w->first * VPEER_GRANULE != arg->offset) {
		w = ERR_PTR(vpeer_refuse(&arg->reason, VPEER_REASON_NOT_OWNER));
		goto unlock;
	}
	vpeer_window_revoke(w, cause, exports);
	refcount_inc(&w->refs);
unlock:
	up_write(&ap->lock);
	return w;
}

/* The reason where initiators still hold some of it after the bounded wait. */
static int vpeer_window_end_access(struct vpeer_window *w,
				   struct list_head *exports,
				   struct vpeer_window_op *arg)
{
	unsigned int wait_ms = min(arg->timeout_ms,
				   READ_ONCE(vpeer_revoke_wait_ms));

	vpeer_window_stop(w, exports);
	arg->pinned_bytes = vpeer_window_wait(w, wait_ms);
	trace_vpeer_revoke(w->ap, arg->offset, w->nr * VPEER_GRANULE,
			   arg->pinned_bytes);
	return arg->pinned_bytes ?
	       vpeer_refuse(&arg->reason, VPEER_REASON_PINNED) : 0;
}

int vpeer_ioctl_window_free(void *context, void *data)
{
	struct vpeer_file *file = context;
	struct vpeer_window_op *arg = data;
	struct vpeer_window *w;
	LIST_HEAD(exports);
	int ret;

	if (arg->flags)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	w = vpeer_window_get_revoked(file, arg, VPEER_CAUSE_NONE, &exports);
	if (IS_ERR(w))
		return PTR_ERR(w);
	ret = vpeer_window_end_access(w, &exports, arg);

	down_write(&file->ap->lock);
	/* Another thread may have freed it meanwhile. */
	if (w->owner)
		vpeer_window_release(w);
	vpeer_window_put(w);
	up_write(&file->ap->lock);
	return ret;
}

static void vpeer_tell_pinned(const struct vpeer_aperture *ap, u64 pinned)
{
	dev_warn_ratelimited(&ap->pdev->dev, "vpeer: BAR %d: revoked by process %d (%s), but %llu bytes stay pinned by initiators: end the processes that /sys/kernel/debug/vpeer/%s/windows names, or let them deregister the memory\n",
			     ap->bar, task_tgid_nr(current), current->comm,
			     pinned, dev_name(&ap->dev));
}

static int vpeer_revoke_all(struct vpeer_aperture *ap,
			    struct vpeer_window_op *arg)
{
	unsigned int wait_ms = min(arg->timeout_ms,
				   READ_ONCE(vpeer_revoke_wait_ms));

	if (!capable(CAP_SYS_ADMIN))
		return vpeer_refuse(&arg->reason, VPEER_REASON_NOT_PERMITTED);
	if (arg->offset)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);

	if (vpeer_aperture_revoke_all(ap, VPEER_CAUSE_ADMIN, wait_ms,
				      &arg->pinned_bytes))
		return vpeer_refuse(&arg->reason, VPEER_REASON_GONE);
	if (!arg->pinned_bytes)
		return 0;
	vpeer_tell_pinned(ap, arg->pinned_bytes);
	return vpeer_refuse(&arg->reason, VPEER_REASON_PINNED);
}

int vpeer_ioctl_window_revoke(void *context, void *data)
{
	struct vpeer_file *file = context;
	struct vpeer_window_op *arg = data;
	struct vpeer_window *w;
	LIST_HEAD(exports);
	int ret;

	if (arg->flags & ~VPEER_REVOKE_ALL)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	if (arg->flags & VPEER_REVOKE_ALL)
		return vpeer_revoke_all(file->ap, arg);

	w = vpeer_window_get_revoked(file, arg, VPEER_CAUSE_OWNER, &exports);
	if (IS_ERR(w))
		return PTR_ERR(w);
	ret = vpeer_window_end_access(w, &exports, arg);

	down_write(&file->ap->lock);
	vpeer_window_put(w);
	up_write(&file->ap->lock);
	return ret;
}

static void vpeer_window_describe(const struct vpeer_window *w,
				  struct vpeer_window_info *arg)
{
	arg->state = w->revoked ? VPEER_WINDOW_REVOKED : VPEER_WINDOW_ACTIVE;
	arg->offset = (u64)w->first * VPEER_GRANULE;
	arg->size = (u64)w->nr * VPEER_GRANULE;
	arg->pinned_bytes = vpeer_window_in_use(w);
	arg->generation = w->owner->generations[w->slot];
	arg->slot = w->slot;
	arg->mappings = w->mappings;
	arg->implicit = w->implicit;
	arg->cause = w->cause;
	arg->mapped_bytes = atomic64_read(&w->mapped);
	arg->dmabufs = w->nr_exports;
}

/* Of a gone aperture, whose granules are no one's, too. */
static struct vpeer_window *vpeer_window_named(struct vpeer_file *file,
					       const struct vpeer_window_info *arg)
{
	struct vpeer_window *w = vpeer_window_next(file, arg->offset);

	if (!w || arg->flags & VPEER_INFO_NEXT)
		return w;
	return (u64)w->first * VPEER_GRANULE <= arg->offset ? w : NULL;
}

int vpeer_ioctl_window_info(void *context, void *data)
{
	struct vpeer_file *file = context;
	struct vpeer_window_info *arg = data;
	struct vpeer_aperture *ap = file->ap;
	struct vpeer_window *w;
	int ret = 0;

	if (arg->flags & ~VPEER_INFO_NEXT || arg->reserved)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	if (arg->offset >= ap->size)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BEYOND_END);

	down_read(&ap->lock);
	w = vpeer_window_named(file, arg);
	if (w)
		vpeer_window_describe(w, arg);
	else
		ret = vpeer_refuse(&arg->reason, ap->gone ?
				   VPEER_REASON_GONE : VPEER_REASON_NOT_OWNER);
	up_read(&ap->lock);
	return ret;
}
