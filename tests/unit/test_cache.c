// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the cache of registrations finds. */
#include "cache_fixture.h"

#include <errno.h>

static void parts_of_a_range(void **state)
{
	struct cache_fixture *fixture = *state;
	int *value = cached_add(fixture, BASE, 10 * PAGE);

	for (int again = 0; again < 2; again++) {
		assert_ptr_equal(cached_ask(fixture, BASE, 10 * PAGE), value);
		assert_ptr_equal(cached_ask(fixture, BASE, 1), value);
		assert_ptr_equal(cached_ask(fixture, BASE + 10 * PAGE - 1, 1), value);
		assert_ptr_equal(cached_ask(fixture, BASE + 3 * PAGE + 5, 2 * PAGE), value);
		assert_null(cached_ask(fixture, BASE - 1, 2));
		assert_null(cached_ask(fixture, BASE - 1, 1));
		assert_null(cached_ask(fixture, BASE + 10 * PAGE, 1));
		assert_null(cached_ask(fixture, BASE + 10 * PAGE - 1, 2));
		assert_null(cached_ask(fixture, BASE, 10 * PAGE + 1));
		assert_null(cached_ask(fixture, BASE + PAGE, UINT64_MAX - BASE));
		assert_null(cached_ask(fixture, BASE + PAGE, UINT64_MAX));
	}
	assert_int_equal(cached_stats(fixture).hits, 8);
	assert_int_equal(cached_stats(fixture).misses, 14);
	assert_int_equal(cached_stats(fixture).slow_hits, 0);
}

static void overlapping(void **state)
{
	struct cache_fixture *fixture = *state;
	int *low = cached_add(fixture, BASE, 4 * PAGE);
	int *high = cached_add(fixture, BASE + 2 * PAGE, 4 * PAGE), *all;

	assert_ptr_equal(cached_ask(fixture, BASE, 4 * PAGE), low);
	assert_ptr_equal(cached_ask(fixture, BASE + 2 * PAGE, 4 * PAGE), high);
	assert_ptr_equal(cached_ask(fixture, BASE + 3 * PAGE, 2 * PAGE), high);
	assert_non_null(cached_ask(fixture, BASE + 2 * PAGE, PAGE));
	assert_null(cached_ask(fixture, BASE + PAGE, 4 * PAGE));
	all = cached_add(fixture, BASE, 6 * PAGE);
	assert_ptr_equal(cached_ask(fixture, BASE + PAGE, 4 * PAGE), all);
	assert_ptr_equal(cached_ask(fixture, BASE, 6 * PAGE), all);
}

static void access_and_kind(void **state)
{
	struct cache_fixture *fixture = *state;
	struct vpeer_cache_insert insert = cached_range(fixture, BASE, PAGE);
	int *reads, *writes, *other;

	insert.access = READ;
	insert.kind = 1;
	reads = cached_put_in(fixture, insert);
	assert_null(vpeer_cache_get(fixture->cache, BASE, PAGE, READ, 0));
	assert_null(vpeer_cache_get(fixture->cache, BASE, PAGE, WRITE, 1));
	assert_null(vpeer_cache_get(fixture->cache, BASE, PAGE, READ | WRITE, 1));
	insert.access = READ | WRITE;
	writes = cached_put_in(fixture, insert);
	insert.kind = 0x80000001;
	other = cached_put_in(fixture, insert);
	for (int again = 0; again < 3; again++) {
		struct vpeer_cache_entry *entry;

		entry = vpeer_cache_get(fixture->cache, BASE, PAGE, READ | WRITE, 1);
		assert_ptr_equal(entry->value, writes);
		vpeer_cache_put(fixture->cache, entry);
		entry = vpeer_cache_get(fixture->cache, BASE, PAGE, READ, 1);
		assert_true(entry->value == reads || entry->value == writes);
		vpeer_cache_put(fixture->cache, entry);
		entry = vpeer_cache_get(fixture->cache, BASE, PAGE, 0, 0x80000001);
		assert_ptr_equal(entry->value, other);
		vpeer_cache_put(fixture->cache, entry);
	}
}

static void refused_arguments(void **state)
{
	struct cache_fixture *fixture = *state;
	struct vpeer_cache_insert insert = cached_range(fixture, BASE, 0);
	struct vpeer_cache_entry *entry = (struct vpeer_cache_entry *)fixture;
	struct vpeer_cache_config config = { .max_entries = 1, .drop = NULL };
	struct vpeer_cache *cache;

	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -EINVAL);
	assert_null(entry);
	insert = cached_range(fixture, UINT64_MAX - PAGE + 1, PAGE);
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -EOVERFLOW);
	insert = cached_range(fixture, PAGE, UINT64_MAX);
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -EOVERFLOW);
	insert = cached_range(fixture, BASE, PAGE);
	insert.source = NULL;
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -EINVAL);
	assert_int_equal(vpeer_cache_begin(&cache, &config), -EINVAL);
	assert_null(cache);
	config.drop = cached_drop;
	config.max_entries = 0;
	assert_int_equal(vpeer_cache_begin(&cache, &config), -EINVAL);
	config.max_entries = VPEER_CACHE_MAX_ENTRIES + 1;
	assert_int_equal(vpeer_cache_begin(&cache, &config), -EINVAL);
	assert_int_equal(vpeer_cache_end(NULL), 0);
}

/* The last addresses and the first: no sum goes over the end. */
static void ends_of_the_space(void **state)
{
	struct cache_fixture *fixture = *state;
	int *last = cached_add(fixture, UINT64_MAX - PAGE, PAGE);
	int *first = cached_add(fixture, 0, PAGE);

	assert_ptr_equal(cached_ask(fixture, UINT64_MAX - PAGE, PAGE), last);
	assert_ptr_equal(cached_ask(fixture, UINT64_MAX - 1, 1), last);
	assert_null(cached_ask(fixture, UINT64_MAX - 1, 2));
	assert_null(cached_ask(fixture, UINT64_MAX, 1));
	assert_ptr_equal(cached_ask(fixture, 0, PAGE), first);
	assert_null(cached_ask(fixture, PAGE, 1));
	vpeer_cache_invalidate(fixture->cache, UINT64_MAX - 1, UINT64_MAX);
	assert_int_equal(*last, 1);
	assert_int_equal(*first, 0);
}

static void someone_was_faster(void **state)
{
	struct cache_fixture *fixture = *state;
	struct vpeer_cache_insert insert = cached_range(fixture, BASE + PAGE, PAGE);
	struct vpeer_cache_entry *entry;
	int *value = cached_add(fixture, BASE, 4 * PAGE);

	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -EEXIST);
	assert_ptr_equal(entry->value, value);
	vpeer_cache_source_invalidate(fixture->source);
	assert_int_equal(*value, 0);
	vpeer_cache_put(fixture->cache, entry);
	assert_int_equal(*value, 1);
}

/* Ranges of all sizes, in an order that lets the table be made anew often, are found without the index. */
static void many_sizes(void **state)
{
	struct cache_fixture *fixture = cached_begin(VALUES, 0, false);
	int *values[3000];
	uint64_t slow;

	(void)state;
	for (uint64_t i = 0; i < 3000; i++)
		values[i] = cached_add(fixture, BASE + (i << 24), PAGE << (11 - i / 250));
	slow = cached_stats(fixture).slow_hits;
	for (int again = 0; again < 2; again++)
		for (uint64_t i = 0; i < 3000; i++)
			assert_ptr_equal(cached_ask(fixture, BASE + (i << 24), PAGE), values[i]);
	assert_in_range(cached_stats(fixture).slow_hits - slow, 0, 30);
	assert_int_equal(cached_stats(fixture).hits, 6000);
	cached_end(fixture);
}

/* Parts of a large range among small ones take their places too, and are then found without the index. */
static void many_parts(void **state)
{
	struct cache_fixture *fixture = cached_begin(300, 0, false);
	uint64_t large = BASE + (1ULL << 40), slow = 0;
	int *value = cached_add(fixture, large, 64 << 20);

	(void)state;
	for (uint64_t i = 0; i < 200; i++)
		cached_add(fixture, BASE + i * PAGE, PAGE);
	for (int again = 0; again < 40; again++) {
		slow = cached_stats(fixture).slow_hits;
		for (uint64_t i = 0; i < 16384; i++)
			assert_ptr_equal(cached_ask(fixture, large + i * PAGE + 64, 8), value);
	}
	assert_in_range(cached_stats(fixture).slow_hits - slow, 0, 400);
	assert_true(cached_stats(fixture).slow_hits >= 16000);
	cached_end(fixture);
}

/* Small ranges close to one another, after large ones far apart that the table was made for. */
static void crowd(void **state)
{
	struct cache_fixture *fixture = cached_begin(VALUES, 0, false);
	int *values[100];
	uint64_t slow;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		cached_add(fixture, BASE + (i << 34), 1 << 30);
	for (uint64_t i = 0; i < 100; i++)
		values[i] = cached_add(fixture, BASE + (1ULL << 45) + i * PAGE, PAGE);
	slow = cached_stats(fixture).slow_hits;
	for (uint64_t i = 0; i < 100; i++)
		assert_ptr_equal(cached_ask(fixture, BASE + (1ULL << 45) + i * PAGE, PAGE),
				 values[i]);
	assert_int_equal(cached_stats(fixture).slow_hits, slow);
	cached_end(fixture);
}

static void told_by_stats(void **state)
{
	struct cache_fixture *fixture = *state;

	cached_add(fixture, BASE, PAGE);
	assert_int_equal(cached_stats(fixture).inserts, 1);
	assert_int_equal(cached_stats(fixture).bytes, PAGE);
	assert_true(cached_stats(fixture).memory > 4096);
	for (int i = 0; i < 1000; i++)
		cached_ask(fixture, BASE, PAGE);
	assert_int_equal(cached_stats(fixture).hits, 1000);
	assert_int_equal(cached_stats(fixture).slow_hits, 0);
	assert_int_equal(cached_stats(fixture).misses, 0);
}

static void fences_told(void **state)
{
	assert_true(cached_stats(*state).fenced);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(parts_of_a_range),
		CASE(overlapping),
		CASE(access_and_kind),
		CASE(refused_arguments),
		CASE(ends_of_the_space),
		CASE(someone_was_faster),
		CASE(told_by_stats),
		cmocka_unit_test(many_sizes),
		cmocka_unit_test(many_parts),
		cmocka_unit_test(crowd),
		FENCED(parts_of_a_range),
		FENCED(fences_told),
	};

	return cmocka_run_group_tests_name("cache", tests, NULL, NULL) != 0;
}
