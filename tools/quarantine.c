// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "quarantine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/sysfs.h"
#include "util.h"

int quarantine_parse(const char *line, struct quarantine *range)
{
	char address[VPEER_PCI_LEN];
	int end = 0;

	if (sscanf(line, "%23s bar%u %" SCNx64 " %" SCNu64 " %" SCNu64 "%n", address, &range->bar,
		   &range->start, &range->size, &range->pinned, &end) != 5 ||
	    line[end])
		return -EINVAL;
	return vpeer_pci_parse(address, &range->pci);
}

int quarantine_read(const char *sysfs, struct quarantine **ranges, size_t *count)
{
	char text[8192], *rest = text, *line; /* an attribute has a page at most */
	struct quarantine range;
	int err;

	*ranges = NULL;
	*count = 0;
	err = vpeer_sysfs_read(text, sizeof(text), "%s/class/misc/vpeerctl/quarantine", sysfs);
	if (err)
		return err == -ENOENT ? 0 : err;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		err = quarantine_parse(line, &range);
		if (err) {
			free(*ranges);
			*ranges = NULL;
			*count = 0;
			return err;
		}
		*ranges = xrealloc(*ranges, *count + 1, sizeof(range));
		(*ranges)[(*count)++] = range;
	}
	return 0;
}
