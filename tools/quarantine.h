/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BAR ranges whose DMA pins outlasted their aperture. */
#ifndef QUARANTINE_H
#define QUARANTINE_H

#include "../lib/vpeer.h"

struct quarantine {
	struct vpeer_pci_address pci;
	unsigned int bar;
	uint64_t start;		/* CPU address */
	uint64_t size;
	uint64_t pinned;
};

/* "0000:01:00.0 bar2 0x380000000000 67108864 1048576"; 0 or -EINVAL. */
int quarantine_parse(const char *line, struct quarantine *range);

/* The caller frees the array; nothing without the module. 0 or a negative errno. */
int quarantine_read(const char *sysfs, struct quarantine **ranges, size_t *count);

#endif /* QUARANTINE_H */
