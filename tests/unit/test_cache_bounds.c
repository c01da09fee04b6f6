// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the cache drops to keep its bounds. */
#include "cache_fixture.h"

#include <errno.h>

/* More at once than are dropped in one go. */
static void many_at_once(void **state)
{
	struct cache_fixture *fixture = cached_begin(1000, 0, false);

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		cached_add(fixture, BASE + i * PAGE, PAGE);
	assert_int_equal(cached_stats(fixture).entries, 1000);
	fixture->word++;
	vpeer_cache_reclaim(fixture->cache);
	assert_int_equal(cached_stats(fixture).drops, 1000);
	assert_int_equal(cached_stats(fixture).entries, 0);
	assert_int_equal(cached_stats(fixture).peak_entries, 1000);
	assert_int_equal(cached_stats(fixture).peak_bytes, 1000 * PAGE);
	cached_end(fixture);
}

static void bound_of_entries(void **state)
{
	struct cache_fixture *fixture = cached_begin(4, 0, false);
	int *values[5];

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		values[i] = cached_add(fixture, BASE + i * PAGE, PAGE);
	/* The first one is used, so the second one is the one not used for longest. */
	assert_ptr_equal(cached_ask(fixture, BASE, PAGE), values[0]);
	values[4] = cached_add(fixture, BASE + 4 * PAGE, PAGE);
	assert_int_equal(*values[1], 1);
	for (uint64_t i = 0; i < 5; i++)
		assert_ptr_equal(cached_ask(fixture, BASE + i * PAGE, PAGE),
				 i == 1 ? NULL : values[i]);
	assert_int_equal(cached_stats(fixture).evictions, 1);
	assert_int_equal(cached_stats(fixture).entries, 4);
	assert_int_equal(cached_stats(fixture).peak_entries, 4);
	cached_end(fixture);
}

/* Without hits it is the order of insertion. */
static void order_of_eviction(void **state)
{
	struct cache_fixture *fixture = cached_begin(8, 0, false);
	int *values[40];

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		values[i] = cached_add(fixture, BASE + i * PAGE, PAGE);
		for (uint64_t j = 0; j <= i; j++)
			assert_int_equal(*values[j], j + 8 <= i);
	}
	cached_end(fixture);
}

static void bound_of_bytes(void **state)
{
	struct cache_fixture *fixture = cached_begin(100, 10 * PAGE, false);
	struct vpeer_cache_insert insert = cached_range(fixture, BASE + 100 * PAGE, 11 * PAGE);
	struct vpeer_cache_entry *entry;
	int *values[5];

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		values[i] = cached_add(fixture, BASE + 2 * i * PAGE, 2 * PAGE);
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -ENOSPC);
	assert_int_equal(cached_stats(fixture).evictions, 0);
	cached_add(fixture, BASE + 50 * PAGE, 3 * PAGE);
	assert_int_equal(*values[0] + *values[1], 2);
	assert_int_equal(*values[2] + *values[3] + *values[4], 0);
	assert_int_equal(cached_stats(fixture).bytes, 9 * PAGE);
	cached_add(fixture, BASE + 60 * PAGE, PAGE);
	assert_int_equal(cached_stats(fixture).bytes, 10 * PAGE);
	insert.size = 10 * PAGE;
	cached_put_in(fixture, insert);
	assert_int_equal(cached_stats(fixture).entries, 1);
	assert_int_equal(cached_stats(fixture).peak_bytes, 10 * PAGE);
	cached_end(fixture);
}

static void bound_of_a_budget(void **state)
{
	struct cache_fixture *fixture = *state;
	struct vpeer_cache_budget budget = { .limit = 3 * PAGE }, other = { .limit = 2 * PAGE };
	struct vpeer_cache_insert insert = cached_range(fixture, BASE, PAGE);
	struct vpeer_cache_entry *entry;
	int *old = cached_put_in(fixture, insert), *values[4], *theirs;

	insert.budget = &other;
	insert.start += PAGE;
	theirs = cached_put_in(fixture, insert);
	insert.budget = &budget;
	for (int i = 0; i < 4; i++) {
		insert.start += PAGE;
		values[i] = cached_put_in(fixture, insert);
	}
	assert_int_equal(*old + *theirs, 0);
	assert_int_equal(*values[0], 1);
	assert_int_equal(*values[1] + *values[2] + *values[3], 0);
	assert_int_equal(budget.used, 3 * PAGE);
	assert_int_equal(other.used, PAGE);
	insert.start += PAGE;
	insert.size = 3 * PAGE + 1;
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -ENOSPC);
	assert_int_equal(*values[1] + *values[2] + *values[3], 0);
	vpeer_cache_source_invalidate(fixture->source);
	assert_int_equal(budget.used + other.used, 0);
}

static void in_use_is_not_evicted(void **state)
{
	struct cache_fixture *fixture = cached_begin(3, 0, false);
	struct vpeer_cache_insert insert = cached_range(fixture, BASE + 9 * PAGE, PAGE);
	struct vpeer_cache_entry *entries[3], *entry;
	int *values[3];

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		values[i] = cached_add(fixture, BASE + i * PAGE, PAGE);
		entries[i] = cached_get(fixture, BASE + i * PAGE, PAGE);
	}
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -ENOSPC);
	assert_null(entry);
	assert_int_equal(*values[0] + *values[1] + *values[2], 0);
	vpeer_cache_put(fixture->cache, entries[1]);
	cached_put_in(fixture, insert);
	assert_int_equal(*values[1], 1);
	for (uint64_t i = 0; i < 3; i += 2) {
		assert_ptr_equal(cached_ask(fixture, BASE + i * PAGE, PAGE), values[i]);
		vpeer_cache_put(fixture->cache, entries[i]);
	}
	cached_end(fixture);
}

/* What is invalid but in use counts until it is dropped; an idle one that is too small stays. */
static void no_room_for_all(void **state)
{
	struct cache_fixture *fixture = cached_begin(10, 4 * PAGE, false);
	struct vpeer_cache_insert insert = cached_range(fixture, BASE + 9 * PAGE, 3 * PAGE);
	struct vpeer_cache_entry *entry, *held;
	int *value, *idle;

	(void)state;
	value = cached_add(fixture, BASE, 2 * PAGE);
	held = cached_get(fixture, BASE, PAGE);
	vpeer_cache_invalidate(fixture->cache, BASE, 1);
	assert_int_equal(cached_stats(fixture).bytes, 2 * PAGE);
	idle = cached_add(fixture, BASE + 2 * PAGE, PAGE);
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -ENOSPC);
	assert_int_equal(*idle, 0);
	for (int again = 0; again < 2; again++)
		assert_ptr_equal(cached_ask(fixture, BASE + 2 * PAGE, PAGE), idle);
	assert_int_equal(cached_stats(fixture).slow_hits, 0);
	vpeer_cache_put(fixture->cache, held);
	assert_int_equal(*value, 1);
	cached_put_in(fixture, insert);
	cached_end(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(bound_of_a_budget),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(bound_of_entries),
		cmocka_unit_test(order_of_eviction),
		cmocka_unit_test(bound_of_bytes),
		cmocka_unit_test(in_use_is_not_evicted),
		cmocka_unit_test(no_room_for_all),
	};

	return cmocka_run_group_tests_name("cache_bounds", tests, NULL, NULL) != 0;
}
