// SPDX-License-Identifier: GPL-2.0-only
/* The control node /dev/vpeerctl: query, attach, detach. */
#include <linux/capability.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/string.h>

#include "vpeer.h"

static int vpeer_control_attach(void *context, void *data)
{
	struct vpeer_attach *arg = data;

	if (!capable(CAP_SYS_ADMIN))
		return vpeer_refuse(&arg->reason, VPEER_REASON_NOT_PERMITTED);
	if (arg->flags & ~(VPEER_ATTACH_FORCE | VPEER_ATTACH_CLEAN |
			   VPEER_ATTACH_FOREIGN) || arg->reserved)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	if (!(arg->flags & VPEER_ATTACH_FOREIGN) &&
	    (arg->range_offset || arg->range_size))
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	return vpeer_bar_attach(arg);
}

static int vpeer_control_detach(void *context, void *data)
{
	struct vpeer_detach *arg = data;

	if (!capable(CAP_SYS_ADMIN))
		return vpeer_refuse(&arg->reason, VPEER_REASON_NOT_PERMITTED);
	if (arg->flags || memchr_inv(arg->reserved, 0, sizeof(arg->reserved)))
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	return vpeer_bar_detach(arg);
}

static const struct vpeer_ioctl vpeer_control_ioctls[] = {
	{ VPEER_IOCTL_QUERY, sizeof(struct vpeer_query), vpeer_ioctl_query },
	{ VPEER_IOCTL_ATTACH, sizeof(struct vpeer_attach),
	  vpeer_control_attach },
	{ VPEER_IOCTL_DETACH, sizeof(struct vpeer_detach),
	  vpeer_control_detach },
};

static long vpeer_control_ioctl(struct file *filp, unsigned int cmd,
				unsigned long arg)
{
	return vpeer_ioctl_run(vpeer_control_ioctls,
			       ARRAY_SIZE(vpeer_control_ioctls), cmd,
			       (void __user *)arg, NULL);
}

static const struct file_operations vpeer_control_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.unlocked_ioctl = vpeer_control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static ssize_t quarantine_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	return vpeer_quarantine_show(buf);
}
static DEVICE_ATTR_RO(quarantine);

static struct attribute *vpeer_control_attrs[] = {
	&dev_attr_quarantine.attr,
	NULL,
};
ATTRIBUTE_GROUPS(vpeer_control);

static struct miscdevice vpeer_control = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "vpeerctl",
	.mode = 0660,
	.fops = &vpeer_control_fops,
	.groups = vpeer_control_groups,
};

int vpeer_control_init(void)
{
	return misc_register(&vpeer_control);
}

void vpeer_control_exit(void)
{
	misc_deregister(&vpeer_control);
}
