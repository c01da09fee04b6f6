/* SPDX-License-Identifier: GPL-2.0-only */
/* The IOVAs that a function's QEMU announced. */
#ifndef SIM_MAP_H
#define SIM_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_ENTRIES	65535

struct backing;

struct map_entry {
	uint64_t iova, last;		/* both in it */
	struct backing *backing;	/* NULL: reached by messages */
	uint64_t offset;		/* in backing */
	bool readable, writable;
	bool peer;			/* a BAR, not the guest's RAM */
};

struct iova_map {
	struct map_entry *entries;	/* in order of IOVA */
	size_t count, room;
};

/*
 * Takes the caller's hold of entry->backing if it returns 0; else -EEXIST (it overlaps another), -ENOSPC,
 * -ENOMEM.
 */
int map_add(struct iova_map *map, const struct map_entry *entry);

/* -EINVAL, and nothing is removed, if an entry lies only partly in the range. */
int map_remove(struct iova_map *map, uint64_t iova, uint64_t last, uint64_t *removed_bytes);
void map_clear(struct iova_map *map);

/* The entry that IOVA lies in, until the next change, or NULL. */
const struct map_entry *map_find(const struct iova_map *map, uint64_t iova);

#endif
