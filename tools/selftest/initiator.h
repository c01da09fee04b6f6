/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices that can do DMA to an aperture: RDMA devices and disks. */
#ifndef INITIATOR_H
#define INITIATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../lib/vpeer.h"

enum initiator_kind { INITIATOR_RDMA, INITIATOR_BLOCK };

struct scratch;

struct initiator {
	enum initiator_kind kind;
	char name[64];			/* "mlx5_0", "nvme0n1" */
	char pci[VPEER_PCI_LEN];	/* empty: no PCI function does the DMA */
	char netdev[32];		/* soft RDMA: the network device it runs on */
	char netdev_pci[VPEER_PCI_LEN];	/* and its PCI function, if it has one */
	char domain[32];		/* IOMMU domain type, empty when there is no IOMMU */
	bool soft;			/* RDMA in software */
	bool translating;		/* its addresses go through the IOMMU */
	bool named;			/* on the command line */
	bool in_use;			/* disk: mounted or otherwise claimed */
	dev_t number;			/* disk: of its node */
	uint32_t block;			/* disk: bytes of a logical block */
	uint64_t size;			/* disk: bytes */
	struct scratch *scratch;	/* disk: NULL without one */
};

struct initiator_list {
	struct initiator *items;
	size_t count;
};

/*
 * Both append to @list. @sysfs and @dev are where sysfs and devtmpfs are
 * mounted. 0 or a negative errno; no subsystem means none found.
 */
int initiators_find_rdma(const char *sysfs, struct initiator_list *list);
int initiators_find_block(const char *sysfs, const char *dev, struct initiator_list *list);

struct initiator *initiator_by_name(const struct initiator_list *list, enum initiator_kind kind,
				    const char *name);

/* Fills domain and translating from pci. */
void initiator_read_iommu(const char *sysfs, struct initiator *initiator);

#endif /* INITIATOR_H */
