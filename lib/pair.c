// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "topology.h"

static int fail_memory(struct vpeer_error *error, const struct vpeer_pci_address *memory)
{
	char pci[VPEER_PCI_LEN];

	return vpeer_fail_reason(error, ENODEV, VPEER_REASON_NO_DEVICE,
				 vpeer_pci_format(memory, pci), "cannot tell what is near");
}

static int read_device(const char *sysfs, const char *name, struct vpeer_place *place,
		       struct vpeer_pair_info *info, struct vpeer_error *error)
{
	int err = vpeer_rdma_function(sysfs, name, &info->device);

	if (err == -ENODEV)
		return vpeer_fail_reason(error, ENODEV, VPEER_REASON_NO_RDMA_DEVICE, name,
					 "cannot tell what is near");
	info->device_known = !err && !vpeer_place_read(sysfs, &info->device, place);
	return 0;
}

int vpeer_pair_read(const char *sysfs, const struct vpeer_pci_address *memory,
		    const char *device, struct vpeer_pair_info *info, struct vpeer_error *error)
{
	struct vpeer_place from, to = { .node = -1 };
	int err;

	vpeer_error_clear(error);
	*info = (struct vpeer_pair_info){ .memory = *memory };
	if (vpeer_place_read(sysfs, memory, &from))
		return fail_memory(error, memory);
	err = read_device(sysfs, device, &to, info, error);
	if (err)
		return err;
	info->memory_node = from.node;
	info->device_node = to.node;
	if (info->device_known)
		info->distance = vpeer_place_distance(sysfs, &from, &to, &info->common);
	snprintf(info->device_name, sizeof(info->device_name), "%s", device);
	return 0;
}
