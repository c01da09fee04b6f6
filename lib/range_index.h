/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ranges in the order of their starts, which may overlap. Each is a node of an
 * array of the caller's, known by its index there; 0 is none. The caller locks.
 */
#ifndef VPEER_RANGE_INDEX_H
#define VPEER_RANGE_INDEX_H

#include <stdint.h>

struct vpeer_range_node {
	uint64_t start;
	uint64_t end;		/* behind the last address */
	uint64_t max_end;	/* of all in the subtree */
	uint32_t left;
	uint32_t right;
	uint32_t parent;
};

struct vpeer_range_index {
	struct vpeer_range_node *nodes;
	uint32_t root;
};

void vpeer_range_insert(struct vpeer_range_index *index, uint32_t id, uint64_t start,
			uint64_t end);
void vpeer_range_remove(struct vpeer_range_index *index, uint32_t id);

/*
 * The first range, and the one after @id, that starts at @max_start or before
 * and ends at @min_end or behind; 0 if there is none. With (A, B) those that
 * cover [A, B) are found, with (B - 1, A + 1) those that overlap it.
 */
uint32_t vpeer_range_first(const struct vpeer_range_index *index, uint64_t max_start,
			   uint64_t min_end);
uint32_t vpeer_range_next(const struct vpeer_range_index *index, uint32_t id,
			  uint64_t max_start, uint64_t min_end);

#endif /* VPEER_RANGE_INDEX_H */
