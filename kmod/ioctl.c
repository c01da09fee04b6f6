// SPDX-License-Identifier: GPL-2.0-only
/* What every ioctl has in common: argsz, zero tail, reason written back. */
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "vpeer.h"

/* Every structure of the interface starts with these. */
struct vpeer_header {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
};

union vpeer_argument {
	struct vpeer_header header;
	struct vpeer_query query;
	struct vpeer_attach attach;
	struct vpeer_detach detach;
	struct vpeer_aperture_info aperture_info;
	struct vpeer_window_alloc window_alloc;
	struct vpeer_window_op window_op;
	struct vpeer_window_info window_info;
	struct vpeer_dmabuf_call dmabuf;
	struct vpeer_event event;
	struct vpeer_path_report path_report;
};

static const struct vpeer_ioctl *vpeer_ioctl_find(const struct vpeer_ioctl *table,
						  size_t nr, unsigned int cmd)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (table[i].cmd == cmd)
			return &table[i];
	return NULL;
}

static int vpeer_ioctl_copy_in(union vpeer_argument *arg, size_t size,
			       u32 argsz, void __user *uarg)
{
	int ret;

	if (argsz < size)
		return -EINVAL;
	if (argsz > PAGE_SIZE)
		return -E2BIG;

	memset(arg, 0, sizeof(*arg));
	ret = copy_struct_from_user(arg, size, uarg, argsz);
	/* The size that was checked, whatever user space wrote since. */
	arg->header.argsz = argsz;
	arg->header.reason = VPEER_REASON_NONE;
	return ret;
}

/**
 * vpeer_ioctl_run - run one call of a table
 * @table: calls of the node
 * @nr: entries
 * @cmd: call number
 * @uarg: user's structure
 * @context: first argument of the handler
 *
 * The structure goes back to the user on failure too, with the reason.
 */
long vpeer_ioctl_run(const struct vpeer_ioctl *table, size_t nr,
		     unsigned int cmd, void __user *uarg, void *context)
{
	const struct vpeer_ioctl *call = vpeer_ioctl_find(table, nr, cmd);
	struct vpeer_header __user *header = uarg;
	union vpeer_argument arg;
	bool good;
	u32 argsz;
	int ret;

	if (!call)
		return -ENOTTY;
	if (get_user(argsz, &header->argsz))
		return -EFAULT;
	if (argsz < sizeof(*header))
		return -EINVAL;

	/* Also tells whether the result can be written, before the call acts. */
	ret = vpeer_ioctl_copy_in(&arg, call->size, argsz, uarg);
	if (put_user(ret ? VPEER_REASON_BAD_ARGUMENT : VPEER_REASON_NONE,
		     &header->reason))
		return -EFAULT;
	if (ret)
		return ret;

	ret = call->handler(context, &arg);
	good = !copy_to_user(uarg, &arg, call->size);
	if (!ret && call->end)
		call->end(&arg, good);
	return good ? ret : -EFAULT;
}

int vpeer_ioctl_query(void *context, void *data)
{
	struct vpeer_query *arg = data;

	if (arg->flags)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	arg->api_version = VPEER_API_VERSION;
	arg->features = VPEER_FEATURE_WINDOWS | VPEER_FEATURE_IMPLICIT_WINDOWS |
			VPEER_FEATURE_ROUTE_PAGES | VPEER_FEATURE_HUGE_PAGES |
			VPEER_FEATURE_GENERATIONS | VPEER_FEATURE_FOREIGN |
			VPEER_FEATURE_ROUTE_DMABUF | VPEER_FEATURE_EVENTS |
			VPEER_FEATURE_UNMAP_GENERATIONS |
			VPEER_FEATURE_MORE_EVENTS | VPEER_FEATURE_PATH_REPORT;
	arg->granule = VPEER_GRANULE;
	arg->max_bytes_per_user = READ_ONCE(vpeer_max_bytes_per_user);
	strscpy(arg->module_version, VPEER_VERSION,
		sizeof(arg->module_version));
	return 0;
}
