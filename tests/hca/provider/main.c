// SPDX-License-Identifier: GPL-2.0-only
/* How libibverbs finds vrnic. */
#include <stdlib.h>

#include "vrnic.h"

static const struct verbs_match_ent matches[] = {
	VERBS_PCI_MATCH(VRNIC_VENDOR, VRNIC_DEVICE, NULL),
	{},
};

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs)
{
	(void)sysfs;
	return calloc(1, sizeof(struct verbs_device));
}

static void uninit_device(struct verbs_device *device)
{
	free(device);
}

static const struct verbs_device_ops device_ops = {
	.name = "vrnic",
	.match_min_abi_version = VRNIC_ABI_VERSION,
	.match_max_abi_version = VRNIC_ABI_VERSION,
	.match_table = matches,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
	.alloc_context = vrnic_alloc_context,
};
PROVIDER_DRIVER(vrnic, device_ops);
