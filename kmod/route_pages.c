// SPDX-License-Identifier: GPL-2.0-only
/*
 * Route "pages": BAR pages in user mappings that the ordinary long-term pin
 * accepts, so that ibv_reg_mr() of any RDMA driver and O_DIRECT of any block
 * driver take them unchanged.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "compat/compat.h"
#include "trace.h"
#include "vpeer.h"

static int vpeer_fault_chunk(struct vpeer_aperture *ap, unsigned long granule)
{
	int ret = vpeer_chunks_make(ap, granule, 1);

	if (ret && ret != -ENODEV)
		dev_warn_ratelimited(&ap->pdev->dev, "vpeer: BAR %d: no struct pages for offset %#lx: error %d\n",
				     ap->bar, granule * VPEER_GRANULE, ret);
	return ret;
}

/*
 * Makes struct pages for a granule of an implicit window. mmap_lock must not
 * be held meanwhile (see the lock order), so the fault is done again; if there
 * still are none then, there was an error. A fault that cannot be repeated
 * (long-term pins before 6.3) makes them under the lock.
 */
static vm_fault_t vpeer_fault_make(struct vm_fault *vmf, unsigned long granule)
{
	struct vpeer_window *w = vmf->vma->vm_private_data;
	struct vpeer_aperture *ap = w->ap;
	struct file *filp;

	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY))
		return vpeer_fault_chunk(ap, granule) ? VM_FAULT_SIGBUS :
							VM_FAULT_NOPAGE;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	if (vmf->flags & FAULT_FLAG_TRIED)
		return VM_FAULT_SIGBUS;

	/* The file keeps aperture and module when the mapping goes meanwhile. */
	filp = get_file(vmf->vma->vm_file);
	vpeer_compat_release_fault_lock(vmf);
	vpeer_fault_chunk(ap, granule);
	fput(filp);
	return VM_FAULT_RETRY;
}

/* The aperture's lock is held, the granule's pages are made. */
static vm_fault_t vpeer_fault_map(struct vm_fault *vmf,
				  struct vpeer_aperture *ap, u64 offset,
				  bool huge)
{
	struct page *page = vpeer_page(ap, offset);

	vpeer_scrub(ap, offset / VPEER_GRANULE);
	if (huge) {
		atomic64_inc(&ap->stats.faults_2m);
		return vpeer_compat_insert_pmd(vmf, page);
	}
	atomic64_inc(&ap->stats.faults_4k);
	return vpeer_compat_insert_page(vmf, page);
}

static vm_fault_t vpeer_fault(struct vm_fault *vmf, u64 offset, bool huge)
{
	struct vpeer_window *w = vmf->vma->vm_private_data;
	unsigned long granule = offset / VPEER_GRANULE;
	struct vpeer_aperture *ap = w->ap;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	bool mapped = true;

	down_read(&ap->lock);
	if (vpeer_window_reaches(w, offset)) {
		mapped = vpeer_granule_mapped(ap, granule);
		if (mapped)
			ret = vpeer_fault_map(vmf, ap, offset, huge);
	}
	up_read(&ap->lock);
	return mapped ? ret : vpeer_fault_make(vmf, granule);
}

static vm_fault_t vpeer_pages_fault(struct vm_fault *vmf)
{
	return vpeer_fault(vmf, (u64)vmf->pgoff << PAGE_SHIFT, false);
}

/* Where the 2 MiB around the fault lie in the aperture; false if they cannot. */
static bool vpeer_huge_offset(struct vm_fault *vmf, u64 *offset)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long start = vmf->address & PMD_MASK;

	if (start < vma->vm_start || start + PMD_SIZE > vma->vm_end)
		return false;
	*offset = (u64)linear_page_index(vma, start) << PAGE_SHIFT;
	return IS_ALIGNED(*offset, PMD_SIZE);
}

static vm_fault_t vpeer_pages_huge_fault(struct vm_fault *vmf,
					 vpeer_compat_order_t order)
{
	u64 offset;

	if (!vpeer_compat_order_is_pmd(order) || !vpeer_huge_offset(vmf, &offset))
		return VM_FAULT_FALLBACK;
	return vpeer_fault(vmf, offset, true);
}

/* fork(), mremap() or a split made one more VMA of the window. */
static void vpeer_pages_open(struct vm_area_struct *vma)
{
	struct vpeer_window *w = vma->vm_private_data;
	struct vpeer_aperture *ap = w->ap;

	down_write(&ap->lock);
	refcount_inc(&w->refs);
	w->mappings++;
	vpeer_holder_map(w, vma->vm_mm);
	up_write(&ap->lock);
	atomic64_inc(&ap->stats.mappings);
}

/*
 * munmap(), or what does the same to some of the addresses. The mmap_lock is
 * held until this has returned, so nothing else can be mapped there before. At
 * exit and exec no one is left who could use them.
 */
static void vpeer_pages_close(struct vm_area_struct *vma)
{
	struct vpeer_window *w = vma->vm_private_data;
	struct vpeer_aperture *ap = w->ap;

	down_write(&ap->lock);
	w->mappings--;
	vpeer_window_unused(w);
	if (atomic_read(&vma->vm_mm->mm_users))
		vpeer_window_unmapped(w);
	vpeer_window_put(w);
	up_write(&ap->lock);
	atomic64_dec(&ap->stats.mappings);
}

static const struct vm_operations_struct vpeer_pages_vm_ops = {
	.open = vpeer_pages_open,
	.close = vpeer_pages_close,
	.fault = vpeer_pages_fault,
	.huge_fault = vpeer_pages_huge_fault,
};

/* The window that covers the range: the file's own, or a new implicit one. */
static struct vpeer_window *vpeer_pages_window(struct vpeer_file *file,
					       u64 offset, u64 size)
{
	unsigned long first = offset / VPEER_GRANULE;
	unsigned long last = (offset + size - 1) / VPEER_GRANULE;
	struct vpeer_window *w;
	u32 reason;

	vpeer_windows_reap(file->ap);
	w = vpeer_window_find(file, offset);
	if (!w)
		return vpeer_window_claim(file, first, last - first + 1, true,
					  &reason);
	if (w->revoked)
		return ERR_PTR(-ENODEV);
	if (last - w->first >= w->nr)
		return ERR_PTR(-EBUSY);
	return w;
}

static void vpeer_pages_prepare(const struct vpeer_aperture *ap,
				struct vpeer_window *w,
				struct vm_area_struct *vma)
{
	/* VM_DONTEXPAND also keeps DMA-bufs' mappings from being merged. */
	vpeer_compat_vm_flags_mod(vma, VPEER_COMPAT_VM_FLAGS |
				  VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	vma->vm_page_prot = ap->memtype.uncached ?
			    pgprot_noncached(vma->vm_page_prot) :
			    pgprot_writecombine(vma->vm_page_prot);
	vma->vm_ops = &vpeer_pages_vm_ops;
	vma->vm_private_data = w;
	refcount_inc(&w->refs);
	w->mappings++;
	vpeer_holder_map(w, vma->vm_mm);
}

/* May anything be mapped so, whoever owns it? */
static int vpeer_pages_check(const struct vm_area_struct *vma)
{
	/* VM_SHARED is off for a shared mapping of a read-only descriptor. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return vpeer_refuse(NULL, VPEER_REASON_PRIVATE_MAPPING);
	if (vma->vm_flags & VM_EXEC)
		return vpeer_refuse(NULL, VPEER_REASON_EXEC_MAPPING);
	return 0;
}

/**
 * vpeer_pages_mmap_window - map part of a window
 * @w: window, referenced
 * @vma: mapping wanted, in the window; mmap_lock held for writing
 *
 * Return: 0; -EINVAL, -EPERM as below; -ENODEV if the window was revoked.
 */
int vpeer_pages_mmap_window(struct vpeer_window *w, struct vm_area_struct *vma)
{
	struct vpeer_aperture *ap = w->ap;
	int ret;

	ret = vpeer_pages_check(vma);
	if (ret)
		return ret;
	down_write(&ap->lock);
	if (vpeer_window_reaches(w, (u64)vma->vm_pgoff << PAGE_SHIFT))
		vpeer_pages_prepare(ap, w, vma);
	else
		ret = vpeer_refuse(NULL, VPEER_REASON_REVOKED);
	up_write(&ap->lock);
	if (!ret)
		atomic64_inc(&ap->stats.mappings);
	return ret;
}

/**
 * vpeer_pages_mmap - map part of the aperture
 * @file: open file
 * @vma: mapping wanted; mmap_lock held for writing
 *
 * Return: 0; -EINVAL for MAP_PRIVATE or a range that leaves the aperture,
 * -EPERM for PROT_EXEC or what lies beyond a shared range, -EBUSY if another
 * file owns part of the range or its pins drain, -ENODEV if the window was
 * revoked or the aperture is gone, -EAGAIN during a reset or suspend, -EDQUOT
 * past the user's limit, -ENOMEM.
 */
int vpeer_pages_mmap(struct vpeer_file *file, struct vm_area_struct *vma)
{
	struct vpeer_aperture *ap = file->ap;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 size = vma->vm_end - vma->vm_start;
	struct vpeer_window *w;
	int ret;

	ret = vpeer_pages_check(vma);
	if (ret)
		return ret;
	ret = vpeer_aperture_contains(ap, offset, size, NULL);
	if (ret)
		return ret;

	down_write(&ap->lock);
	ret = vpeer_aperture_usable(ap, NULL);
	if (ret)
		w = ERR_PTR(ret);
	else
		w = vpeer_pages_window(file, offset, size);
	if (!IS_ERR(w))
		vpeer_pages_prepare(ap, w, vma);
	up_write(&ap->lock);
	if (IS_ERR(w))
		return PTR_ERR(w);
	atomic64_inc(&ap->stats.mappings);
	return 0;
}
