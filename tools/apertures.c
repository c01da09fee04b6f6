// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "apertures.h"

#include <errno.h>
#include <string.h>

#include "../lib/sysfs.h"
#include "util.h"

size_t apertures_pick(const struct vpeer_pci_address *address, struct vpeer_entry *entries,
		      size_t count)
{
	size_t picked = 0;

	for (size_t i = 0; i < count; i++)
		if (!memcmp(&entries[i].pci, address, sizeof(*address)))
			entries[picked++] = entries[i];
	return picked;
}

size_t apertures_pick_pinned(struct vpeer_entry *entries, size_t count)
{
	size_t picked = 0;

	for (size_t i = 0; i < count; i++)
		if (entries[i].bytes_pinned)
			entries[picked++] = entries[i];
	return picked;
}

int apertures_of(const struct vpeer_pci_address *address, struct vpeer_entry **entries,
		 size_t *count, struct vpeer_error *error)
{
	int err;

	*entries = NULL;
	*count = 0;
	err = vpeer_list(entries, count, error);
	if (err)
		return err;
	*count = apertures_pick(address, *entries, *count);
	if (*count)
		return 0;
	return vpeer_fail_unattached(error, address);
}

/* 1, 0 if the aperture is no more, or a negative errno. */
static int read_dmabufs(const char *sysfs, const struct vpeer_entry *entry,
			struct dmabufs *dmabufs)
{
	int err = vpeer_sysfs_u64(&dmabufs->count, "%s/class/vpeer/vpeer%u/dmabufs", sysfs,
				  entry->index);

	if (!err)
		err = vpeer_sysfs_u64(&dmabufs->bytes_mapped,
				      "%s/class/vpeer/vpeer%u/dmabuf_bytes_mapped", sysfs,
				      entry->index);
	if (!err)
		return 1;
	return vpeer_sysfs_exists("%s/class/vpeer/vpeer%u", sysfs, entry->index) ? err : 0;
}

int apertures_dmabufs(const char *sysfs, struct vpeer_entry *entries, size_t *count,
		      struct dmabufs **dmabufs)
{
	size_t left = 0;
	int ret;

	*dmabufs = *count ? xrealloc(NULL, *count, sizeof(**dmabufs)) : NULL;
	for (size_t i = 0; i < *count; i++) {
		ret = read_dmabufs(sysfs, &entries[i], &(*dmabufs)[left]);
		if (ret < 0)
			return ret;
		if (ret)
			entries[left++] = entries[i];
	}
	*count = left;
	return 0;
}
