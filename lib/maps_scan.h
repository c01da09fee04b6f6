/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How mappings are picked, in whatever way they are read. */
#ifndef VPEER_MAPS_SCAN_H
#define VPEER_MAPS_SCAN_H

#include "maps.h"

struct vpeer_maps_scan {
	uint64_t start;
	uint64_t last;		/* last byte of the range */
	uint64_t covered;	/* first byte that no mapping was seen of yet */
	bool done;		/* the whole range was seen */
	struct vpeer_maps *maps;
};

struct vpeer_maps_scan vpeer_maps_begin(uint64_t start, uint64_t length, struct vpeer_maps *maps);

/* In the order of addresses. 1: another one is wanted; 0: no more; -errno. */
int vpeer_maps_take(struct vpeer_maps_scan *scan, const struct vpeer_mapping *mapping,
		    const char *path);

#endif /* VPEER_MAPS_SCAN_H */
