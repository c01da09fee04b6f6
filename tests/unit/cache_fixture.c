// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cache_fixture.h"

#include <errno.h>
#include <stdlib.h>

void cached_drop(void *user, void *value)
{
	(void)user;
	++*(int *)value;
}

void cached_release(void *arg)
{
	++*(int *)arg;
}

struct cache_fixture *cached_begin(uint32_t max_entries, uint64_t max_bytes, bool fences)
{
	struct cache_fixture *fixture = calloc(1, sizeof(*fixture));
	struct vpeer_cache_config config = {
		.max_entries = max_entries,
		.max_bytes = max_bytes,
		.drop = cached_drop,
		.user = fixture,
		.fences = fences,
	};
	struct vpeer_cache_source_config word = { .release = cached_release }, none = { 0 };

	assert_non_null(fixture);
	fixture->word = 10;
	word.word = &fixture->word;
	word.arg = &fixture->released;
	assert_int_equal(vpeer_cache_begin(&fixture->cache, &config), 0);
	assert_int_equal(vpeer_cache_source_begin(fixture->cache, &word, &fixture->source), 0);
	assert_int_equal(vpeer_cache_source_begin(fixture->cache, &none, &fixture->plain), 0);
	return fixture;
}

void cached_end(struct cache_fixture *fixture)
{
	assert_int_equal(vpeer_cache_end(fixture->cache), -EBUSY);
	vpeer_cache_source_end(fixture->source);
	assert_int_equal(fixture->released, 1);
	assert_int_equal(vpeer_cache_end(fixture->cache), -EBUSY);
	vpeer_cache_source_end(fixture->plain);
	assert_int_equal(vpeer_cache_end(fixture->cache), 0);
	for (unsigned int i = 0; i < fixture->values; i++)
		assert_int_equal(fixture->dropped[i], 1);
	free(fixture);
}

int cached_setup(void **state)
{
	*state = cached_begin(100, 0, false);
	return 0;
}

int cached_setup_fences(void **state)
{
	*state = cached_begin(100, 0, true);
	return 0;
}

int cached_teardown(void **state)
{
	cached_end(*state);
	return 0;
}

struct vpeer_cache_insert cached_range(struct cache_fixture *fixture, uint64_t start,
				       uint64_t size)
{
	return (struct vpeer_cache_insert){
		.start = start,
		.size = size,
		.access = READ | WRITE,
		.generation = fixture->word,
		.ticket = vpeer_cache_ticket(fixture->cache),
		.source = fixture->source,
	};
}

int cached_try_insert(struct cache_fixture *fixture, struct vpeer_cache_insert *insert,
		      struct vpeer_cache_entry **entry)
{
	int err;

	assert_in_range(fixture->values, 0, VALUES - 1);
	insert->value = &fixture->dropped[fixture->values];
	err = vpeer_cache_insert(fixture->cache, insert, entry);
	if (!err) {
		assert_non_null(*entry);
		assert_ptr_equal((*entry)->value, insert->value);
		fixture->values++;
	}
	return err;
}

int *cached_put_in(struct cache_fixture *fixture, struct vpeer_cache_insert insert)
{
	struct vpeer_cache_entry *entry;

	assert_int_equal(cached_try_insert(fixture, &insert, &entry), 0);
	vpeer_cache_put(fixture->cache, entry);
	return insert.value;
}

int *cached_add(struct cache_fixture *fixture, uint64_t start, uint64_t size)
{
	return cached_put_in(fixture, cached_range(fixture, start, size));
}

struct vpeer_cache_entry *cached_get(struct cache_fixture *fixture, uint64_t start, uint64_t size)
{
	return vpeer_cache_get(fixture->cache, start, size, READ, 0);
}

int *cached_ask(struct cache_fixture *fixture, uint64_t start, uint64_t size)
{
	struct vpeer_cache_entry *entry = cached_get(fixture, start, size);
	int *value = entry ? entry->value : NULL;

	if (entry)
		vpeer_cache_put(fixture->cache, entry);
	return value;
}

struct vpeer_cache_stats cached_stats(struct cache_fixture *fixture)
{
	struct vpeer_cache_stats stats;

	vpeer_cache_stats(fixture->cache, &stats);
	return stats;
}
