// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports DMA-bufs of ordinary memory that moves, or is revoked, when asked:
 * what exporters of device memory do, at times of a test's choice.
 */
#include <linux/dma-resv.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "mover.h"

vrnic_compat_import_dma_buf();

struct mover_pages {
	unsigned int count;
	struct page *page[];
};

/* Its DMA-buf's reservation lock protects all but what is set once. */
struct mover {
	struct kref refs;		/* of file and DMA-buf */
	struct mutex export_lock;
	struct dma_buf *dmabuf;		/* the file has a reference */
	struct mover_pages *now;
	struct mover_pages *old;
	unsigned int maps;
	bool revoked;
};

static void mover_pages_free(struct mover_pages *pages)
{
	unsigned int i;

	for (i = 0; pages && i < pages->count; i++)
		__free_page(pages->page[i]);
	kvfree(pages);
}

static struct mover_pages *mover_pages_alloc(unsigned int count)
{
	struct mover_pages *pages = kvzalloc(struct_size(pages, page, count), GFP_KERNEL);

	if (!pages)
		return NULL;
	for (; pages->count < count; pages->count++) {
		pages->page[pages->count] = alloc_page(GFP_HIGHUSER | __GFP_ZERO);
		if (!pages->page[pages->count]) {
			mover_pages_free(pages);
			return NULL;
		}
	}
	return pages;
}

static void mover_free(struct kref *refs)
{
	struct mover *m = container_of(refs, struct mover, refs);

	mover_pages_free(m->now);
	mover_pages_free(m->old);
	mutex_destroy(&m->export_lock);
	kfree(m);
}

static struct sg_table *mover_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct mover *m = attach->dmabuf->priv;
	struct sg_table *table;
	int ret;

	if (m->revoked)
		return ERR_PTR(-ENODEV);
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table_from_pages(table, m->now->page, m->now->count, 0,
					(size_t)m->now->count * PAGE_SIZE, GFP_KERNEL);
	if (ret)
		goto free;
	ret = dma_map_sgtable(attach->dev, table, dir, 0);
	if (ret)
		goto free_table;
	m->maps++;
	return table;

free_table:
	sg_free_table(table);
free:
	kfree(table);
	return ERR_PTR(ret);
}

static void mover_unmap(struct dma_buf_attachment *attach, struct sg_table *table,
			enum dma_data_direction dir)
{
	struct mover *m = attach->dmabuf->priv;

	m->maps--;
	dma_unmap_sgtable(attach->dev, table, dir, 0);
	sg_free_table(table);
	kfree(table);
}

/* There, so that importers are told and mappings end before their attachment. */
static int mover_pin(struct dma_buf_attachment *attach)
{
	struct mover *m = attach->dmabuf->priv;

	return m->revoked ? -ENODEV : 0;
}

static void mover_unpin(struct dma_buf_attachment *attach)
{
}

static void mover_dmabuf_release(struct dma_buf *dmabuf)
{
	struct mover *m = dmabuf->priv;

	kref_put(&m->refs, mover_free);
}

static const struct dma_buf_ops mover_dmabuf_ops = {
	.pin = mover_pin,
	.unpin = mover_unpin,
	.map_dma_buf = mover_map,
	.unmap_dma_buf = mover_unmap,
	.release = mover_dmabuf_release,
};

static struct dma_buf *mover_make(struct mover *m, u32 size)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *dmabuf;

	if (!size || size % PAGE_SIZE || size > MOVER_MAX_SIZE)
		return ERR_PTR(-EINVAL);
	m->now = mover_pages_alloc(size / PAGE_SIZE);
	if (!m->now)
		return ERR_PTR(-ENOMEM);
	info.ops = &mover_dmabuf_ops;
	info.size = size;
	info.flags = O_RDWR | O_CLOEXEC;
	info.priv = m;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		mover_pages_free(m->now);
		m->now = NULL;
		return dmabuf;
	}
	kref_get(&m->refs);
	return dmabuf;
}

static int mover_export(struct mover *m, const u32 __user *arg)
{
	struct dma_buf *dmabuf;
	u32 size;
	int fd;

	if (get_user(size, arg))
		return -EFAULT;
	mutex_lock(&m->export_lock);
	dmabuf = m->dmabuf ? ERR_PTR(-EBUSY) : mover_make(m, size);
	if (!IS_ERR(dmabuf))
		m->dmabuf = dmabuf;
	mutex_unlock(&m->export_lock);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	get_dma_buf(dmabuf);
	fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (fd < 0)
		dma_buf_put(dmabuf);
	return fd;
}

/* NULL before it is made. */
static struct dma_buf *mover_dmabuf(struct mover *m)
{
	struct dma_buf *dmabuf;

	mutex_lock(&m->export_lock);
	dmabuf = m->dmabuf;
	mutex_unlock(&m->export_lock);
	return dmabuf;
}

static int mover_take_back(struct mover *m)
{
	vrnic_compat_notify(m->dmabuf);
	return m->maps ? -EBUSY : 0;
}

static int mover_move(struct mover *m)
{
	struct mover_pages *pages = mover_pages_alloc(m->now->count);
	unsigned int i;
	int ret;

	if (!pages)
		return -ENOMEM;
	ret = mover_take_back(m);
	if (ret) {
		mover_pages_free(pages);
		return ret;
	}
	for (i = 0; i < pages->count; i++)
		copy_highpage(pages->page[i], m->now->page[i]);
	mover_pages_free(m->old);
	m->old = m->now;
	m->now = pages;
	return 0;
}

static int mover_revoke(struct mover *m)
{
	int ret;

	m->revoked = true;
	ret = mover_take_back(m);
	if (ret)
		m->revoked = false;
	return ret;
}

static int mover_change(struct mover *m, unsigned int cmd)
{
	switch (cmd) {
	case MOVER_MOVE:
		return mover_move(m);
	case MOVER_REVOKE:
		return mover_revoke(m);
	case MOVER_RESTORE:
		m->revoked = false;
		return 0;
	case MOVER_MAPPED:
		return m->maps;
	default:
		return -ENOTTY;
	}
}

static long mover_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct mover *m = file->private_data;
	struct dma_buf *dmabuf;
	int ret;

	if (cmd == MOVER_EXPORT)
		return mover_export(m, (const u32 __user *)arg);
	dmabuf = mover_dmabuf(m);
	if (!dmabuf)
		return -ENXIO;
	dma_resv_lock(dmabuf->resv, NULL);
	ret = mover_change(m, cmd);
	dma_resv_unlock(dmabuf->resv);
	return ret;
}

static int mover_copy(struct mover *m, char *bytes, loff_t at, size_t size, bool write)
{
	struct mover_pages *pages = at >= MOVER_OLD ? m->old : m->now;
	size_t offset = at >= MOVER_OLD ? at - MOVER_OLD : at;
	struct page *page;

	if (!pages || offset >> PAGE_SHIFT >= pages->count)
		return 0;
	size = min(size, PAGE_SIZE - offset_in_page(offset));
	page = pages->page[offset >> PAGE_SHIFT];
	if (write)
		memcpy_to_page(page, offset_in_page(offset), bytes, size);
	else
		memcpy_from_page(bytes, page, offset_in_page(offset), size);
	return size;
}

/* At most what lies in one page; a page in between, as users' memory is not touched under the lock. */
static ssize_t mover_access(struct file *file, char __user *to, const char __user *from,
			    size_t size, loff_t *at)
{
	struct mover *m = file->private_data;
	struct dma_buf *dmabuf = mover_dmabuf(m);
	char *bytes;
	int ret = -EFAULT;

	if (!dmabuf)
		return -ENXIO;
	size = min_t(size_t, size, PAGE_SIZE);
	bytes = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (!bytes)
		return -ENOMEM;
	if (from && copy_from_user(bytes, from, size))
		goto free;
	dma_resv_lock(dmabuf->resv, NULL);
	ret = mover_copy(m, bytes, *at, size, from);
	dma_resv_unlock(dmabuf->resv);
	if (to && copy_to_user(to, bytes, ret))
		ret = -EFAULT;
	if (ret > 0)
		*at += ret;
free:
	kfree(bytes);
	return ret;
}

static ssize_t mover_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	return mover_access(file, to, NULL, size, at);
}

static ssize_t mover_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	return mover_access(file, NULL, from, size, at);
}

static int mover_open(struct inode *inode, struct file *file)
{
	struct mover *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return -ENOMEM;
	kref_init(&m->refs);
	mutex_init(&m->export_lock);
	file->private_data = m;
	return 0;
}

static int mover_release(struct inode *inode, struct file *file)
{
	struct mover *m = file->private_data;

	if (m->dmabuf)
		dma_buf_put(m->dmabuf);
	kref_put(&m->refs, mover_free);
	return 0;
}

static const struct file_operations mover_fops = {
	.owner = THIS_MODULE,
	.open = mover_open,
	.release = mover_release,
	.read = mover_read,
	.write = mover_write,
	.llseek = default_llseek,
	.unlocked_ioctl = mover_ioctl,
};

static struct miscdevice mover_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "mover",
	.fops = &mover_fops,
	.mode = 0600,
};
module_misc_device(mover_device);

MODULE_DESCRIPTION("DMA-bufs that move or are revoked when asked");
MODULE_AUTHOR("The vpeer maintainers");
MODULE_LICENSE("GPL");
