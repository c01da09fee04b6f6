// SPDX-License-Identifier: GPL-2.0-only
/*
 * Route "dmabuf": what importers of an export get. The exporter is dynamic, so
 * that a revocation can take back what is mapped; importers must be dynamic
 * too and declare that they take peer-to-peer memory, which has no pages.
 *
 * Callbacks but attach, detach, mmap and release run under the reservation
 * lock. A mapping holds the pages of its range, although the importer never
 * sees them: what initiators hold is counted in one place, whatever the route.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "trace.h"
#include "vpeer.h"

/* sg_dma_len() has 32 bits. */
#define VPEER_SEGMENT_MAX	((u64)SZ_2G)

#define VPEER_WOULD_KEEP \
	"the driver would keep it after a revocation, and vpeer's allow_pinned_importers is off; set that to Y, or use a driver that lets go when told"

/* One importer. Guarded by the reservation lock. */
struct vpeer_import {
	unsigned int pins;
	unsigned int maps;
	struct mm_struct *mm;	/* of who imports, or NULL */
};

/* What one importer has mapped; its table is given to the importer. */
struct vpeer_map {
	struct sg_table table;
	unsigned int entries;	/* importers may look at table.nents only */
	dma_addr_t dma;		/* of the first granule */
	bool kept;		/* its importer takes no notice of a revocation */
};

static int vpeer_import_refuse(const struct vpeer_export *x,
			       const struct dma_buf_attachment *attach,
			       int error, const char *why)
{
	const struct vpeer_aperture *ap = x->w->ap;

	dev_warn_ratelimited(attach->dev, "vpeer: %s BAR %d: DMA-buf not imported: %s\n",
			     pci_name(ap->pdev), ap->bar, why);
	return -error;
}

/*
 * Whole granules are mapped, all of them the window's: IOMMUs have pages of
 * that size, so that a small range costs no more than a large one. The importer
 * is told of the range alone, and must keep its MRs to it as to any.
 */
static u64 vpeer_export_skip(const struct vpeer_export *x)
{
	return x->offset % VPEER_GRANULE;
}

static phys_addr_t vpeer_export_phys(const struct vpeer_export *x)
{
	return x->w->ap->base + x->offset - vpeer_export_skip(x);
}

static u64 vpeer_export_mapped(const struct vpeer_export *x)
{
	return round_up(vpeer_export_skip(x) + x->size, VPEER_GRANULE);
}

/* It cannot form the addresses that it would be given. */
static int vpeer_import_unreached(const struct vpeer_export *x,
				  const struct dma_buf_attachment *attach,
				  enum vpeer_reason why)
{
	int error = -vpeer_refuse(NULL, why);

	if (why == VPEER_REASON_SWIOTLB_FORCE)
		return vpeer_import_refuse(x, attach, error,
					   "the function's DMA is bounced (swiotlb=force), and no IOMMU translates; boot without swiotlb=force, or give the guest a translating IOMMU");
	return vpeer_import_refuse(x, attach, error,
				   "the BAR lies beyond the function's DMA mask, and no IOMMU translates; give the guest a translating IOMMU, or the BAR a lower address");
}

/* Whoever registers the memory may have to be asked to let go of it. */
static void vpeer_import_holder(struct vpeer_window *w,
				struct vpeer_import *import)
{
	if (!current->mm)
		return;
	import->mm = current->mm;
	mmgrab(import->mm);
	down_write(&w->ap->lock);
	vpeer_holder_import(w, import->mm);
	up_write(&w->ap->lock);
}

static int vpeer_import_check(const struct vpeer_export *x,
			      struct dma_buf_attachment *attach)
{
	enum vpeer_reason why;

	if (READ_ONCE(x->w->revoked))
		return -ENODEV;
	if (!attach->peer2peer)
		return vpeer_import_refuse(x, attach, EOPNOTSUPP,
					   "the driver does not declare peer-to-peer DMA; map the window and register the mapping instead");
	why = vpeer_reach_check(attach->dev, vpeer_export_phys(x) +
				vpeer_export_mapped(x) - 1);
	if (why)
		return vpeer_import_unreached(x, attach, why);
	/* Before 7.1 it does not show until it has pinned: asked again then. */
	if (vpeer_compat_keeps(attach, 0, 0) &&
	    !READ_ONCE(vpeer_allow_pinned_importers))
		return vpeer_import_refuse(x, attach, EPERM,
					   VPEER_WOULD_KEEP);
	return 0;
}

static int vpeer_dmabuf_attach(struct dma_buf *dmabuf,
			       struct dma_buf_attachment *attach)
{
	struct vpeer_export *x = dmabuf->priv;
	struct vpeer_import *import;
	int ret;

	ret = vpeer_import_check(x, attach);
	if (ret)
		return ret;
	import = kzalloc(sizeof(*import), GFP_KERNEL_ACCOUNT);
	if (!import)
		return -ENOMEM;
	attach->priv = import;
	vpeer_import_holder(x->w, import);
	return 0;
}

static void vpeer_dmabuf_detach(struct dma_buf *dmabuf,
				struct dma_buf_attachment *attach)
{
	struct vpeer_export *x = dmabuf->priv;
	struct vpeer_import *import = attach->priv;

	if (import->mm) {
		down_write(&x->w->ap->lock);
		vpeer_holder_unimport(x->w, import->mm);
		up_write(&x->w->ap->lock);
		mmdrop(import->mm);
	}
	kfree(import);
}

static int vpeer_dmabuf_pin(struct dma_buf_attachment *attach)
{
	struct vpeer_export *x = attach->dmabuf->priv;
	struct vpeer_import *import = attach->priv;

	dma_resv_assert_held(&x->resv);
	if (READ_ONCE(x->w->revoked))
		return -ENODEV;
	import->pins++;
	return 0;
}

static void vpeer_dmabuf_unpin(struct dma_buf_attachment *attach)
{
	struct vpeer_import *import = attach->priv;

	import->pins--;
}

/* Does it keep what @maps mappings it has, whatever it is told? */
static bool vpeer_import_keeps(struct dma_buf_attachment *attach,
			       unsigned int maps)
{
	const struct vpeer_import *import = attach->priv;

	return vpeer_compat_keeps(attach, import->pins, maps);
}

/* The longest segment that starts at @dma and that the importer takes. */
static u64 vpeer_segment(struct device *dev, dma_addr_t dma, u64 left)
{
	u64 mask = dma_get_seg_boundary(dev);
	u64 longest = min_t(u64, dma_get_max_seg_size(dev), VPEER_SEGMENT_MAX);

	longest = max_t(u64, round_down(longest, PAGE_SIZE), PAGE_SIZE);
	return min(left, min(longest - 1, mask - (dma & mask)) + 1);
}

static unsigned int vpeer_segments(struct device *dev, dma_addr_t dma, u64 left)
{
	unsigned int nr = 0;
	u64 size;

	for (; left; left -= size, dma += size, nr++)
		size = vpeer_segment(dev, dma, left);
	return nr;
}

/* The importer must not look for pages: entries have DMA addresses only. */
static int vpeer_map_fill(struct vpeer_map *map, const struct vpeer_export *x,
			  struct device *dev)
{
	dma_addr_t dma = map->dma + vpeer_export_skip(x);
	struct scatterlist *sg;
	u64 left = x->size;
	int i, ret;

	ret = sg_alloc_table(&map->table, vpeer_segments(dev, dma, left),
			     GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret;
	for_each_sgtable_dma_sg(&map->table, sg, i) {
		u64 size = vpeer_segment(dev, dma, left);

		sg_dma_address(sg) = dma;
		sg_dma_len(sg) = size;
		dma += size;
		left -= size;
	}
	map->entries = map->table.orig_nents;
	map->table.orig_nents = 0;
	return 0;
}

/*
 * IOMMU drivers keep bridge windows out of IOVA space, so that the BAR's own
 * address is never a translation: it would reach other memory, or none.
 */
static bool vpeer_is_raw(const struct vpeer_export *x, struct device *dev,
			 dma_addr_t dma)
{
	return dma == vpeer_export_phys(x) && vpeer_translates(dev);
}

static int vpeer_map_dma(struct vpeer_map *map, const struct vpeer_export *x,
			 struct dma_buf_attachment *attach,
			 enum dma_data_direction direction)
{
	struct device *dev = attach->dev;
	int ret;

	map->dma = vpeer_compat_dma_map(dev, vpeer_export_phys(x),
					vpeer_export_mapped(x), direction);
	if (dma_mapping_error(dev, map->dma))
		return vpeer_import_refuse(x, attach, ENOMEM,
					   "no DMA mapping: IOVA space or memory is used up; deregister memory, or register less at a time");
	if (vpeer_is_raw(x, dev, map->dma))
		ret = vpeer_import_refuse(x, attach, EIO,
					  "the IOMMU translates, but the kernel gave the BAR's own address; report this to the kernel's maintainers");
	else
		ret = vpeer_map_fill(map, x, dev);
	if (ret)
		vpeer_compat_dma_unmap(dev, map->dma, vpeer_export_mapped(x),
				       direction);
	return ret;
}

/* Takes hold of the range's pages, unless it is revoked. */
static int vpeer_map_hold(struct vpeer_export *x)
{
	struct vpeer_aperture *ap = x->w->ap;
	int ret = -ENODEV;

	down_read(&ap->lock);
	if (vpeer_window_reaches(x->w, x->offset))
		ret = vpeer_range_hold(ap, x->offset, x->size) ? 0 : -EBUSY;
	up_read(&ap->lock);
	return ret;
}

static void vpeer_map_count(const struct vpeer_export *x,
			    const struct vpeer_map *map, s64 sign)
{
	struct vpeer_stats *stats = &x->w->ap->stats;
	s64 bytes = sign * (s64)x->size;

	atomic64_add(sign, &stats->dmabuf_maps);
	atomic64_add(bytes, &stats->dmabuf_bytes_mapped);
	atomic64_add(bytes, &x->w->mapped);
	if (map->kept)
		atomic64_add(bytes, &x->w->kept);
}

static struct vpeer_map *vpeer_map_create(struct vpeer_export *x,
					  struct dma_buf_attachment *attach,
					  enum dma_data_direction direction)
{
	struct vpeer_map *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!map)
		return ERR_PTR(-ENOMEM);
	ret = vpeer_map_hold(x);
	if (ret)
		goto free_map;
	ret = vpeer_map_dma(map, x, attach, direction);
	if (ret)
		goto drop_range;
	return map;

drop_range:
	vpeer_range_drop(x->w->ap, x->offset, x->size);
free_map:
	kfree(map);
	return ERR_PTR(ret);
}

static struct sg_table *vpeer_dmabuf_map(struct dma_buf_attachment *attach,
					 enum dma_data_direction direction)
{
	struct vpeer_export *x = attach->dmabuf->priv;
	struct vpeer_import *import = attach->priv;
	bool keeps = vpeer_import_keeps(attach, import->maps + 1);
	struct vpeer_map *map;

	dma_resv_assert_held(&x->resv);
	if (keeps && !READ_ONCE(vpeer_allow_pinned_importers))
		return ERR_PTR(vpeer_import_refuse(x, attach, EPERM,
						   VPEER_WOULD_KEEP));
	map = vpeer_map_create(x, attach, direction);
	if (IS_ERR(map))
		return ERR_CAST(map);
	map->kept = keeps;
	import->maps++;
	vpeer_map_count(x, map, 1);
	trace_vpeer_dmabuf_map(x->w->ap, x->offset, x->size);
	return &map->table;
}

static void vpeer_dmabuf_unmap(struct dma_buf_attachment *attach,
			       struct sg_table *table,
			       enum dma_data_direction direction)
{
	struct vpeer_map *map = container_of(table, struct vpeer_map, table);
	struct vpeer_export *x = attach->dmabuf->priv;
	struct vpeer_import *import = attach->priv;

	dma_resv_assert_held(&x->resv);
	trace_vpeer_dmabuf_unmap(x->w->ap, x->offset, x->size);
	vpeer_compat_dma_unmap(attach->dev, map->dma, vpeer_export_mapped(x),
			       direction);
	table->orig_nents = map->entries;
	sg_free_table(table);
	import->maps--;
	if (READ_ONCE(x->w->revoked))
		vpeer_fences_note(x);
	vpeer_map_count(x, map, -1);
	vpeer_range_drop(x->w->ap, x->offset, x->size);
	kfree(map);
}

/*
 * At the window's own offsets, as all of the aperture's mappings are. The file
 * stays the DMA-buf: by the owner's, remap_file_pages() would reach all that is
 * the owner's.
 */
static int vpeer_dmabuf_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct vpeer_export *x = dmabuf->priv;

	vma->vm_pgoff += x->offset >> PAGE_SHIFT;
	return vpeer_pages_mmap_window(x->w, vma);
}

/* Caches are not involved: mappings are write-combining or uncached. */
static int vpeer_dmabuf_begin(struct dma_buf *dmabuf,
			      enum dma_data_direction direction)
{
	struct vpeer_export *x = dmabuf->priv;

	return READ_ONCE(x->w->revoked) ? -ENODEV : 0;
}

static int vpeer_dmabuf_end(struct dma_buf *dmabuf,
			    enum dma_data_direction direction)
{
	/* What this CPU still combines goes out before initiators are told. */
	wmb();
	return vpeer_dmabuf_begin(dmabuf, direction);
}

static void vpeer_dmabuf_release(struct dma_buf *dmabuf)
{
	struct vpeer_export *x = dmabuf->priv;

	/* A revocation under way has seen the last of it. */
	dma_resv_lock(&x->resv, NULL);
	x->dmabuf = NULL;
	dma_resv_unlock(&x->resv);
	vpeer_export_release(x);
}

static const struct dma_buf_ops vpeer_dmabuf_ops = {
	.attach = vpeer_dmabuf_attach,
	.detach = vpeer_dmabuf_detach,
	.pin = vpeer_dmabuf_pin,
	.unpin = vpeer_dmabuf_unpin,
	.map_dma_buf = vpeer_dmabuf_map,
	.unmap_dma_buf = vpeer_dmabuf_unmap,
	.mmap = vpeer_dmabuf_mmap,
	.begin_cpu_access = vpeer_dmabuf_begin,
	.end_cpu_access = vpeer_dmabuf_end,
	.release = vpeer_dmabuf_release,
};

/**
 * vpeer_dmabuf_create - make the DMA-buf of an export
 * @x: export, whose first reference is the DMA-buf's if this succeeds
 */
struct dma_buf *vpeer_dmabuf_create(struct vpeer_export *x)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;

	info.exp_name = "vpeer";
	info.ops = &vpeer_dmabuf_ops;
	info.size = x->size;
	info.flags = O_RDWR;
	info.resv = &x->resv;
	info.priv = x;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf))
		return dmabuf;
	/* One zap reaches all mappings of the aperture, whatever their file. */
	dmabuf->file->f_mapping = x->w->ap->inode->i_mapping;
	x->dmabuf = dmabuf;
	return dmabuf;
}

/*
 * Who has nothing mapped has nothing to hear, and may be about to pin. Some
 * that pinned take being told for an error. Returns whether anyone had it
 * mapped.
 */
static bool vpeer_tell_each(struct dma_buf *dmabuf)
{
	struct dma_buf_attachment *attach;
	bool mapped = false;

	list_for_each_entry(attach, &dmabuf->attachments, node) {
		const struct vpeer_import *import = attach->priv;

		mapped |= import->maps > 0;
		if (import->maps && !vpeer_import_keeps(attach, import->maps))
			attach->importer_ops->vpeer_compat_invalidate(attach);
	}
	return mapped;
}

/**
 * vpeer_dmabuf_tell - tell importers that the memory goes
 * @x: export of a revoked window, referenced; no lock of ours held
 */
void vpeer_dmabuf_tell(struct vpeer_export *x)
{
	dma_resv_lock(&x->resv, NULL);
	if (x->dmabuf && vpeer_tell_each(x->dmabuf))
		vpeer_fences_note(x);
	dma_resv_unlock(&x->resv);
}
