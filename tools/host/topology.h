/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The way between a function with memory and one that reaches for it. */
#ifndef HOST_TOPOLOGY_H
#define HOST_TOPOLOGY_H

#include "facts.h"

enum route {
	ROUTE_UNKNOWN,		/* something on it cannot be read */
	ROUTE_DIRECT,		/* translated requests turn at a switch */
	ROUTE_ROOT,		/* by the root complex, whose IOMMU translates */
	ROUTE_UNTRANSLATED,	/* turns at a switch with the guest's addresses */
	ROUTE_PORT,		/* both behind one port: the device decides */
};

#define ROUTE_REASON	192

struct path {
	const struct function *memory;
	const struct function *initiator;
	char common[VPEER_PCI_LEN];	/* the nearest bridge above both, or empty */
	const struct function *bridges[2 * MOST_BRIDGES];	/* all between them */
	size_t bridge_count;
	enum route route;
	char reason[ROUTE_REASON];
};

/* Of a place that knows them; NULL when there is none. */
typedef const struct function *bridge_finder(const void *place, const char *pci);

/* Fills in what is between the memory and the initiator of @path. */
void path_find(struct path *path, bridge_finder *find, const void *place);

/* Every function with memory by every other that has none; the caller frees. */
size_t host_paths(const struct host *host, struct path **paths);

const char *route_name(enum route route);

/* Where access control is decided: root and switch downstream ports. */
bool is_acs_port(const struct function *bridge);

#endif /* HOST_TOPOLOGY_H */
