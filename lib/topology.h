/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where PCI functions and RDMA devices are, by the sysfs tree mounted at
 * @sysfs; not exported.
 */
#ifndef VPEER_TOPOLOGY_H
#define VPEER_TOPOLOGY_H

#include <stdbool.h>

#include "vpeer.h"

#define VPEER_MAX_BRIDGES	32

struct vpeer_place {
	struct vpeer_pci_address pci;
	struct vpeer_pci_address whole;	/* of a virtual function its physical one, else itself */
	char host[32];			/* host bridge, such as pci0000:00 */
	struct vpeer_pci_address bridges[VPEER_MAX_BRIDGES];	/* from the root port on */
	size_t bridge_count;
	int32_t node;			/* -1 if unknown */
};

/* 0, or -ENODEV when there is no such function. */
int vpeer_place_read(const char *sysfs, const struct vpeer_pci_address *pci,
		     struct vpeer_place *place);

/*
 * enum vpeer_distance. @common: the nearest bridge above both, or, if there is
 * none or they are one device, zeroes.
 */
unsigned int vpeer_place_distance(const char *sysfs, const struct vpeer_place *a,
				  const struct vpeer_place *b, struct vpeer_pci_address *common);

/*
 * Firmware's figure for how far two NUMA nodes are apart, 10 for one node;
 * UINT_MAX where it is not known.
 */
unsigned int vpeer_node_distance(const char *sysfs, int32_t from, int32_t to);

/*
 * Function of an RDMA device, or of the network device that soft-RoCE runs on.
 * 0, -ENODEV when there is no such RDMA device, -ENOENT when it is on no
 * function.
 */
int vpeer_rdma_function(const char *sysfs, const char *name, struct vpeer_pci_address *pci);

int vpeer_pci_compare(const struct vpeer_pci_address *a, const struct vpeer_pci_address *b);

/* vpeer_query_pair() without what a context knows; @device may be on no function. */
int vpeer_pair_read(const char *sysfs, const struct vpeer_pci_address *memory,
		    const char *device, struct vpeer_pair_info *info, struct vpeer_error *error);

/* The functions of these names on the sysfs tree mounted at @sysfs. */
int vpeer_nearest_devices_at(const char *sysfs, const struct vpeer_pci_address *memory,
			     struct vpeer_pair_info **pairs, size_t *count,
			     struct vpeer_error *error);
int vpeer_nearest_memory_at(const char *sysfs, const char *device,
			    struct vpeer_pair_info **pairs, size_t *count,
			    struct vpeer_error *error);

int vpeer_query_pair_at(const char *sysfs, struct vpeer_context *context,
			const struct vpeer_pci_address *memory, struct vpeer_pair_info *info,
			struct vpeer_error *error);

#endif /* VPEER_TOPOLOGY_H */
