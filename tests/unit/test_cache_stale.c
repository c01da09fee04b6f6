// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Registrations that the cache must not find any more. */
#include "cache_fixture.h"

#include <errno.h>

static void stale_by_generation(void **state)
{
	struct cache_fixture *fixture = *state;
	int *value = cached_add(fixture, BASE, PAGE);
	int *held = cached_add(fixture, BASE + PAGE, PAGE);
	struct vpeer_cache_entry *entry = cached_get(fixture, BASE + PAGE, PAGE);

	assert_ptr_equal(cached_ask(fixture, BASE, PAGE), value);
	assert_ptr_equal(cached_ask(fixture, BASE, PAGE), value);
	fixture->word++;
	assert_int_equal(*value, 0);
	assert_null(cached_ask(fixture, BASE, PAGE));
	assert_int_equal(*value, 1);
	assert_null(cached_ask(fixture, BASE + PAGE, PAGE));
	assert_int_equal(*held, 0);
	assert_int_equal(cached_stats(fixture).entries, 1);
	vpeer_cache_put(fixture->cache, entry);
	assert_int_equal(*held, 1);
	assert_int_equal(cached_stats(fixture).entries, 0);
	assert_int_equal(cached_stats(fixture).bytes, 0);
	assert_int_equal(cached_stats(fixture).stale, 2);
	assert_int_equal(cached_stats(fixture).drops, 2);
	value = cached_add(fixture, BASE, PAGE);
	assert_ptr_equal(cached_ask(fixture, BASE, PAGE), value);
}

/* Found stale by way of the index, not of the table. */
static void stale_part(void **state)
{
	struct cache_fixture *fixture = *state;
	int *value = cached_add(fixture, BASE, 4 * PAGE);

	fixture->word++;
	assert_null(cached_ask(fixture, BASE + 3 * PAGE, PAGE));
	assert_int_equal(*value, 1);
}

struct buffer {
	uint64_t id;
	unsigned int asked;
	const void *value;
	uint64_t start, size;
};

static bool same_buffer(void *arg, const void *value, uint64_t start, uint64_t size,
			uint64_t generation)
{
	struct buffer *buffer = arg;

	buffer->asked++;
	buffer->value = value;
	buffer->start = start;
	buffer->size = size;
	return generation == buffer->id;
}

static void asked_source(void **state)
{
	struct cache_fixture *fixture = *state;
	struct buffer buffer = { .id = 77 };
	struct vpeer_cache_source_config config = { .check = same_buffer, .arg = &buffer };
	struct vpeer_cache_insert insert = cached_range(fixture, BASE, 4 * PAGE);
	struct vpeer_cache_entry *entry;
	int *value;

	assert_int_equal(vpeer_cache_source_begin(fixture->cache, &config, &insert.source), 0);
	insert.generation = 76;
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -ESTALE);
	insert.generation = 77;
	value = cached_put_in(fixture, insert);
	buffer.asked = 0;
	for (unsigned int i = 1; i <= 3; i++) {
		assert_ptr_equal(cached_ask(fixture, BASE + PAGE, 2 * PAGE), value);
		assert_int_equal(buffer.asked, i);
		assert_ptr_equal(buffer.value, value);
		assert_int_equal(buffer.start, BASE + PAGE);
		assert_int_equal(buffer.size, 2 * PAGE);
	}
	buffer.id = 78;
	assert_null(cached_ask(fixture, BASE + PAGE, 2 * PAGE));
	assert_int_equal(*value, 1);
	insert.generation = 78;
	value = cached_put_in(fixture, insert);
	buffer.id = 79;
	insert.generation = 79;
	/* One that is stale is in nobody's way. */
	assert_ptr_not_equal(cached_put_in(fixture, insert), value);
	assert_int_equal(*value, 1);
	vpeer_cache_source_end(insert.source);
}

static void source_of_nothing(void **state)
{
	struct cache_fixture *fixture = *state;
	struct vpeer_cache_insert insert = cached_range(fixture, BASE, PAGE);
	struct vpeer_cache_entry *entry;
	int *value, *other = cached_add(fixture, BASE + PAGE, PAGE);

	insert.source = fixture->plain;
	insert.generation = 5;
	value = cached_put_in(fixture, insert);
	fixture->word++;
	assert_ptr_equal(cached_ask(fixture, BASE, PAGE), value);
	assert_ptr_equal(cached_ask(fixture, BASE, PAGE), value);
	vpeer_cache_source_invalidate(fixture->plain);
	assert_int_equal(*value, 1);
	assert_int_equal(*other, 0);
	assert_null(cached_ask(fixture, BASE, PAGE));
	assert_int_equal(cached_stats(fixture).invalidated, 1);
	/* The ticket is from before. */
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -ESTALE);
	insert.ticket = vpeer_cache_ticket(fixture->cache);
	value = cached_put_in(fixture, insert);
	assert_ptr_equal(cached_ask(fixture, BASE, PAGE), value);
}

static void revoked_meanwhile(void **state)
{
	struct cache_fixture *fixture = *state;
	struct vpeer_cache_insert insert = cached_range(fixture, BASE, PAGE);
	struct vpeer_cache_entry *entry;

	fixture->word++;
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -ESTALE);
	assert_null(entry);
	assert_null(cached_ask(fixture, BASE, PAGE));
	assert_int_equal(cached_stats(fixture).entries, 0);
	insert.generation = fixture->word;
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), 0);
	vpeer_cache_put(fixture->cache, entry);
}

static void invalidated_meanwhile(void **state)
{
	struct cache_fixture *fixture = *state;
	struct vpeer_cache_insert insert = cached_range(fixture, BASE, 2 * PAGE);
	struct vpeer_cache_entry *entry;

	vpeer_cache_invalidate(fixture->cache, BASE + 2 * PAGE, PAGE);
	vpeer_cache_invalidate(fixture->cache, BASE - PAGE, PAGE);
	cached_put_in(fixture, insert);
	vpeer_cache_invalidate(fixture->cache, BASE + 2 * PAGE - 1, 1);
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -ESTALE);
	insert.ticket = vpeer_cache_ticket(fixture->cache);
	cached_put_in(fixture, insert);
	/* So many later that nobody knows any more where the first ones were. */
	insert = cached_range(fixture, BASE + 100 * PAGE, PAGE);
	for (int i = 0; i < 64; i++)
		vpeer_cache_invalidate(fixture->cache, BASE + 50 * PAGE, PAGE);
	cached_put_in(fixture, insert);
	vpeer_cache_invalidate(fixture->cache, BASE + 50 * PAGE, PAGE);
	insert.start += PAGE;
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), -EBUSY);
}

static void invalidated_range(void **state)
{
	struct cache_fixture *fixture = *state;
	int *values[8];
	struct vpeer_cache_entry *held;

	for (int i = 0; i < 8; i++)
		values[i] = cached_add(fixture, BASE + 2 * i * PAGE, 2 * PAGE);
	held = cached_get(fixture, BASE + 6 * PAGE, PAGE);
	vpeer_cache_invalidate(fixture->cache, BASE + 4 * PAGE, 0);
	vpeer_cache_invalidate(fixture->cache, BASE + 5 * PAGE, 3 * PAGE + 1);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(*values[i], i == 2 || i == 4);
		assert_ptr_equal(cached_ask(fixture, BASE + 2 * i * PAGE, PAGE),
				 i >= 2 && i <= 4 ? NULL : values[i]);
	}
	vpeer_cache_put(fixture->cache, held);
	assert_int_equal(*values[3], 1);
	vpeer_cache_invalidate(fixture->cache, BASE, UINT64_MAX);
	assert_int_equal(cached_stats(fixture).entries, 0);
	assert_int_equal(cached_stats(fixture).invalidated, 8);
}

static void reclaimed(void **state)
{
	struct cache_fixture *fixture = *state;
	struct vpeer_cache_insert insert = cached_range(fixture, BASE + 2 * PAGE, PAGE);
	int *idle = cached_add(fixture, BASE, PAGE), *held = cached_add(fixture, BASE + PAGE, PAGE);
	int *plain;
	struct vpeer_cache_entry *entry = cached_get(fixture, BASE + PAGE, PAGE);

	insert.source = fixture->plain;
	plain = cached_put_in(fixture, insert);
	vpeer_cache_reclaim(fixture->cache);
	assert_int_equal(*idle, 0);
	fixture->word++;
	vpeer_cache_reclaim(fixture->cache);
	assert_int_equal(*idle, 1);
	assert_int_equal(*held, 0);
	vpeer_cache_put(fixture->cache, entry);
	assert_int_equal(*held, 1);
	assert_int_equal(*plain, 0);
	idle = cached_add(fixture, BASE, PAGE);
	vpeer_cache_reclaim(fixture->cache);
	assert_int_equal(*idle, 0);
	fixture->word++;
	vpeer_cache_reclaim(fixture->cache);
	assert_int_equal(*idle, 1);
	assert_int_equal(cached_stats(fixture).stale, 3);
}

/* Memory is freed and allocated at the same address, with other memory behind it. */
static void address_again(void **state)
{
	struct cache_fixture *fixture = *state;
	int *before = NULL;

	for (int round = 0; round < 1000; round++) {
		uint64_t start = BASE + round % 3 * PAGE;
		int *value;

		assert_null(cached_ask(fixture, start, PAGE));
		value = cached_add(fixture, start, 8 * PAGE);
		assert_ptr_not_equal(value, before);
		for (int i = 0; i < 4; i++)
			assert_ptr_equal(cached_ask(fixture, start + i % 2 * PAGE, PAGE), value);
		if (round % 2)
			fixture->word++;
		else
			vpeer_cache_invalidate(fixture->cache, start + 7 * PAGE, PAGE);
		for (int i = 0; i < 4; i++)
			assert_null(cached_ask(fixture, start + i % 2 * PAGE, PAGE));
		assert_int_equal(*value, 1);
		before = value;
	}
	assert_int_equal(cached_stats(fixture).drops, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(stale_by_generation),
		CASE(stale_part),
		CASE(asked_source),
		CASE(source_of_nothing),
		CASE(revoked_meanwhile),
		CASE(invalidated_meanwhile),
		CASE(invalidated_range),
		CASE(reclaimed),
		CASE(address_again),
		FENCED(stale_by_generation),
	};

	return cmocka_run_group_tests_name("cache_stale", tests, NULL, NULL) != 0;
}
