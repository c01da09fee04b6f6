// SPDX-License-Identifier: GPL-2.0-only
/* The nodes /dev/vpeerN. */
#include <linux/cred.h>
#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "vpeer.h"

#define VPEER_MAX_APERTURES	256

static dev_t vpeer_devt;
static DEFINE_IDA(vpeer_ida);

static struct class vpeer_class = {
	.name = "vpeer",
	.dev_groups = vpeer_aperture_groups,
	.devnode = vpeer_compat_devnode,
};

static struct vpeer_file *vpeer_file_create(struct vpeer_aperture *ap)
{
	struct vpeer_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return ERR_PTR(-ENOMEM);
	if (vpeer_generation_init(file)) {
		kfree(file);
		return ERR_PTR(-ENOMEM);
	}
	file->ap = ap;
	file->uid = current_fsuid();
	INIT_LIST_HEAD(&file->windows);
	return file;
}

static int vpeer_open(struct inode *inode, struct file *filp)
{
	struct vpeer_aperture *ap = container_of(inode->i_cdev,
						 struct vpeer_aperture, cdev);
	struct vpeer_file *file;

	/* Late openers get no further than a look that says "gone". */
	if (READ_ONCE(ap->gone))
		return -ENODEV;
	file = vpeer_file_create(ap);
	if (IS_ERR(file))
		return PTR_ERR(file);

	file->filp = filp;
	filp->f_mapping = ap->inode->i_mapping;
	filp->private_data = file;
	return nonseekable_open(inode, filp);
}

static int vpeer_release(struct inode *inode, struct file *filp)
{
	struct vpeer_file *file = filp->private_data;

	vpeer_file_windows_release(file);
	vpeer_event_exit(file);
	vpeer_generation_exit(file);
	kfree(file);
	return 0;
}

static int vpeer_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct vpeer_file *file = filp->private_data;

	if (vma->vm_pgoff == VPEER_MMAP_GENERATION >> PAGE_SHIFT)
		return vpeer_generation_mmap(file, vma);
	return vpeer_pages_mmap(file, vma);
}

static int vpeer_ioctl_aperture_info(void *context, void *data)
{
	struct vpeer_file *file = context;
	struct vpeer_aperture_info *arg = data;
	struct vpeer_aperture *ap = file->ap;

	if (arg->flags || arg->reserved)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);

	arg->domain = pci_domain_nr(ap->pdev->bus);
	arg->bus = ap->pdev->bus->number;
	arg->devfn = ap->pdev->devfn;
	arg->bar = ap->bar;
	arg->memory_type = ap->memtype.uncached ? VPEER_MEMORY_UNCACHED :
					  VPEER_MEMORY_WRITE_COMBINING;
	arg->size = ap->size;
	arg->bar_offset = ap->bar_offset;
	arg->kind = ap->foreign ? VPEER_APERTURE_FOREIGN : VPEER_APERTURE_OWNED;
	arg->granule = VPEER_GRANULE;
	arg->generation_offset = VPEER_MMAP_GENERATION;
	arg->bytes_pinned = vpeer_aperture_pinned(ap);

	down_read(&ap->lock);
	arg->bytes_free = (u64)ap->nr_free * VPEER_GRANULE;
	arg->windows = ap->nr_windows;
	if (ap->gone)
		vpeer_refuse(&arg->reason, VPEER_REASON_GONE);
	up_read(&ap->lock);
	return arg->reason ? -ENODEV : 0;
}

static const struct vpeer_ioctl vpeer_ioctls[] = {
	{ VPEER_IOCTL_QUERY, sizeof(struct vpeer_query), vpeer_ioctl_query },
	{ VPEER_IOCTL_APERTURE_INFO, sizeof(struct vpeer_aperture_info),
	  vpeer_ioctl_aperture_info },
	{ VPEER_IOCTL_WINDOW_ALLOC, sizeof(struct vpeer_window_alloc),
	  vpeer_ioctl_window_alloc },
	{ VPEER_IOCTL_WINDOW_FREE, sizeof(struct vpeer_window_op),
	  vpeer_ioctl_window_free },
	{ VPEER_IOCTL_WINDOW_REVOKE, sizeof(struct vpeer_window_op),
	  vpeer_ioctl_window_revoke },
	{ VPEER_IOCTL_WINDOW_INFO, sizeof(struct vpeer_window_info),
	  vpeer_ioctl_window_info },
	{ VPEER_IOCTL_DMABUF, sizeof(struct vpeer_dmabuf), vpeer_ioctl_dmabuf,
	  vpeer_ioctl_dmabuf_end },
	{ VPEER_IOCTL_EVENT, sizeof(struct vpeer_event), vpeer_ioctl_event },
	{ VPEER_IOCTL_PATH_REPORT, sizeof(struct vpeer_path_report),
	  vpeer_ioctl_path_report },
};

static long vpeer_unlocked_ioctl(struct file *filp, unsigned int cmd,
				 unsigned long arg)
{
	return vpeer_ioctl_run(vpeer_ioctls, ARRAY_SIZE(vpeer_ioctls), cmd,
			       (void __user *)arg, filp->private_data);
}

static const struct file_operations vpeer_fops = {
	.owner = THIS_MODULE,
	.open = vpeer_open,
	.release = vpeer_release,
	.mmap = vpeer_mmap,
	.get_unmapped_area = thp_get_unmapped_area,
	.unlocked_ioctl = vpeer_unlocked_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

int vpeer_chardev_add(struct vpeer_aperture *ap)
{
	int index, ret;

	index = ida_alloc_max(&vpeer_ida, VPEER_MAX_APERTURES - 1, GFP_KERNEL);
	if (index < 0)
		return index;

	ap->dev.class = &vpeer_class;
	ap->dev.parent = &ap->pdev->dev;
	ap->dev.devt = vpeer_devt + index;
	ret = dev_set_name(&ap->dev, "vpeer%d", index);
	if (ret)
		goto free_index;

	cdev_init(&ap->cdev, &vpeer_fops);
	ap->cdev.owner = THIS_MODULE;
	ret = cdev_device_add(&ap->cdev, &ap->dev);
	if (ret)
		goto free_index;
	return 0;

free_index:
	ida_free(&vpeer_ida, index);
	return ret;
}

/* N of /dev/vpeerN */
unsigned int vpeer_chardev_index(const struct vpeer_aperture *ap)
{
	return ap->dev.devt - vpeer_devt;
}

void vpeer_chardev_remove(struct vpeer_aperture *ap)
{
	cdev_device_del(&ap->cdev, &ap->dev);
	ida_free(&vpeer_ida, vpeer_chardev_index(ap));
}

int vpeer_chardev_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&vpeer_devt, 0, VPEER_MAX_APERTURES, "vpeer");
	if (ret)
		return ret;
	ret = class_register(&vpeer_class);
	if (ret)
		unregister_chrdev_region(vpeer_devt, VPEER_MAX_APERTURES);
	return ret;
}

void vpeer_chardev_exit(void)
{
	class_unregister(&vpeer_class);
	unregister_chrdev_region(vpeer_devt, VPEER_MAX_APERTURES);
	ida_destroy(&vpeer_ida);
}
