// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A treap: a search tree by start in which no node has a smaller rank than its
 * children. As ranks are as good as random, it is about as deep as a balanced one.
 */
#include "range_index.h"

static uint32_t rank(uint32_t id)
{
	uint64_t mixed = id * 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93ULL;
	return (uint32_t)(mixed >> 32);
}

static void update(struct vpeer_range_node *nodes, uint32_t id)
{
	struct vpeer_range_node *node = &nodes[id];
	uint64_t max_end = node->end;

	if (node->left && nodes[node->left].max_end > max_end)
		max_end = nodes[node->left].max_end;
	if (node->right && nodes[node->right].max_end > max_end)
		max_end = nodes[node->right].max_end;
	node->max_end = max_end;
}

/* Puts @child, which may be none, where @id hangs. */
static void replace(struct vpeer_range_index *index, uint32_t id, uint32_t child)
{
	uint32_t parent = index->nodes[id].parent;

	if (!parent)
		index->root = child;
	else if (index->nodes[parent].left == id)
		index->nodes[parent].left = child;
	else
		index->nodes[parent].right = child;
	if (child)
		index->nodes[child].parent = parent;
}

/* @id takes the place of its parent. */
static void rotate_up(struct vpeer_range_index *index, uint32_t id)
{
	struct vpeer_range_node *nodes = index->nodes;
	uint32_t parent = nodes[id].parent, inner;

	replace(index, parent, id);
	if (nodes[parent].left == id) {
		inner = nodes[id].right;
		nodes[id].right = parent;
		nodes[parent].left = inner;
	} else {
		inner = nodes[id].left;
		nodes[id].left = parent;
		nodes[parent].right = inner;
	}
	nodes[parent].parent = id;
	if (inner)
		nodes[inner].parent = parent;
	update(nodes, parent);
	update(nodes, id);
}

void vpeer_range_insert(struct vpeer_range_index *index, uint32_t id, uint64_t start,
			uint64_t end)
{
	struct vpeer_range_node *nodes = index->nodes;
	uint32_t parent = 0, *link = &index->root;

	while (*link) {
		parent = *link;
		if (nodes[parent].max_end < end)
			nodes[parent].max_end = end;
		link = start < nodes[parent].start ? &nodes[parent].left : &nodes[parent].right;
	}
	*link = id;
	nodes[id] = (struct vpeer_range_node){
		.start = start,
		.end = end,
		.max_end = end,
		.parent = parent,
	};
	while (nodes[id].parent && rank(nodes[id].parent) < rank(id))
		rotate_up(index, id);
}

void vpeer_range_remove(struct vpeer_range_index *index, uint32_t id)
{
	struct vpeer_range_node *nodes = index->nodes, *node = &nodes[id];
	uint32_t up;

	while (node->left && node->right)
		rotate_up(index, rank(node->left) > rank(node->right) ? node->left : node->right);
	up = node->parent;
	replace(index, id, node->left ? node->left : node->right);
	for (; up; up = nodes[up].parent)
		update(nodes, up);
}

/*
 * The first of a subtree, in which some range ends at @min_end or behind. Where
 * the left side has such ranges, the first of them is the answer or there is
 * none: all others start behind it.
 */
static uint32_t first_below(const struct vpeer_range_node *nodes, uint32_t id,
			    uint64_t max_start, uint64_t min_end)
{
	for (;;) {
		const struct vpeer_range_node *node = &nodes[id];

		if (node->left && nodes[node->left].max_end >= min_end) {
			id = node->left;
			continue;
		}
		if (node->start > max_start)
			return 0;
		if (node->end >= min_end)
			return id;
		/* It is on the right, since it is somewhere. */
		id = node->right;
	}
}

uint32_t vpeer_range_first(const struct vpeer_range_index *index, uint64_t max_start,
			   uint64_t min_end)
{
	if (!index->root || index->nodes[index->root].max_end < min_end)
		return 0;
	return first_below(index->nodes, index->root, max_start, min_end);
}

uint32_t vpeer_range_next(const struct vpeer_range_index *index, uint32_t id,
			  uint64_t max_start, uint64_t min_end)
{
	const struct vpeer_range_node *nodes = index->nodes;

	for (;;) {
		uint32_t below = nodes[id].right;

		if (below && nodes[below].max_end >= min_end)
			return first_below(nodes, below, max_start, min_end);
		do {
			below = id;
			id = nodes[id].parent;
		} while (id && nodes[id].right == below);
		if (!id || nodes[id].start > max_start)
			return 0;
		if (nodes[id].end >= min_end)
			return id;
	}
}
