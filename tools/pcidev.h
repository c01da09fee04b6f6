/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PCI functions as sysfs shows them. @sysfs is where sysfs is mounted. */
#ifndef PCIDEV_H
#define PCIDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "../lib/vpeer.h"

#define PCI_BARS 6

struct pci_bar {
	uint64_t start;	/* CPU address; 0 when unassigned */
	uint64_t size;	/* bytes; 0 when absent */
	bool memory;
	bool prefetchable;
	bool wide;		/* 64-bit */
	bool unassigned;	/* has a size but no address */
};

/* A BAR that can be attached. */
struct candidate {
	struct vpeer_pci_address pci;
	unsigned int bar;
	uint64_t size;
	char driver[64];	/* empty when none is bound */
};

/* One line of a function's "resource" file; 0 or -EINVAL. */
int pci_parse_resource(const char *line, struct pci_bar *bar);

/* 0 or a negative errno. */
int pci_bars(const char *sysfs, const char *address, struct pci_bar bars[PCI_BARS]);

/*
 * As the module would refuse BAR @number, or VPEER_BAR_AUTO, of a function
 * that has another driver, from what sysfs tells; VPEER_REASON_NONE if the
 * driver is all that is in the way.
 */
enum vpeer_reason pci_judge_bar(const char *sysfs, const char *address, unsigned int number,
				bool force);

/* Name of the driver that owns the function, empty for none. */
void pci_driver(const char *sysfs, const char *address, char *driver, size_t size);

/*
 * Prefetchable memory BARs of at least 2 MiB on functions vpeer does not own,
 * the largest of each function. Sorted by address; the caller frees the array.
 */
int pci_candidates(const char *sysfs, struct candidate **candidates, size_t *count);

/*
 * The PCI function nearest to a device: the last component of the resolved
 * @path that is a PCI address. -ENOENT when there is none.
 */
int pci_of_path(const char *path, char address[VPEER_PCI_LEN]);

#endif /* PCIDEV_H */
