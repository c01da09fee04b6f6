// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The index of ranges, against a list that is searched from end to end. */
#include "fixture.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "range_index.h"

#define COUNT	600
#define SPAN	4000

struct plain {
	uint64_t start, end;
	bool present;
};

static struct vpeer_range_node nodes[COUNT + 1];
static struct plain plain[COUNT + 1];
static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % below;
}

static int setup(void **state)
{
	static struct vpeer_range_index index;

	memset(nodes, 0, sizeof(nodes));
	memset(plain, 0, sizeof(plain));
	random_state = 1;
	index = (struct vpeer_range_index){ .nodes = nodes };
	*state = &index;
	return 0;
}

static bool matches(const struct plain *range, uint64_t max_start, uint64_t min_end)
{
	return range->present && range->start <= max_start && range->end >= min_end;
}

/* All that are found, each once and in order, are all that there are. */
static void check_query(const struct vpeer_range_index *index, uint64_t max_start,
			uint64_t min_end)
{
	bool found[COUNT + 1] = { false };
	uint64_t last = 0;
	uint32_t id;

	for (id = vpeer_range_first(index, max_start, min_end); id;
	     id = vpeer_range_next(index, id, max_start, min_end)) {
		assert_in_range(id, 1, COUNT);
		assert_false(found[id]);
		assert_true(plain[id].start >= last);
		last = plain[id].start;
		found[id] = true;
	}
	for (id = 1; id <= COUNT; id++)
		assert_int_equal(found[id], matches(&plain[id], max_start, min_end));
}

static void check_queries(const struct vpeer_range_index *index, unsigned int count)
{
	while (count--) {
		uint64_t start = draw(SPAN), size = 1 + draw(SPAN / 8);

		check_query(index, start, start + size);
		check_query(index, start + size - 1, start + 1);
	}
}

static uint64_t max_end_below(uint32_t id)
{
	uint64_t stack[COUNT], max_end = 0;
	unsigned int depth = 0;

	for (stack[depth++] = id; depth;) {
		const struct vpeer_range_node *node = &nodes[stack[--depth]];

		max_end = node->end > max_end ? node->end : max_end;
		if (node->left)
			stack[depth++] = node->left;
		if (node->right)
			stack[depth++] = node->right;
	}
	return max_end;
}

static void check_tree(void)
{
	for (uint32_t id = 1; id <= COUNT; id++) {
		if (!plain[id].present)
			continue;
		assert_int_equal(nodes[id].max_end, max_end_below(id));
		if (nodes[id].left)
			assert_int_equal(nodes[nodes[id].left].parent, id);
		if (nodes[id].right)
			assert_int_equal(nodes[nodes[id].right].parent, id);
	}
}

static void toggle(struct vpeer_range_index *index, uint32_t id)
{
	if (plain[id].present) {
		vpeer_range_remove(index, id);
		plain[id].present = false;
		return;
	}
	plain[id].start = draw(SPAN);
	plain[id].end = plain[id].start + 1 + (draw(10) ? draw(20) : draw(SPAN));
	plain[id].present = true;
	vpeer_range_insert(index, id, plain[id].start, plain[id].end);
}

static void coming_and_going(void **state)
{
	for (unsigned int round = 0; round < 60; round++) {
		for (unsigned int i = 0; i < 200; i++)
			toggle(*state, 1 + (uint32_t)draw(COUNT));
		check_tree();
		check_queries(*state, 20);
	}
	for (uint32_t id = 1; id <= COUNT; id++)
		if (plain[id].present)
			toggle(*state, id);
	check_query(*state, SPAN, 0);
	assert_int_equal(((struct vpeer_range_index *)*state)->root, 0);
}

static void same_start(void **state)
{
	for (uint32_t id = 1; id <= 50; id++) {
		plain[id] = (struct plain){ 100, 100 + id, true };
		vpeer_range_insert(*state, id, 100, 100 + id);
	}
	check_tree();
	check_query(*state, 100, 130);
	check_query(*state, 99, 130);
	check_query(*state, 100, 151);
	for (uint32_t id = 1; id <= 50; id += 2)
		toggle(*state, id);
	check_query(*state, 100, 130);
}

static void at_the_ends(void **state)
{
	plain[1] = (struct plain){ 0, 1, true };
	plain[2] = (struct plain){ UINT64_MAX - 1, UINT64_MAX, true };
	for (uint32_t id = 1; id <= 2; id++)
		vpeer_range_insert(*state, id, plain[id].start, plain[id].end);
	check_query(*state, 0, 1);
	check_query(*state, UINT64_MAX - 1, UINT64_MAX);
	check_query(*state, UINT64_MAX, 0);
	check_query(*state, 0, 2);
}

/* Ranges inserted in their order, as allocators give them, must not make a list of the tree. */
static void depth(void **state)
{
	struct vpeer_range_index *index = *state;
	unsigned int deepest = 0;

	for (uint32_t id = 1; id <= COUNT; id++)
		vpeer_range_insert(index, id, id, id + 1);
	for (uint32_t id = 1; id <= COUNT; id++) {
		unsigned int steps = 0;

		for (uint32_t up = id; up; up = nodes[up].parent)
			steps++;
		deepest = steps > deepest ? steps : deepest;
	}
	assert_in_range(deepest, 10, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(coming_and_going, setup),
		cmocka_unit_test_setup(same_start, setup),
		cmocka_unit_test_setup(at_the_ends, setup),
		cmocka_unit_test_setup(depth, setup),
	};

	return cmocka_run_group_tests_name("range index", tests, NULL, NULL) != 0;
}
