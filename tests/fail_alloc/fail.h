/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comes before every file of the module: what it asks the kernel for can be
 * made to fail (fail.c), and what it holds is counted. Calls that cannot fail
 * (__GFP_NOFAIL) are only counted.
 */
#ifndef FAIL_H
#define FAIL_H

#include <linux/cdev.h>
#include <linux/debugfs.h>
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/huge_mm.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>

enum fail_kind {
	FAIL_MEMORY,
	FAIL_PAGE,
	FAIL_INODE,
	FAIL_STRUCT_PAGES,
	FAIL_IO_MAPPING,
	FAIL_MEMORY_TYPE,
	FAIL_REGION,
	FAIL_ENABLE,
	FAIL_INDEX,
	FAIL_NODE,
	FAIL_TABLE,
	FAIL_DMA,
	FAIL_EVENT,
	FAIL_KINDS,
};

/* Is this the call that is to fail? */
bool fail_now(const char *what, const char *caller);

void fail_take(enum fail_kind kind);
void fail_give(enum fail_kind kind);

static inline void *fail_took(enum fail_kind kind, void *got)
{
	if (!IS_ERR_OR_NULL(got))
		fail_take(kind);
	return got;
}

static inline void fail_gave(enum fail_kind kind, const void *gone)
{
	if (!IS_ERR_OR_NULL(gone))
		fail_give(kind);
}

static inline int fail_took_if(enum fail_kind kind, int ret)
{
	if (ret >= 0)
		fail_take(kind);
	return ret;
}

/* The names below mean others from their redefinition on. */
static inline void *fail_kmalloc(size_t size, gfp_t flags)
{
	return kmalloc(size, flags);
}

static inline void *fail_kvmalloc(size_t size, gfp_t flags)
{
	return kvmalloc(size, flags);
}

static inline void *fail_kvmalloc_array(size_t n, size_t size, gfp_t flags)
{
	return kvmalloc_array(n, size, flags);
}

static inline char *fail_kstrdup(const char *text, gfp_t flags)
{
	return kstrdup(text, flags);
}

static inline void fail_kfree(const void *gone)
{
	fail_gave(FAIL_MEMORY, gone);
	kfree(gone);
}

static inline void fail_kvfree(const void *gone)
{
	fail_gave(FAIL_MEMORY, gone);
	kvfree(gone);
}

static inline struct page *fail_alloc_page(gfp_t flags)
{
	return alloc_page(flags);
}

static inline void fail_free_page(struct page *page)
{
	fail_gave(FAIL_PAGE, page);
	__free_page(page);
}

static inline void fail_iput(struct inode *inode)
{
	fail_gave(FAIL_INODE, inode);
	iput(inode);
}

static inline void fail_memunmap_pages(struct dev_pagemap *pgmap)
{
	fail_give(FAIL_STRUCT_PAGES);
	memunmap_pages(pgmap);
}

static inline void __iomem *fail_ioremap(resource_size_t base, size_t size)
{
	return ioremap(base, size);
}

static inline void __iomem *fail_ioremap_wc(resource_size_t base, size_t size)
{
	return ioremap_wc(base, size);
}

static inline void fail_iounmap(void __iomem *addr)
{
	fail_give(FAIL_IO_MAPPING);
	iounmap(addr);
}

static inline int fail_reserve_memtype(resource_size_t base, resource_size_t size)
{
	return arch_io_reserve_memtype_wc(base, size);
}

static inline void fail_free_memtype(resource_size_t base, resource_size_t size)
{
	fail_give(FAIL_MEMORY_TYPE);
	arch_io_free_memtype_wc(base, size);
}

static inline void fail_release_region(struct pci_dev *pdev, int bar)
{
	fail_give(FAIL_REGION);
	pci_release_region(pdev, bar);
}

static inline void fail_disable_device(struct pci_dev *pdev)
{
	fail_give(FAIL_ENABLE);
	pci_disable_device(pdev);
}

static inline int fail_ida_alloc_max(struct ida *ida, unsigned int max, gfp_t flags)
{
	return ida_alloc_max(ida, max, flags);
}

static inline void fail_ida_free(struct ida *ida, unsigned int id)
{
	fail_give(FAIL_INDEX);
	ida_free(ida, id);
}

static inline void fail_cdev_device_del(struct cdev *cdev, struct device *dev)
{
	fail_give(FAIL_NODE);
	cdev_device_del(cdev, dev);
}

static inline void fail_sg_free_table(struct sg_table *table)
{
	fail_give(FAIL_TABLE);
	sg_free_table(table);
}

static inline dma_addr_t fail_mapped(dma_addr_t dma)
{
	if (dma != DMA_MAPPING_ERROR)
		fail_take(FAIL_DMA);
	return dma;
}

static inline void fail_unmapped(void)
{
	fail_give(FAIL_DMA);
}

static inline void fail_eventfd_ctx_put(struct eventfd_ctx *ctx)
{
	fail_gave(FAIL_EVENT, ctx);
	eventfd_ctx_put(ctx);
}

#define FAIL_CALL(name, failure, call)					\
	(fail_now(name, __func__) ? (failure) : (call))

/* What gives a pointer. */
#define FAIL_TAKE(kind, name, failure, call)				\
	((typeof(call))fail_took(kind, (__force void *)FAIL_CALL(name, failure, call)))

#define FAIL_ALLOC(kind, name, flags, call)				\
	((typeof(call))fail_took(kind, !((flags) & __GFP_NOFAIL) &&	\
					fail_now(name, __func__) ? NULL : (call)))

#undef kmalloc
#define kmalloc(size, flags)						\
	FAIL_ALLOC(FAIL_MEMORY, "kmalloc", flags, fail_kmalloc(size, flags))
#undef kzalloc
#define kzalloc(size, flags)						\
	FAIL_ALLOC(FAIL_MEMORY, "kzalloc", flags, fail_kmalloc(size, (flags) | __GFP_ZERO))
#undef kvzalloc
#define kvzalloc(size, flags)						\
	FAIL_ALLOC(FAIL_MEMORY, "kvzalloc", flags, fail_kvmalloc(size, (flags) | __GFP_ZERO))
#undef kvcalloc
#define kvcalloc(n, size, flags)					\
	FAIL_ALLOC(FAIL_MEMORY, "kvcalloc", flags,			\
		   fail_kvmalloc_array(n, size, (flags) | __GFP_ZERO))
#undef kstrdup
#define kstrdup(text, flags)						\
	((text) ? FAIL_ALLOC(FAIL_MEMORY, "kstrdup", flags, fail_kstrdup(text, flags)) : NULL)
#undef kfree
#define kfree(gone)	fail_kfree(gone)
#undef kvfree
#define kvfree(gone)	fail_kvfree(gone)

#undef alloc_page
#define alloc_page(flags)						\
	FAIL_ALLOC(FAIL_PAGE, "alloc_page", flags, fail_alloc_page(flags))
#undef __free_page
#define __free_page(page)	fail_free_page(page)

#define alloc_anon_inode(sb)						\
	FAIL_TAKE(FAIL_INODE, "alloc_anon_inode", ERR_PTR(-ENOMEM), alloc_anon_inode(sb))
#define iput(inode)	fail_iput(inode)

#define memremap_pages(pgmap, nid)					\
	FAIL_TAKE(FAIL_STRUCT_PAGES, "memremap_pages", ERR_PTR(-ENOMEM), memremap_pages(pgmap, nid))
#define memunmap_pages(pgmap)	fail_memunmap_pages(pgmap)

#undef ioremap
#define ioremap(base, size)						\
	FAIL_TAKE(FAIL_IO_MAPPING, "ioremap", NULL, fail_ioremap(base, size))
#undef ioremap_wc
#define ioremap_wc(base, size)						\
	FAIL_TAKE(FAIL_IO_MAPPING, "ioremap_wc", NULL, fail_ioremap_wc(base, size))
#undef iounmap
#define iounmap(addr)	fail_iounmap(addr)

#undef arch_io_reserve_memtype_wc
#define arch_io_reserve_memtype_wc(base, size)				\
	fail_took_if(FAIL_MEMORY_TYPE, FAIL_CALL("arch_io_reserve_memtype_wc", -ENOMEM,	\
						 fail_reserve_memtype(base, size)))
#undef arch_io_free_memtype_wc
#define arch_io_free_memtype_wc(base, size)	fail_free_memtype(base, size)

#define pci_request_region(pdev, bar, name)				\
	fail_took_if(FAIL_REGION, FAIL_CALL("pci_request_region", -EBUSY,	\
					    pci_request_region(pdev, bar, name)))
#define pci_release_region(pdev, bar)	fail_release_region(pdev, bar)
#define pci_enable_device_mem(pdev)					\
	fail_took_if(FAIL_ENABLE, FAIL_CALL("pci_enable_device_mem", -EIO,	\
					    pci_enable_device_mem(pdev)))
#define pci_disable_device(pdev)	fail_disable_device(pdev)

#define ida_alloc_max(ida, max, flags)					\
	fail_took_if(FAIL_INDEX, FAIL_CALL("ida_alloc_max", -ENOMEM,	\
					   fail_ida_alloc_max(ida, max, flags)))
#define ida_free(ida, id)	fail_ida_free(ida, id)

#define dev_set_name(dev, ...)						\
	FAIL_CALL("dev_set_name", -ENOMEM, dev_set_name(dev, __VA_ARGS__))
#define cdev_device_add(cdev, dev)					\
	fail_took_if(FAIL_NODE, FAIL_CALL("cdev_device_add", -ENOMEM, cdev_device_add(cdev, dev)))
#define cdev_device_del(cdev, dev)	fail_cdev_device_del(cdev, dev)

/* Without a name nothing is allocated. */
#define driver_set_override(dev, override, text, len)			\
	((len) && fail_now("driver_set_override", __func__) ?		\
	 -ENOMEM : driver_set_override(dev, override, text, len))
#define device_set_driver_override(dev, text)				\
	(*(text) && fail_now("device_set_driver_override", __func__) ?	\
	 -ENOMEM : device_set_driver_override(dev, text))

/* The fault is done again. */
#define vm_insert_page(vma, addr, page)					\
	FAIL_CALL("vm_insert_page", -ENOMEM, vm_insert_page(vma, addr, page))
#define vmf_insert_page(vma, addr, page)				\
	FAIL_CALL("vmf_insert_page", VM_FAULT_OOM, vmf_insert_page(vma, addr, page))
#define vmf_insert_page_mkwrite(vmf, page, write)			\
	FAIL_CALL("vmf_insert_page_mkwrite", VM_FAULT_OOM,		\
		  vmf_insert_page_mkwrite(vmf, page, write))
#define vmf_insert_folio_pmd(vmf, folio, write)				\
	FAIL_CALL("vmf_insert_folio_pmd", VM_FAULT_OOM, vmf_insert_folio_pmd(vmf, folio, write))
#define vmf_insert_pfn_pmd(vmf, pfn, write)				\
	FAIL_CALL("vmf_insert_pfn_pmd", VM_FAULT_OOM, vmf_insert_pfn_pmd(vmf, pfn, write))

#define debugfs_create_dir(name, parent)				\
	FAIL_CALL("debugfs_create_dir", ERR_PTR(-ENOMEM), debugfs_create_dir(name, parent))

#undef get_unused_fd_flags
#define get_unused_fd_flags(flags)					\
	FAIL_CALL("get_unused_fd_flags", -EMFILE, get_unused_fd_flags(flags))
#define dma_buf_export(info)						\
	FAIL_CALL("dma_buf_export", ERR_PTR(-ENOMEM), dma_buf_export(info))
#define sg_alloc_table(table, n, flags)					\
	fail_took_if(FAIL_TABLE, FAIL_CALL("sg_alloc_table", -ENOMEM,	\
					   sg_alloc_table(table, n, flags)))
#define sg_free_table(table)	fail_sg_free_table(table)

#define dma_map_resource(dev, phys, size, direction, attrs)		\
	fail_mapped(FAIL_CALL("dma_map_resource", DMA_MAPPING_ERROR,	\
			      dma_map_resource(dev, phys, size, direction, attrs)))
#define dma_unmap_resource(dev, dma, size, direction, attrs)		\
	(fail_unmapped(), dma_unmap_resource(dev, dma, size, direction, attrs))
#define dma_map_phys(dev, phys, size, direction, attrs)			\
	fail_mapped(FAIL_CALL("dma_map_phys", DMA_MAPPING_ERROR,	\
			      dma_map_phys(dev, phys, size, direction, attrs)))
#define dma_unmap_phys(dev, dma, size, direction, attrs)		\
	(fail_unmapped(), dma_unmap_phys(dev, dma, size, direction, attrs))

/* It allocates nothing, but what it gives must be given back. */
#define eventfd_ctx_fdget(fd)						\
	FAIL_TAKE(FAIL_EVENT, "eventfd_ctx_fdget", ERR_PTR(-EBADF), eventfd_ctx_fdget(fd))
#define eventfd_ctx_put(ctx)	fail_eventfd_ctx_put(ctx)

#endif /* FAIL_H */
