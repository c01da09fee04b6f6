/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One face for the kernels the module serves. features.h holds one
 * VPEER_HAVE_* per probe of probe.sh; each shim names the commit and release
 * it bridges.
 */
#ifndef _VPEER_COMPAT_H
#define _VPEER_COMPAT_H

#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "features.h"

#ifdef VPEER_HAVE_PFN_T
/* Gone with 6.17, 21aa65bf82a7 ("mm: remove callers of pfn_t functionality") */
#include <linux/pfn_t.h>
#endif

/*
 * 6.3, bc292ab00f6c ("mm: introduce vma->vm_flags wrapper functions"): flags
 * are const outside the wrappers.
 */
static inline void vpeer_compat_vm_flags_mod(struct vm_area_struct *vma,
					     unsigned long set,
					     unsigned long clear)
{
#ifdef VPEER_HAVE_VM_FLAGS_MOD
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/*
 * 6.6, 29a22b9e08d7 ("mm: handle userfaults under VMA lock"): a fault may run
 * under the mapping's own lock.
 */
static inline void vpeer_compat_release_fault_lock(struct vm_fault *vmf)
{
#ifdef VPEER_HAVE_RELEASE_FAULT_LOCK
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
}

/*
 * 6.15, aed877c2b425 ("device/dax: properly refcount device dax pages when
 * mapping") and its series: page mappings hold references and
 * vmf_insert_page_mkwrite() and vmf_insert_folio_pmd() make them. Before,
 * vm_insert_page() from a fault needs VM_MIXEDMAP, and 2 MiB entries are
 * device map entries, which hold no reference.
 */
#ifdef VPEER_HAVE_INSERT_PAGE_MKWRITE
#define VPEER_COMPAT_VM_FLAGS	0UL

static inline vm_fault_t vpeer_compat_insert_page(struct vm_fault *vmf,
						  struct page *page)
{
	return vmf_insert_page_mkwrite(vmf, page,
				       vmf->flags & FAULT_FLAG_WRITE);
}

static inline vm_fault_t vpeer_compat_insert_pmd(struct vm_fault *vmf,
						 struct page *page)
{
	return vmf_insert_folio_pmd(vmf, page_folio(page),
				    vmf->flags & FAULT_FLAG_WRITE);
}

static inline void vpeer_compat_allow_huge_faults(struct inode *inode)
{
}

/*
 * 6.5, a6e79df92e4a ("mm/gup: disallow FOLL_LONGTERM GUP-fast writing to
 * file-backed mappings"): without the mmap lock, long-term pins for writing
 * take files of shmem only, which need not be told of writes. Nor do we, but
 * pages without a mapping are pinned twice, the first time in vain. The inode
 * is empty and gives its name to pages, no more.
 */
extern struct file *vpeer_compat_pin_file;

static inline int vpeer_compat_fast_pins_init(void)
{
#ifdef VPEER_HAVE_VMA_FLAGS_T
	vma_flags_t none = { };
#else
	unsigned long none = 0;
#endif

	vpeer_compat_pin_file = shmem_file_setup("vpeer", 0, none);
	return PTR_ERR_OR_ZERO(vpeer_compat_pin_file);
}

static inline void vpeer_compat_fast_pins_exit(void)
{
	fput(vpeer_compat_pin_file);
}

static inline void vpeer_compat_allow_fast_pins(phys_addr_t base, u64 size,
						u64 step)
{
	u64 at;

	for (at = 0; at < size; at += step)
		page_folio(pfn_to_page(PHYS_PFN(base + at)))->mapping =
			vpeer_compat_pin_file->f_mapping;
}
#else
/* Device map entries are not asked for a mapping. */
static inline int vpeer_compat_fast_pins_init(void)
{
	return 0;
}

static inline void vpeer_compat_fast_pins_exit(void)
{
}

static inline void vpeer_compat_allow_fast_pins(phys_addr_t base, u64 size,
						u64 step)
{
}

#define VPEER_COMPAT_VM_FLAGS	VM_MIXEDMAP

static inline vm_fault_t vpeer_compat_insert_page(struct vm_fault *vmf,
						  struct page *page)
{
	return vmf_insert_page(vmf->vma, vmf->address, page);
}

static inline vm_fault_t vpeer_compat_insert_pmd(struct vm_fault *vmf,
						 struct page *page)
{
	return vmf_insert_pfn_pmd(vmf,
			phys_to_pfn_t(page_to_phys(page), PFN_DEV | PFN_MAP),
			vmf->flags & FAULT_FLAG_WRITE);
}

/*
 * Kernels with device map entries ask huge_fault of a character device only
 * if vma_is_dax() (6.1: always; later: unless transparent huge pages are on),
 * which looks at the inode behind f_mapping.
 */
static inline void vpeer_compat_allow_huge_faults(struct inode *inode)
{
	inode->i_flags |= S_DAX;
}
#endif

/*
 * 6.6, 1d024e7a8dab ("mm: remove enum page_entry_size"): huge_fault gets an
 * order.
 */
#ifdef VPEER_HAVE_PAGE_ENTRY_SIZE
typedef enum page_entry_size vpeer_compat_order_t;

static inline bool vpeer_compat_order_is_pmd(vpeer_compat_order_t order)
{
	return order == PE_SIZE_PMD;
}
#else
typedef unsigned int vpeer_compat_order_t;

static inline bool vpeer_compat_order_is_pmd(vpeer_compat_order_t order)
{
	return order == PMD_SHIFT - PAGE_SHIFT;
}
#endif

/* FOLL_PIN pins of a 2 MiB compound page, in pages. @page is its head. */
static inline unsigned int vpeer_compat_pincount(struct page *page)
{
#ifdef VPEER_HAVE_FOLIO_PINCOUNT
	/* 6.3, 94688e8eb453 ("mm: remove folio_pincount_ptr()") */
	return atomic_read(&page_folio(page)->_pincount);
#else
	return atomic_read(folio_pincount_ptr(page_folio(page)));
#endif
}

/*
 * 6.19, 3a5a06554566 ("mm/memremap: folio_free replaces page_free"): before,
 * the last reference to a page without page_free() warns. Ours keep one of
 * their own, so neither is called in normal use.
 */
#ifdef VPEER_HAVE_PAGE_FREE
static inline void vpeer_compat_page_free(struct page *page)
{
}

static inline const struct dev_pagemap_ops *vpeer_compat_pagemap_ops(void)
{
	static const struct dev_pagemap_ops ops = {
		.page_free = vpeer_compat_page_free,
	};

	return &ops;
}
#else
static inline const struct dev_pagemap_ops *vpeer_compat_pagemap_ops(void)
{
	return NULL;
}
#endif

/*
 * 6.2, ff62b8e6588f ("driver core: make struct class.devnode() take a const
 * *"). Group and links are udev's; the mode is safe without it.
 */
#ifdef VPEER_HAVE_CONST_DEVNODE
static inline char *vpeer_compat_devnode(const struct device *dev,
					 umode_t *mode)
#else
static inline char *vpeer_compat_devnode(struct device *dev, umode_t *mode)
#endif
{
	if (mode)
		*mode = 0660;
	return NULL;
}

/*
 * 7.1: driver_override moved from struct pci_dev to struct device, with
 * device_set_driver_override(); some stable kernels have it too. @name NULL
 * clears.
 */
#ifdef VPEER_HAVE_DEVICE_DRIVER_OVERRIDE
/* @name becomes a copy that the caller frees, or NULL if there is none. */
static inline int vpeer_compat_get_override(struct pci_dev *pdev, char **name)
{
	int ret;

	spin_lock(&pdev->dev.driver_override.lock);
	*name = kstrdup(pdev->dev.driver_override.name, GFP_ATOMIC);
	ret = pdev->dev.driver_override.name && !*name ? -ENOMEM : 0;
	spin_unlock(&pdev->dev.driver_override.lock);
	return ret;
}

static inline int vpeer_compat_set_override(struct pci_dev *pdev,
					    const char *name)
{
	return device_set_driver_override(&pdev->dev, name ? name : "");
}

/* For a function that no one else can know yet. */
static inline int vpeer_compat_set_first_override(struct pci_dev *pdev,
						  const char *name)
{
	return vpeer_compat_set_override(pdev, name);
}

static inline bool vpeer_compat_override_is(struct pci_dev *pdev,
					    const char *name)
{
	bool match;

	spin_lock(&pdev->dev.driver_override.lock);
	match = pdev->dev.driver_override.name &&
		!strcmp(pdev->dev.driver_override.name, name);
	spin_unlock(&pdev->dev.driver_override.lock);
	return match;
}
#else
static inline int vpeer_compat_get_override(struct pci_dev *pdev, char **name)
{
	int ret;

	device_lock(&pdev->dev);
	*name = kstrdup(pdev->driver_override, GFP_KERNEL);
	ret = pdev->driver_override && !*name ? -ENOMEM : 0;
	device_unlock(&pdev->dev);
	return ret;
}

static inline int vpeer_compat_set_override(struct pci_dev *pdev,
					    const char *name)
{
	if (!name)
		name = "";
	return driver_set_override(&pdev->dev, &pdev->driver_override, name,
				   strlen(name));
}

/* As vfio-pci's bus notifier does: a lock here would close a circle. */
static inline int vpeer_compat_set_first_override(struct pci_dev *pdev,
						  const char *name)
{
	if (!pdev->driver_override)
		pdev->driver_override = kstrdup(name, GFP_KERNEL);
	return pdev->driver_override ? 0 : -ENOMEM;
}

static inline bool vpeer_compat_override_is(struct pci_dev *pdev,
					    const char *name)
{
	bool match;

	device_lock(&pdev->dev);
	match = pdev->driver_override && !strcmp(pdev->driver_override, name);
	device_unlock(&pdev->dev);
	return match;
}
#endif

/*
 * 6.13, cdd30ebb1b9f ("module: Convert symbol namespace to string literal").
 * A string compiles everywhere, but older kernels' modules are not linked with
 * it.
 */
#ifdef VPEER_HAVE_NAMESPACE_TOKEN
#define vpeer_compat_import_dma_buf()	MODULE_IMPORT_NS(DMA_BUF)
#else
#define vpeer_compat_import_dma_buf()	MODULE_IMPORT_NS("DMA_BUF")
#endif

/*
 * 6.8, 3652117f8548 ("eventfd: simplify eventfd_signal()"): before, with a
 * number to add.
 */
static inline void vpeer_compat_eventfd_signal(struct eventfd_ctx *event)
{
#ifdef VPEER_HAVE_EVENTFD_SIGNAL_ONE
	eventfd_signal(event);
#else
	eventfd_signal(event, 1);
#endif
}

/*
 * 6.18: dma_map_phys() with DMA_ATTR_MMIO takes the place of
 * dma_map_resource(). Both map for one function, by its own IOMMU domain.
 */
static inline dma_addr_t vpeer_compat_dma_map(struct device *dev,
					      phys_addr_t phys, size_t size,
					      enum dma_data_direction direction)
{
#ifdef VPEER_HAVE_DMA_MAP_PHYS
	return dma_map_phys(dev, phys, size, direction, DMA_ATTR_MMIO);
#else
	return dma_map_resource(dev, phys, size, direction, 0);
#endif
}

static inline void vpeer_compat_dma_unmap(struct device *dev, dma_addr_t dma,
					  size_t size,
					  enum dma_data_direction direction)
{
#ifdef VPEER_HAVE_DMA_MAP_PHYS
	dma_unmap_phys(dev, dma, size, direction, DMA_ATTR_MMIO);
#else
	dma_unmap_resource(dev, dma, size, direction, 0);
#endif
}

/*
 * 7.1, 95308225e5ba ("dma-buf: Rename .move_notify() callback to a clearer
 * identifier") and its series: importers that can be told of a revocation have
 * invalidate_mappings, those that cannot have not. Before, all have
 * move_notify, but the memory of those that pinned it stays. Where mappings
 * are pinned because the kernel is built without DMABUF_MOVE_NOTIFY, each holds
 * one pin that is not its importer's.
 */
#ifdef VPEER_HAVE_INVALIDATE_MAPPINGS
#define vpeer_compat_invalidate		invalidate_mappings

/* Does an importer with so many pins and mappings keep the memory? */
static inline bool vpeer_compat_keeps(struct dma_buf_attachment *attach,
				      unsigned int pins, unsigned int maps)
{
	return !dma_buf_attach_revocable(attach);
}
#else
#define vpeer_compat_invalidate		move_notify

/*
 * Stable kernels have ff85a2ebacbd ("RDMA/umem: Add pinned revocable dmabuf
 * import interface") without what tells such importers from others, for which
 * move_notify is an error: but its name.
 */
static inline bool
vpeer_compat_revocable(const struct dma_buf_attachment *attach)
{
	static const char name[] = "ib_umem_dmabuf_revoke_locked";
	const size_t length = sizeof(name) - 1;
	char symbol[sizeof(name) + 1];

	snprintf(symbol, sizeof(symbol), "%ps",
		 attach->importer_ops->move_notify);
	return !strncmp(symbol, name, length) && !isalnum(symbol[length]) &&
	       symbol[length] != '_';
}

static inline bool vpeer_compat_keeps(struct dma_buf_attachment *attach,
				      unsigned int pins, unsigned int maps)
{
	if (!IS_ENABLED(CONFIG_DMABUF_MOVE_NOTIFY))
		pins -= min(pins, maps);
	return pins && !vpeer_compat_revocable(attach);
}
#endif

/*
 * 5.19, 512881eacfa7 ("bus: platform,amba,fsl-mc,PCI: Add device DMA ownership
 * management"): drivers that leave the IOMMU to others say so.
 */
static inline bool vpeer_compat_leaves_dma(const struct pci_driver *driver)
{
#ifdef VPEER_HAVE_DRIVER_MANAGED_DMA
	return driver->driver_managed_dma;
#else
	return !strcmp(driver->name, "vfio-pci");
#endif
}

/*
 * 5.19, 7bc80a5462c3 ("dma-buf: add enum dma_resv_usage v4"): before, all
 * fences or the exclusive one.
 */
static inline bool vpeer_compat_fences_signaled(struct dma_resv *resv)
{
#ifdef VPEER_HAVE_RESV_USAGE
	return dma_resv_test_signaled(resv, DMA_RESV_USAGE_BOOKKEEP);
#else
	return dma_resv_test_signaled(resv, true);
#endif
}

/* All of them as one, which is NULL for none; false says that it cannot be had. */
static inline bool vpeer_compat_fences_get(struct dma_resv *resv,
					   struct dma_fence **fence)
{
#ifdef VPEER_HAVE_RESV_USAGE
	return dma_resv_get_singleton(resv, DMA_RESV_USAGE_BOOKKEEP, fence) == 0;
#else
	return false;
#endif
}

#endif /* _VPEER_COMPAT_H */
