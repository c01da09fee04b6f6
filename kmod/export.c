// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports: parts of windows as DMA-bufs. An export keeps its owner's open file
 * as a mapping does, and with it window, aperture and module.
 */
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "trace.h"
#include "vpeer.h"

void vpeer_export_put(struct vpeer_export *x)
{
	if (!refcount_dec_and_test(&x->refs))
		return;
	dma_resv_fini(&x->resv);
	vpeer_window_put(x->w);
	kfree(x);
}

/* The window was there before: why is it no more? */
static int vpeer_export_lost(const struct vpeer_window *w, u32 *reason)
{
	return vpeer_refuse(reason, READ_ONCE(w->ap->gone) ?
			    VPEER_REASON_GONE : VPEER_REASON_REVOKED);
}

static int vpeer_export_check(const struct vpeer_file *file,
			      struct vpeer_dmabuf *arg)
{
	int ret;

	if (arg->flags || !arg->size)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	if (!PAGE_ALIGNED(arg->offset) || !PAGE_ALIGNED(arg->size))
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ALIGNMENT);
	ret = vpeer_aperture_contains(file->ap, arg->offset, arg->size,
				      &arg->reason);
	if (ret)
		return ret;
	if (~file->filp->f_mode & (FMODE_READ | FMODE_WRITE))
		return vpeer_refuse(&arg->reason, VPEER_REASON_READ_ONLY);
	return 0;
}

/* The file's window with that range, referenced. */
static struct vpeer_window *vpeer_export_window(struct vpeer_file *file,
						struct vpeer_dmabuf *arg)
{
	enum vpeer_reason why = VPEER_REASON_NONE;
	struct vpeer_aperture *ap = file->ap;
	struct vpeer_window *w = NULL;
	int ret;

	down_read(&ap->lock);
	ret = vpeer_aperture_usable(ap, &arg->reason);
	if (ret)
		goto unlock;
	w = vpeer_window_find(file, arg->offset);
	if (!w)
		why = VPEER_REASON_NOT_OWNER;
	else if (w->revoked)
		why = VPEER_REASON_REVOKED;
	else if (arg->offset + arg->size >
		 (u64)(w->first + w->nr) * VPEER_GRANULE)
		why = VPEER_REASON_BEYOND_WINDOW;
	if (why)
		ret = vpeer_refuse(&arg->reason, why);
	else
		refcount_inc(&w->refs);
unlock:
	up_read(&ap->lock);
	return ret ? ERR_PTR(ret) : w;
}

/* Makes a granule fit to be seen; false if the window was taken meanwhile. */
static bool vpeer_export_granule(struct vpeer_window *w, unsigned long granule)
{
	u64 offset = (u64)granule * VPEER_GRANULE;
	bool reaches;

	down_read(&w->ap->lock);
	reaches = vpeer_window_reaches(w, offset) &&
		  vpeer_granule_mapped(w->ap, granule);
	if (reaches)
		vpeer_scrub(w->ap, granule);
	up_read(&w->ap->lock);
	return reaches;
}

/* Nothing of an earlier owner can be seen in the range afterwards. */
static int vpeer_export_prepare(struct vpeer_window *w,
				struct vpeer_dmabuf *arg)
{
	unsigned long at = arg->offset / VPEER_GRANULE;
	unsigned long last = (arg->offset + arg->size - 1) / VPEER_GRANULE;
	int ret;

	ret = vpeer_chunks_make(w->ap, at, last - at + 1);
	if (ret)
		return vpeer_chunk_refuse(&arg->reason, ret);
	for (; at <= last; at++) {
		if (!vpeer_export_granule(w, at))
			return vpeer_export_lost(w, &arg->reason);
		if (fatal_signal_pending(current))
			return vpeer_refuse(&arg->reason,
					    VPEER_REASON_INTERRUPTED);
		cond_resched();
	}
	return 0;
}

/* From here on a revocation of the window finds it. */
static int vpeer_export_link(struct vpeer_export *x)
{
	struct vpeer_window *w = x->w;
	int ret = -ENODEV;

	down_write(&w->ap->lock);
	if (vpeer_window_reaches(w, x->offset)) {
		list_add_tail(&x->node, &w->exports);
		w->nr_exports++;
		ret = 0;
	}
	up_write(&w->ap->lock);
	return ret;
}

static struct vpeer_export *vpeer_export_alloc(struct vpeer_file *file,
					       struct vpeer_window *w,
					       const struct vpeer_dmabuf *arg)
{
	struct vpeer_export *x = kzalloc(sizeof(*x), GFP_KERNEL_ACCOUNT);

	if (!x)
		return NULL;
	refcount_set(&x->refs, 1);
	INIT_LIST_HEAD(&x->node);
	INIT_LIST_HEAD(&x->told);
	dma_resv_init(&x->resv);
	vpeer_fences_init(x);
	refcount_inc(&w->refs);
	x->w = w;
	x->filp = get_file(file->filp);
	x->offset = arg->offset;
	x->size = arg->size;
	atomic64_inc(&w->ap->stats.dmabufs);
	return x;
}

static struct dma_buf *vpeer_export_create(struct vpeer_file *file,
					   struct vpeer_window *w,
					   struct vpeer_dmabuf *arg)
{
	struct vpeer_export *x = vpeer_export_alloc(file, w, arg);
	struct dma_buf *dmabuf;

	if (!x)
		return ERR_PTR(vpeer_refuse(&arg->reason,
					    VPEER_REASON_NO_MEMORY));
	dmabuf = vpeer_dmabuf_create(x);
	if (IS_ERR(dmabuf)) {
		vpeer_export_release(x);
		return ERR_PTR(vpeer_refuse(&arg->reason,
					    dmabuf == ERR_PTR(-ENFILE) ?
					    VPEER_REASON_TOO_MANY_FILES :
					    VPEER_REASON_NO_MEMORY));
	}
	if (vpeer_export_link(x)) {
		int ret = vpeer_export_lost(w, &arg->reason);

		dma_buf_put(dmabuf);
		return ERR_PTR(ret);
	}
	trace_vpeer_export(w->ap, x->offset, x->size);
	return dmabuf;
}

/* The DMA-buf is no more, or could not be made. */
void vpeer_export_release(struct vpeer_export *x)
{
	struct vpeer_window *w = x->w;
	struct vpeer_aperture *ap = w->ap;
	struct file *filp = x->filp;

	down_write(&ap->lock);
	list_del_init(&x->told);
	if (!list_empty(&x->node)) {
		list_del_init(&x->node);
		w->nr_exports--;
		vpeer_window_unused(w);
		trace_vpeer_unexport(ap, x->offset, x->size);
	}
	up_write(&ap->lock);
	vpeer_fences_end(x);
	atomic64_dec(&ap->stats.dmabufs);
	vpeer_export_put(x);
	/* May be the last of file, window and aperture. */
	fput(filp);
}

static int vpeer_export_window_part(struct vpeer_file *file,
				    struct vpeer_window *w,
				    struct vpeer_dmabuf_call *call)
{
	struct vpeer_dmabuf *arg = &call->arg;
	int fd, ret;

	ret = vpeer_export_prepare(w, arg);
	if (ret)
		return ret;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return vpeer_refuse(&arg->reason, fd == -ENOMEM ?
				    VPEER_REASON_NO_MEMORY :
				    VPEER_REASON_TOO_MANY_FILES);
	call->dmabuf = vpeer_export_create(file, w, arg);
	if (IS_ERR(call->dmabuf)) {
		put_unused_fd(fd);
		return PTR_ERR(call->dmabuf);
	}
	arg->fd = fd;
	return 0;
}

int vpeer_ioctl_dmabuf(void *context, void *data)
{
	struct vpeer_file *file = context;
	struct vpeer_dmabuf_call *call = data;
	struct vpeer_window *w;
	int ret;

	call->arg.fd = -1;
	ret = vpeer_export_check(file, &call->arg);
	if (ret)
		return ret;
	w = vpeer_export_window(file, &call->arg);
	if (IS_ERR(w))
		return PTR_ERR(w);
	ret = vpeer_export_window_part(file, w, call);
	vpeer_window_put(w);
	return ret;
}

/* A descriptor that user space was not told of must not be there. */
void vpeer_ioctl_dmabuf_end(void *data, bool good)
{
	struct vpeer_dmabuf_call *call = data;

	if (good) {
		fd_install(call->arg.fd, call->dmabuf->file);
		return;
	}
	put_unused_fd(call->arg.fd);
	dma_buf_put(call->dmabuf);
}
