// SPDX-License-Identifier: GPL-2.0-only
/* The node of a function and its open files. */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "neighbour.h"

static int neighbour_open(struct inode *inode, struct file *filp)
{
	struct neighbour *n = container_of(filp->private_data, struct neighbour, misc);
	struct neighbour_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	kref_get(&n->refs);
	file->owner = n;
	file->mapping = filp->f_mapping;
	filp->private_data = file;
	mutex_lock(&n->lock);
	list_add(&file->node, &n->files);
	mutex_unlock(&n->lock);
	return 0;
}

static int neighbour_release(struct inode *inode, struct file *filp)
{
	struct neighbour_file *file = filp->private_data;
	struct neighbour *n = file->owner;

	mutex_lock(&n->lock);
	neighbour_unmap(file);
	list_del(&file->node);
	mutex_unlock(&n->lock);
	kfree(file);
	neighbour_put(n);
	return 0;
}

/* The lock is not held while user memory is touched: mmap() takes it too. */
static int neighbour_transfer(struct neighbour_file *file, void *memory,
			      size_t len, loff_t place, bool write)
{
	void __iomem *io;
	int ret = -ENXIO;

	mutex_lock(&file->owner->lock);
	io = neighbour_address(file, place, len);
	if (io) {
		if (write)
			memcpy_toio(io, memory, len);
		else
			memcpy_fromio(memory, io, len);
		ret = 0;
	}
	mutex_unlock(&file->owner->lock);
	return ret;
}

static ssize_t neighbour_read(struct file *filp, char __user *to, size_t len,
			      loff_t *place)
{
	void *memory;
	int ret;

	len = min_t(size_t, len, SZ_2M);
	memory = kvmalloc(len, GFP_KERNEL);
	if (!memory)
		return -ENOMEM;
	ret = neighbour_transfer(filp->private_data, memory, len, *place, false);
	if (!ret && copy_to_user(to, memory, len))
		ret = -EFAULT;
	kvfree(memory);
	if (ret)
		return ret;
	*place += len;
	return len;
}

static ssize_t neighbour_write(struct file *filp, const char __user *from,
			       size_t len, loff_t *place)
{
	void *memory;
	int ret;

	len = min_t(size_t, len, SZ_2M);
	memory = vmemdup_user(from, len);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	ret = neighbour_transfer(filp->private_data, memory, len, *place, true);
	kvfree(memory);
	if (ret)
		return ret;
	*place += len;
	return len;
}

static int neighbour_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct neighbour_file *file = filp->private_data;
	int ret;

	mutex_lock(&file->owner->lock);
	ret = neighbour_map_user(file, vma);
	mutex_unlock(&file->owner->lock);
	return ret;
}

static long neighbour_ioctl_map(struct neighbour_file *file, void __user *uarg)
{
	struct neighbour_map map;
	int ret;

	if (copy_from_user(&map, uarg, sizeof(map)))
		return -EFAULT;
	mutex_lock(&file->owner->lock);
	ret = neighbour_map(file, &map);
	mutex_unlock(&file->owner->lock);
	return ret;
}

static long neighbour_ioctl_type(struct neighbour_file *file, void __user *uarg)
{
	struct neighbour_type type;
	int ret;

	if (copy_from_user(&type, uarg, sizeof(type)))
		return -EFAULT;
	ret = neighbour_type(file, &type);
	if (!ret && copy_to_user(uarg, &type, sizeof(type)))
		ret = -EFAULT;
	return ret;
}

static long neighbour_ioctl_events(struct neighbour *n, void __user *uarg)
{
	struct neighbour_events events = {
		.reset_prepare = atomic_read(&n->reset_prepare),
		.reset_done = atomic_read(&n->reset_done),
		.error_detected = atomic_read(&n->error_detected),
	};

	return copy_to_user(uarg, &events, sizeof(events)) ? -EFAULT : 0;
}

static long neighbour_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct neighbour_file *file = filp->private_data;
	void __user *uarg = (void __user *)arg;

	switch (cmd) {
	case NEIGHBOUR_MAP:
		return neighbour_ioctl_map(file, uarg);
	case NEIGHBOUR_TYPE:
		return neighbour_ioctl_type(file, uarg);
	case NEIGHBOUR_EVENTS:
		return neighbour_ioctl_events(file->owner, uarg);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations neighbour_fops = {
	.owner = THIS_MODULE,
	.open = neighbour_open,
	.release = neighbour_release,
	.read = neighbour_read,
	.write = neighbour_write,
	.mmap = neighbour_mmap,
	.unlocked_ioctl = neighbour_ioctl,
	.llseek = default_llseek,
};

int neighbour_node_add(struct neighbour *n)
{
	n->misc.name = kasprintf(GFP_KERNEL, "neighbour-%s", pci_name(n->pdev));
	if (!n->misc.name)
		return -ENOMEM;
	n->misc.minor = MISC_DYNAMIC_MINOR;
	n->misc.fops = &neighbour_fops;
	n->misc.parent = &n->pdev->dev;
	return misc_register(&n->misc);
}

void neighbour_node_remove(struct neighbour *n)
{
	struct neighbour_file *file;

	misc_deregister(&n->misc);
	mutex_lock(&n->lock);
	n->gone = true;
	list_for_each_entry(file, &n->files, node)
		neighbour_unmap(file);
	mutex_unlock(&n->lock);
}
