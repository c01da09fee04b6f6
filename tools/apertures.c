// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "apertures.h"

#include <string.h>

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
