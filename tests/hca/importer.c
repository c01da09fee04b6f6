// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imports DMA-bufs for PCI functions as drivers of different makes do, and
 * tells what an exporter gave them. It does no DMA.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/iommu.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "importer.h"

vrnic_compat_import_dma_buf();

/* The DMA-buf's reservation lock protects from @table on, @lock the rest. */
struct importer {
	struct mutex lock;			/* also serialises calls */
	struct pci_dev *pdev;			/* NULL before set-up */
	enum importer_mode mode;
	u64 mask;				/* the function's own, as the next */
	struct device_dma_parameters parms;
	struct dma_buf_attachment *attach;
	struct dma_fence *fence;
	struct sg_table *table;
	bool pinned;
	bool slow;
	unsigned int notified;
};

static void importer_lock(struct importer *i)
{
	if (i->attach)
		dma_resv_lock(i->attach->dmabuf->resv, NULL);
}

static void importer_unlock(struct importer *i)
{
	if (i->attach)
		dma_resv_unlock(i->attach->dmabuf->resv);
}

static void importer_unmap(struct importer *i)
{
	if (i->table)
		dma_buf_unmap_attachment(i->attach, i->table, DMA_BIDIRECTIONAL);
	i->table = NULL;
	if (i->pinned)
		dma_buf_unpin(i->attach);
	i->pinned = false;
}

static void importer_told(struct dma_buf_attachment *attach)
{
	struct importer *i = attach->importer_priv;

	dma_resv_assert_held(attach->dmabuf->resv);
	i->notified++;
	if (!i->slow && i->mode != IMPORTER_PINNED)
		importer_unmap(i);
}

static const struct dma_buf_attach_ops importer_ops = {
	.allow_peer2peer = true,
	.vrnic_compat_invalidate = importer_told,
};

static const struct dma_buf_attach_ops importer_pinned_ops = {
	.allow_peer2peer = true,
	.vrnic_compat_invalidate = vrnic_compat_never_called(importer_told),
};

static const struct dma_buf_attach_ops importer_no_peer_ops = {
	.vrnic_compat_invalidate = importer_told,
};

static const struct dma_buf_attach_ops *const importer_mode_ops[IMPORTER_MODES] = {
	[IMPORTER_DYNAMIC] = &importer_ops,
	[IMPORTER_REVOCABLE] = &importer_ops,
	[IMPORTER_PINNED] = &importer_pinned_ops,
	[IMPORTER_NO_PEER] = &importer_no_peer_ops,
};

static void importer_restore(struct importer *i)
{
	struct device *dev = &i->pdev->dev;

	*dev->dma_parms = i->parms;
	if (dma_set_mask(dev, i->mask))
		dev_err(dev, "importer: the DMA mask is no longer possible\n");
}

static int importer_constrain(struct importer *i, const struct importer_setup *setup)
{
	struct device *dev = &i->pdev->dev;

	if (!dev->dma_mask || !dev->dma_parms)
		return -ENODEV;
	i->mask = *dev->dma_mask;
	i->parms = *dev->dma_parms;
	if (setup->max_segment)
		dev->dma_parms->max_segment_size = setup->max_segment;
	if (setup->boundary)
		dev->dma_parms->segment_boundary_mask = setup->boundary - 1;
	return setup->mask_bits ? dma_set_mask(dev, DMA_BIT_MASK(setup->mask_bits)) : 0;
}

static int importer_setup(struct importer *i, const void __user *arg)
{
	struct importer_setup setup;
	int ret;

	if (copy_from_user(&setup, arg, sizeof(setup)))
		return -EFAULT;
	if (setup.mode >= IMPORTER_MODES || setup.mask_bits > 64 ||
	    (setup.boundary & (setup.boundary - 1)))
		return -EINVAL;
	if (setup.mode == IMPORTER_REVOCABLE && !vrnic_compat_pinned_are_told())
		return -EOPNOTSUPP;
	if (i->pdev)
		return -EBUSY;
	i->pdev = pci_get_domain_bus_and_slot(setup.domain, setup.bus, setup.devfn);
	if (!i->pdev)
		return -ENODEV;
	i->mode = setup.mode;
	ret = importer_constrain(i, &setup);
	if (!ret)
		return 0;
	if (i->mask)
		importer_restore(i);
	pci_dev_put(i->pdev);
	i->pdev = NULL;
	return ret;
}

static int importer_attach(struct importer *i, const s32 __user *arg)
{
	struct dma_buf_attachment *attach;
	struct dma_buf *dmabuf;
	s32 fd;

	if (get_user(fd, arg))
		return -EFAULT;
	if (!i->pdev)
		return -ENXIO;
	if (i->attach)
		return -EBUSY;
	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	if (i->mode == IMPORTER_STATIC)
		attach = dma_buf_attach(dmabuf, &i->pdev->dev);
	else
		attach = dma_buf_dynamic_attach(dmabuf, &i->pdev->dev,
						importer_mode_ops[i->mode], i);
	if (IS_ERR(attach)) {
		dma_buf_put(dmabuf);
		return PTR_ERR(attach);
	}
	i->attach = attach;
	return 0;
}

static void importer_signal(struct importer *i)
{
	if (!i->fence)
		return;
	dma_fence_signal(i->fence);
	dma_fence_put(i->fence);
	i->fence = NULL;
}

static void importer_detach(struct importer *i)
{
	struct dma_buf *dmabuf;

	importer_signal(i);
	if (!i->attach)
		return;
	dmabuf = i->attach->dmabuf;
	importer_lock(i);
	importer_unmap(i);
	importer_unlock(i);
	dma_buf_detach(dmabuf, i->attach);
	i->attach = NULL;
	dma_buf_put(dmabuf);
}

/* Locked, as what follows. */
static int importer_map(struct importer *i)
{
	struct sg_table *table;
	int ret;

	if (i->table)
		return -EBUSY;
	if (i->mode == IMPORTER_PINNED || i->mode == IMPORTER_REVOCABLE) {
		ret = dma_buf_pin(i->attach);
		if (ret)
			return ret;
		i->pinned = true;
	}
	table = dma_buf_map_attachment(i->attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(table)) {
		importer_unmap(i);
		return PTR_ERR(table);
	}
	i->table = table;
	return 0;
}

/* As many as there is room for. */
static void importer_list(struct importer *i, struct importer_segments *list,
			  struct importer_segment *segments)
{
	struct scatterlist *sg;
	unsigned int n;

	list->orig_nents = i->table->orig_nents;
	list->count = i->table->nents;
	list->pages = 0;
	/* The entries with pages may be more than those for the device. */
	for_each_sg(i->table->sgl, sg, max(i->table->nents, i->table->orig_nents), n) {
		if (sg_page(sg))
			list->pages++;
		if (n >= min(list->room, list->count))
			continue;
		segments[n].address = sg_dma_address(sg);
		segments[n].length = sg_dma_len(sg);
	}
}

static int importer_segments(struct importer *i, void __user *arg)
{
	struct importer_segment *segments;
	struct importer_segments list;
	int ret = -ENXIO;

	if (copy_from_user(&list, arg, sizeof(list)))
		return -EFAULT;
	if (list.room > IMPORTER_MOST_SEGMENTS)
		return -EINVAL;
	segments = kvcalloc(list.room, sizeof(*segments), GFP_KERNEL);
	if (!segments)
		return -ENOMEM;
	importer_lock(i);
	if (i->table) {
		importer_list(i, &list, segments);
		ret = 0;
	}
	importer_unlock(i);
	if (!ret && (copy_to_user(u64_to_user_ptr(list.segments), segments,
				  min(list.room, list.count) * sizeof(*segments)) ||
		     copy_to_user(arg, &list, sizeof(list))))
		ret = -EFAULT;
	kvfree(segments);
	return ret;
}

/* Where an offset of a mapping is in memory. Offsets are asked for in their order. */
struct importer_place {
	struct scatterlist *sg;		/* of pages; NULL if it is one range */
	u64 start;
};

static u64 importer_expected(struct importer_place *place, u64 offset)
{
	if (!place->sg)
		return place->start + offset;
	while (offset - place->start >= place->sg->length && sg_next(place->sg)) {
		place->start += place->sg->length;
		place->sg = sg_next(place->sg);
	}
	return sg_phys(place->sg) + offset - place->start;
}

static u64 importer_physical(struct importer *i, dma_addr_t address)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&i->pdev->dev);

	return domain ? iommu_iova_to_phys(domain, address) : address;
}

static void importer_check_byte(struct importer *i, struct importer_check *check,
				struct importer_place *place, dma_addr_t address, u64 offset)
{
	u64 found = importer_physical(i, address);

	check->checked++;
	if (found == importer_expected(place, offset))
		return;
	if (!check->wrong++) {
		check->offset = offset;
		check->found = found;
	}
}

static void importer_check_all(struct importer *i, struct importer_check *check,
			       struct importer_place *place)
{
	struct scatterlist *sg;
	u64 at, start = 0;
	unsigned int n;

	for_each_sgtable_dma_sg(i->table, sg, n) {
		for (at = 0; at < sg_dma_len(sg); at += check->step)
			importer_check_byte(i, check, place, sg_dma_address(sg) + at, start + at);
		at = sg_dma_len(sg) - 1;
		importer_check_byte(i, check, place, sg_dma_address(sg) + at, start + at);
		start += sg_dma_len(sg);
		cond_resched();
	}
}

static int importer_check(struct importer *i, void __user *arg)
{
	struct importer_place place = { };
	struct importer_check check;
	int ret = -ENXIO;

	if (copy_from_user(&check, arg, sizeof(check)))
		return -EFAULT;
	if (!check.step || check.step > U32_MAX)
		return -EINVAL;
	check.checked = 0;
	check.wrong = 0;
	importer_lock(i);
	if (i->table && check.physical != IMPORTER_ITS_PAGES)
		place.start = check.physical;
	else if (i->table && i->table->orig_nents)
		place.sg = i->table->sgl;
	if (i->table && (place.sg || check.physical != IMPORTER_ITS_PAGES)) {
		importer_check_all(i, &check, &place);
		ret = 0;
	}
	importer_unlock(i);
	if (!ret && copy_to_user(arg, &check, sizeof(check)))
		ret = -EFAULT;
	return ret;
}

static int importer_state(struct importer *i, void __user *arg)
{
	struct importer_state state = { };
	struct iommu_domain *domain;

	if (!i->pdev)
		return -ENXIO;
	domain = iommu_get_domain_for_dev(&i->pdev->dev);
	state.translated = domain && domain->type & __IOMMU_DOMAIN_PAGING;
	importer_lock(i);
	state.notified = i->notified;
	state.mapped = !!i->table;
	state.pinned = i->pinned;
	importer_unlock(i);
	return copy_to_user(arg, &state, sizeof(state)) ? -EFAULT : 0;
}

static int importer_resolve(struct importer *i, u64 __user *arg)
{
	u64 address;

	if (copy_from_user(&address, arg, sizeof(address)))
		return -EFAULT;
	if (!i->pdev)
		return -ENXIO;
	address = importer_physical(i, address);
	return copy_to_user(arg, &address, sizeof(address)) ? -EFAULT : 0;
}

static int importer_slow(struct importer *i, const u32 __user *arg)
{
	u32 slow;

	if (get_user(slow, arg))
		return -EFAULT;
	importer_lock(i);
	i->slow = slow;
	importer_unlock(i);
	return 0;
}

struct importer_fence {
	struct dma_fence base;		/* first, as dma_fence_free() frees it */
	spinlock_t lock;		/* the fence's own */
};

static const char *importer_fence_name(struct dma_fence *fence)
{
	return "importer";
}

/* Reservation objects keep fences for longer than the file is open. */
static void importer_fence_release(struct dma_fence *fence)
{
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops importer_fence_ops = {
	.get_driver_name = importer_fence_name,
	.get_timeline_name = importer_fence_name,
	.release = importer_fence_release,
};

static struct dma_fence *importer_fence_make(void)
{
	struct importer_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return NULL;
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &importer_fence_ops, &fence->lock,
		       dma_fence_context_alloc(1), 1);
	return &fence->base;
}

static int importer_fence(struct importer *i, const u32 __user *arg)
{
	struct dma_fence *fence;
	u32 usage;
	int ret;

	if (get_user(usage, arg))
		return -EFAULT;
	if (usage > IMPORTER_BOOKKEEPS)
		return -EINVAL;
	if (!i->attach)
		return -ENXIO;
	if (i->fence)
		return -EBUSY;
	fence = importer_fence_make();
	if (!fence)
		return -ENOMEM;
	importer_lock(i);
	ret = dma_resv_reserve_fences(i->attach->dmabuf->resv, 1);
	if (!ret)
		dma_resv_add_fence(i->attach->dmabuf->resv, fence, usage == IMPORTER_READS ?
				   DMA_RESV_USAGE_READ : DMA_RESV_USAGE_BOOKKEEP);
	importer_unlock(i);
	i->fence = fence;
	if (ret)
		importer_signal(i);
	return ret;
}

static int importer_change(struct importer *i, unsigned int cmd)
{
	int ret = 0;

	if (!i->attach)
		return -ENXIO;
	importer_lock(i);
	if (cmd == IMPORTER_MAP)
		ret = importer_map(i);
	else
		importer_unmap(i);
	importer_unlock(i);
	return ret;
}

static int importer_do(struct importer *i, unsigned int cmd, void __user *arg)
{
	switch (cmd) {
	case IMPORTER_SETUP:
		return importer_setup(i, arg);
	case IMPORTER_ATTACH:
		return importer_attach(i, arg);
	case IMPORTER_MAP:
	case IMPORTER_UNMAP:
		return importer_change(i, cmd);
	case IMPORTER_DETACH:
		importer_detach(i);
		return 0;
	case IMPORTER_SEGMENTS:
		return importer_segments(i, arg);
	case IMPORTER_CHECK:
		return importer_check(i, arg);
	case IMPORTER_STATE:
		return importer_state(i, arg);
	case IMPORTER_SLOW:
		return importer_slow(i, arg);
	case IMPORTER_FENCE:
		return importer_fence(i, arg);
	case IMPORTER_SIGNAL:
		importer_signal(i);
		return 0;
	case IMPORTER_RESOLVE:
		return importer_resolve(i, arg);
	default:
		return -ENOTTY;
	}
}

static long importer_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct importer *i = file->private_data;
	int ret;

	mutex_lock(&i->lock);
	ret = importer_do(i, cmd, (void __user *)arg);
	mutex_unlock(&i->lock);
	return ret;
}

static int importer_open(struct inode *inode, struct file *file)
{
	struct importer *i = kzalloc(sizeof(*i), GFP_KERNEL);

	if (!i)
		return -ENOMEM;
	mutex_init(&i->lock);
	file->private_data = i;
	return 0;
}

static int importer_release(struct inode *inode, struct file *file)
{
	struct importer *i = file->private_data;

	importer_detach(i);
	if (i->pdev) {
		importer_restore(i);
		pci_dev_put(i->pdev);
	}
	mutex_destroy(&i->lock);
	kfree(i);
	return 0;
}

static const struct file_operations importer_fops = {
	.owner = THIS_MODULE,
	.open = importer_open,
	.release = importer_release,
	.unlocked_ioctl = importer_ioctl,
};

static struct miscdevice importer_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "importer",
	.fops = &importer_fops,
	.mode = 0600,
};
module_misc_device(importer_device);

MODULE_DESCRIPTION("Imports DMA-bufs as drivers of different makes do");
MODULE_AUTHOR("The vpeer maintainers");
MODULE_LICENSE("GPL");
