// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The cache of registrations, on one thread but where another is the point. */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache.h"

#define READ	1U
#define WRITE	2U
#define PAGE	4096ULL
#define BASE	0x7f0000000000ULL
#define VALUES	4096

/* A value is a counter: how often it was dropped. */
struct fixture {
	struct vpeer_cache *cache;
	struct vpeer_cache_source *source, *plain;
	uint64_t word;
	int dropped[VALUES];
	unsigned int values;
	int released;
};

static void drop(void *user, void *value)
{
	(void)user;
	++*(int *)value;
}

static void release(void *arg)
{
	++*(int *)arg;
}

static struct fixture *begin(uint32_t max_entries, uint64_t max_bytes, bool fences)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct vpeer_cache_config config = {
		.max_entries = max_entries,
		.max_bytes = max_bytes,
		.drop = drop,
		.user = fixture,
		.fences = fences,
	};
	struct vpeer_cache_source_config word = { .release = release }, none = { 0 };

	assert_non_null(fixture);
	fixture->word = 10;
	word.word = &fixture->word;
	word.arg = &fixture->released;
	assert_int_equal(vpeer_cache_begin(&fixture->cache, &config), 0);
	assert_int_equal(vpeer_cache_source_begin(fixture->cache, &word, &fixture->source), 0);
	assert_int_equal(vpeer_cache_source_begin(fixture->cache, &none, &fixture->plain), 0);
	return fixture;
}

/* Every value was dropped, and once. */
static void end(struct fixture *fixture)
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

static int setup(void **state)
{
	*state = begin(100, 0, false);
	return 0;
}

static int setup_fences(void **state)
{
	*state = begin(100, 0, true);
	return 0;
}

static int teardown(void **state)
{
	end(*state);
	return 0;
}

static struct vpeer_cache_insert range_of(struct fixture *fixture, uint64_t start, uint64_t size)
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

/* The value is accounted for only if the cache takes it. */
static int try_insert(struct fixture *fixture, struct vpeer_cache_insert *insert,
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

static int *put_in(struct fixture *fixture, struct vpeer_cache_insert insert)
{
	struct vpeer_cache_entry *entry;

	assert_int_equal(try_insert(fixture, &insert, &entry), 0);
	vpeer_cache_put(fixture->cache, entry);
	return insert.value;
}

static int *add(struct fixture *fixture, uint64_t start, uint64_t size)
{
	return put_in(fixture, range_of(fixture, start, size));
}

static struct vpeer_cache_entry *get(struct fixture *fixture, uint64_t start, uint64_t size)
{
	return vpeer_cache_get(fixture->cache, start, size, READ, 0);
}

/* The value that a request gets; NULL for none. */
static int *ask(struct fixture *fixture, uint64_t start, uint64_t size)
{
	struct vpeer_cache_entry *entry = get(fixture, start, size);
	int *value = entry ? entry->value : NULL;

	if (entry)
		vpeer_cache_put(fixture->cache, entry);
	return value;
}

static struct vpeer_cache_stats stats_of(struct fixture *fixture)
{
	struct vpeer_cache_stats stats;

	vpeer_cache_stats(fixture->cache, &stats);
	return stats;
}

static void parts_of_a_range(void **state)
{
	struct fixture *fixture = *state;
	int *value = add(fixture, BASE, 10 * PAGE);

	for (int again = 0; again < 2; again++) {
		assert_ptr_equal(ask(fixture, BASE, 10 * PAGE), value);
		assert_ptr_equal(ask(fixture, BASE, 1), value);
		assert_ptr_equal(ask(fixture, BASE + 10 * PAGE - 1, 1), value);
		assert_ptr_equal(ask(fixture, BASE + 3 * PAGE + 5, 2 * PAGE), value);
		assert_null(ask(fixture, BASE - 1, 2));
		assert_null(ask(fixture, BASE - 1, 1));
		assert_null(ask(fixture, BASE + 10 * PAGE, 1));
		assert_null(ask(fixture, BASE + 10 * PAGE - 1, 2));
		assert_null(ask(fixture, BASE, 10 * PAGE + 1));
		assert_null(ask(fixture, BASE + PAGE, UINT64_MAX - BASE));
		assert_null(ask(fixture, BASE + PAGE, UINT64_MAX));
	}
	assert_int_equal(stats_of(fixture).hits, 8);
	assert_int_equal(stats_of(fixture).misses, 14);
	assert_int_equal(stats_of(fixture).slow_hits, 0);
}

static void overlapping(void **state)
{
	struct fixture *fixture = *state;
	int *low = add(fixture, BASE, 4 * PAGE), *high = add(fixture, BASE + 2 * PAGE, 4 * PAGE);
	int *all;

	assert_ptr_equal(ask(fixture, BASE, 4 * PAGE), low);
	assert_ptr_equal(ask(fixture, BASE + 2 * PAGE, 4 * PAGE), high);
	assert_ptr_equal(ask(fixture, BASE + 3 * PAGE, 2 * PAGE), high);
	assert_non_null(ask(fixture, BASE + 2 * PAGE, PAGE));
	assert_null(ask(fixture, BASE + PAGE, 4 * PAGE));
	all = add(fixture, BASE, 6 * PAGE);
	assert_ptr_equal(ask(fixture, BASE + PAGE, 4 * PAGE), all);
	assert_ptr_equal(ask(fixture, BASE, 6 * PAGE), all);
}

static void access_and_kind(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_cache_insert insert = range_of(fixture, BASE, PAGE);
	int *reads, *writes, *other;

	insert.access = READ;
	insert.kind = 1;
	reads = put_in(fixture, insert);
	assert_null(vpeer_cache_get(fixture->cache, BASE, PAGE, READ, 0));
	assert_null(vpeer_cache_get(fixture->cache, BASE, PAGE, WRITE, 1));
	assert_null(vpeer_cache_get(fixture->cache, BASE, PAGE, READ | WRITE, 1));
	insert.access = READ | WRITE;
	writes = put_in(fixture, insert);
	insert.kind = 0x80000001;
	other = put_in(fixture, insert);
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

static void stale_by_generation(void **state)
{
	struct fixture *fixture = *state;
	int *value = add(fixture, BASE, PAGE), *held = add(fixture, BASE + PAGE, PAGE);
	struct vpeer_cache_entry *entry = get(fixture, BASE + PAGE, PAGE);

	assert_ptr_equal(ask(fixture, BASE, PAGE), value);
	assert_ptr_equal(ask(fixture, BASE, PAGE), value);
	fixture->word++;
	assert_int_equal(*value, 0);
	assert_null(ask(fixture, BASE, PAGE));
	assert_int_equal(*value, 1);
	assert_null(ask(fixture, BASE + PAGE, PAGE));
	assert_int_equal(*held, 0);
	assert_int_equal(stats_of(fixture).entries, 1);
	vpeer_cache_put(fixture->cache, entry);
	assert_int_equal(*held, 1);
	assert_int_equal(stats_of(fixture).entries, 0);
	assert_int_equal(stats_of(fixture).bytes, 0);
	assert_int_equal(stats_of(fixture).stale, 2);
	assert_int_equal(stats_of(fixture).drops, 2);
	value = add(fixture, BASE, PAGE);
	assert_ptr_equal(ask(fixture, BASE, PAGE), value);
}

/* Found stale by way of the index, not of the table. */
static void stale_part(void **state)
{
	struct fixture *fixture = *state;
	int *value = add(fixture, BASE, 4 * PAGE);

	fixture->word++;
	assert_null(ask(fixture, BASE + 3 * PAGE, PAGE));
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
	struct fixture *fixture = *state;
	struct buffer buffer = { .id = 77 };
	struct vpeer_cache_source_config config = { .check = same_buffer, .arg = &buffer };
	struct vpeer_cache_insert insert = range_of(fixture, BASE, 4 * PAGE);
	struct vpeer_cache_entry *entry;
	int *value;

	assert_int_equal(vpeer_cache_source_begin(fixture->cache, &config, &insert.source), 0);
	insert.generation = 76;
	assert_int_equal(try_insert(fixture, &insert, &entry), -ESTALE);
	insert.generation = 77;
	value = put_in(fixture, insert);
	buffer.asked = 0;
	for (unsigned int i = 1; i <= 3; i++) {
		assert_ptr_equal(ask(fixture, BASE + PAGE, 2 * PAGE), value);
		assert_int_equal(buffer.asked, i);
		assert_ptr_equal(buffer.value, value);
		assert_int_equal(buffer.start, BASE + PAGE);
		assert_int_equal(buffer.size, 2 * PAGE);
	}
	buffer.id = 78;
	assert_null(ask(fixture, BASE + PAGE, 2 * PAGE));
	assert_int_equal(*value, 1);
	insert.generation = 78;
	value = put_in(fixture, insert);
	buffer.id = 79;
	insert.generation = 79;
	/* One that is stale is in nobody's way. */
	assert_ptr_not_equal(put_in(fixture, insert), value);
	assert_int_equal(*value, 1);
	vpeer_cache_source_end(insert.source);
}

static void source_of_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_cache_insert insert = range_of(fixture, BASE, PAGE);
	struct vpeer_cache_entry *entry;
	int *value, *other = add(fixture, BASE + PAGE, PAGE);

	insert.source = fixture->plain;
	insert.generation = 5;
	value = put_in(fixture, insert);
	fixture->word++;
	assert_ptr_equal(ask(fixture, BASE, PAGE), value);
	assert_ptr_equal(ask(fixture, BASE, PAGE), value);
	vpeer_cache_source_invalidate(fixture->plain);
	assert_int_equal(*value, 1);
	assert_int_equal(*other, 0);
	assert_null(ask(fixture, BASE, PAGE));
	assert_int_equal(stats_of(fixture).invalidated, 1);
	/* The ticket is from before. */
	assert_int_equal(try_insert(fixture, &insert, &entry), -ESTALE);
	insert.ticket = vpeer_cache_ticket(fixture->cache);
	value = put_in(fixture, insert);
	assert_ptr_equal(ask(fixture, BASE, PAGE), value);
}

static void refused_arguments(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_cache_insert insert = range_of(fixture, BASE, 0);
	struct vpeer_cache_entry *entry = (struct vpeer_cache_entry *)fixture;
	struct vpeer_cache_config config = { .max_entries = 1, .drop = NULL };
	struct vpeer_cache *cache;

	assert_int_equal(try_insert(fixture, &insert, &entry), -EINVAL);
	assert_null(entry);
	insert = range_of(fixture, UINT64_MAX - PAGE + 1, PAGE);
	assert_int_equal(try_insert(fixture, &insert, &entry), -EOVERFLOW);
	insert = range_of(fixture, PAGE, UINT64_MAX);
	assert_int_equal(try_insert(fixture, &insert, &entry), -EOVERFLOW);
	insert = range_of(fixture, BASE, PAGE);
	insert.source = NULL;
	assert_int_equal(try_insert(fixture, &insert, &entry), -EINVAL);
	assert_int_equal(vpeer_cache_begin(&cache, &config), -EINVAL);
	assert_null(cache);
	config.drop = drop;
	config.max_entries = 0;
	assert_int_equal(vpeer_cache_begin(&cache, &config), -EINVAL);
	config.max_entries = VPEER_CACHE_MAX_ENTRIES + 1;
	assert_int_equal(vpeer_cache_begin(&cache, &config), -EINVAL);
	assert_int_equal(vpeer_cache_end(NULL), 0);
}

/* The last addresses and the first: no sum goes over the end. */
static void ends_of_the_space(void **state)
{
	struct fixture *fixture = *state;
	int *last = add(fixture, UINT64_MAX - PAGE, PAGE), *first = add(fixture, 0, PAGE);

	assert_ptr_equal(ask(fixture, UINT64_MAX - PAGE, PAGE), last);
	assert_ptr_equal(ask(fixture, UINT64_MAX - 1, 1), last);
	assert_null(ask(fixture, UINT64_MAX - 1, 2));
	assert_null(ask(fixture, UINT64_MAX, 1));
	assert_ptr_equal(ask(fixture, 0, PAGE), first);
	assert_null(ask(fixture, PAGE, 1));
	vpeer_cache_invalidate(fixture->cache, UINT64_MAX - 1, UINT64_MAX);
	assert_int_equal(*last, 1);
	assert_int_equal(*first, 0);
}

static void someone_was_faster(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_cache_insert insert = range_of(fixture, BASE + PAGE, PAGE);
	struct vpeer_cache_entry *entry;
	int *value = add(fixture, BASE, 4 * PAGE);

	assert_int_equal(try_insert(fixture, &insert, &entry), -EEXIST);
	assert_ptr_equal(entry->value, value);
	vpeer_cache_source_invalidate(fixture->source);
	assert_int_equal(*value, 0);
	vpeer_cache_put(fixture->cache, entry);
	assert_int_equal(*value, 1);
}

static void revoked_meanwhile(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_cache_insert insert = range_of(fixture, BASE, PAGE);
	struct vpeer_cache_entry *entry;

	fixture->word++;
	assert_int_equal(try_insert(fixture, &insert, &entry), -ESTALE);
	assert_null(entry);
	assert_null(ask(fixture, BASE, PAGE));
	assert_int_equal(stats_of(fixture).entries, 0);
	insert.generation = fixture->word;
	assert_int_equal(try_insert(fixture, &insert, &entry), 0);
	vpeer_cache_put(fixture->cache, entry);
}

static void invalidated_meanwhile(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_cache_insert insert = range_of(fixture, BASE, 2 * PAGE);
	struct vpeer_cache_entry *entry;

	vpeer_cache_invalidate(fixture->cache, BASE + 2 * PAGE, PAGE);
	vpeer_cache_invalidate(fixture->cache, BASE - PAGE, PAGE);
	put_in(fixture, insert);
	vpeer_cache_invalidate(fixture->cache, BASE + 2 * PAGE - 1, 1);
	assert_int_equal(try_insert(fixture, &insert, &entry), -ESTALE);
	insert.ticket = vpeer_cache_ticket(fixture->cache);
	put_in(fixture, insert);
	/* So many later that nobody knows any more where the first ones were. */
	insert = range_of(fixture, BASE + 100 * PAGE, PAGE);
	for (int i = 0; i < 64; i++)
		vpeer_cache_invalidate(fixture->cache, BASE + 50 * PAGE, PAGE);
	put_in(fixture, insert);
	vpeer_cache_invalidate(fixture->cache, BASE + 50 * PAGE, PAGE);
	insert.start += PAGE;
	assert_int_equal(try_insert(fixture, &insert, &entry), -EBUSY);
}

static void invalidated_range(void **state)
{
	struct fixture *fixture = *state;
	int *values[8];
	struct vpeer_cache_entry *held;

	for (int i = 0; i < 8; i++)
		values[i] = add(fixture, BASE + 2 * i * PAGE, 2 * PAGE);
	held = get(fixture, BASE + 6 * PAGE, PAGE);
	vpeer_cache_invalidate(fixture->cache, BASE + 4 * PAGE, 0);
	vpeer_cache_invalidate(fixture->cache, BASE + 5 * PAGE, 3 * PAGE + 1);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(*values[i], i == 2 || i == 4);
		assert_ptr_equal(ask(fixture, BASE + 2 * i * PAGE, PAGE),
				 i >= 2 && i <= 4 ? NULL : values[i]);
	}
	vpeer_cache_put(fixture->cache, held);
	assert_int_equal(*values[3], 1);
	vpeer_cache_invalidate(fixture->cache, BASE, UINT64_MAX);
	assert_int_equal(stats_of(fixture).entries, 0);
	assert_int_equal(stats_of(fixture).invalidated, 8);
}

static void reclaimed(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_cache_insert insert = range_of(fixture, BASE + 2 * PAGE, PAGE);
	int *idle = add(fixture, BASE, PAGE), *held = add(fixture, BASE + PAGE, PAGE), *plain;
	struct vpeer_cache_entry *entry = get(fixture, BASE + PAGE, PAGE);

	insert.source = fixture->plain;
	plain = put_in(fixture, insert);
	vpeer_cache_reclaim(fixture->cache);
	assert_int_equal(*idle, 0);
	fixture->word++;
	vpeer_cache_reclaim(fixture->cache);
	assert_int_equal(*idle, 1);
	assert_int_equal(*held, 0);
	vpeer_cache_put(fixture->cache, entry);
	assert_int_equal(*held, 1);
	assert_int_equal(*plain, 0);
	idle = add(fixture, BASE, PAGE);
	vpeer_cache_reclaim(fixture->cache);
	assert_int_equal(*idle, 0);
	fixture->word++;
	vpeer_cache_reclaim(fixture->cache);
	assert_int_equal(*idle, 1);
	assert_int_equal(stats_of(fixture).stale, 3);
}

/* More at once than are dropped in one go. */
static void many_at_once(void **state)
{
	struct fixture *fixture = begin(1000, 0, false);

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		add(fixture, BASE + i * PAGE, PAGE);
	assert_int_equal(stats_of(fixture).entries, 1000);
	fixture->word++;
	vpeer_cache_reclaim(fixture->cache);
	assert_int_equal(stats_of(fixture).drops, 1000);
	assert_int_equal(stats_of(fixture).entries, 0);
	assert_int_equal(stats_of(fixture).peak_entries, 1000);
	assert_int_equal(stats_of(fixture).peak_bytes, 1000 * PAGE);
	end(fixture);
}

static void bound_of_entries(void **state)
{
	struct fixture *fixture = begin(4, 0, false);
	int *values[5];

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		values[i] = add(fixture, BASE + i * PAGE, PAGE);
	/* The first one is used, so the second one is the one not used for longest. */
	assert_ptr_equal(ask(fixture, BASE, PAGE), values[0]);
	values[4] = add(fixture, BASE + 4 * PAGE, PAGE);
	assert_int_equal(*values[1], 1);
	for (uint64_t i = 0; i < 5; i++)
		assert_ptr_equal(ask(fixture, BASE + i * PAGE, PAGE), i == 1 ? NULL : values[i]);
	assert_int_equal(stats_of(fixture).evictions, 1);
	assert_int_equal(stats_of(fixture).entries, 4);
	assert_int_equal(stats_of(fixture).peak_entries, 4);
	end(fixture);
}

/* Without hits it is the order of insertion. */
static void order_of_eviction(void **state)
{
	struct fixture *fixture = begin(8, 0, false);
	int *values[40];

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		values[i] = add(fixture, BASE + i * PAGE, PAGE);
		for (uint64_t j = 0; j <= i; j++)
			assert_int_equal(*values[j], j + 8 <= i);
	}
	end(fixture);
}

static void bound_of_bytes(void **state)
{
	struct fixture *fixture = begin(100, 10 * PAGE, false);
	struct vpeer_cache_insert insert = range_of(fixture, BASE + 100 * PAGE, 11 * PAGE);
	struct vpeer_cache_entry *entry;
	int *values[5];

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		values[i] = add(fixture, BASE + 2 * i * PAGE, 2 * PAGE);
	assert_int_equal(try_insert(fixture, &insert, &entry), -ENOSPC);
	assert_int_equal(stats_of(fixture).evictions, 0);
	add(fixture, BASE + 50 * PAGE, 3 * PAGE);
	assert_int_equal(*values[0] + *values[1], 2);
	assert_int_equal(*values[2] + *values[3] + *values[4], 0);
	assert_int_equal(stats_of(fixture).bytes, 9 * PAGE);
	add(fixture, BASE + 60 * PAGE, PAGE);
	assert_int_equal(stats_of(fixture).bytes, 10 * PAGE);
	insert.size = 10 * PAGE;
	put_in(fixture, insert);
	assert_int_equal(stats_of(fixture).entries, 1);
	assert_int_equal(stats_of(fixture).peak_bytes, 10 * PAGE);
	end(fixture);
}

static void bound_of_a_budget(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_cache_budget budget = { .limit = 3 * PAGE }, other = { .limit = 2 * PAGE };
	struct vpeer_cache_insert insert = range_of(fixture, BASE, PAGE);
	struct vpeer_cache_entry *entry;
	int *old = put_in(fixture, insert), *values[4], *theirs;

	insert.budget = &other;
	insert.start += PAGE;
	theirs = put_in(fixture, insert);
	insert.budget = &budget;
	for (int i = 0; i < 4; i++) {
		insert.start += PAGE;
		values[i] = put_in(fixture, insert);
	}
	assert_int_equal(*old + *theirs, 0);
	assert_int_equal(*values[0], 1);
	assert_int_equal(*values[1] + *values[2] + *values[3], 0);
	assert_int_equal(budget.used, 3 * PAGE);
	assert_int_equal(other.used, PAGE);
	insert.start += PAGE;
	insert.size = 3 * PAGE + 1;
	assert_int_equal(try_insert(fixture, &insert, &entry), -ENOSPC);
	assert_int_equal(*values[1] + *values[2] + *values[3], 0);
	vpeer_cache_source_invalidate(fixture->source);
	assert_int_equal(budget.used + other.used, 0);
}

static void in_use_is_not_evicted(void **state)
{
	struct fixture *fixture = begin(3, 0, false);
	struct vpeer_cache_insert insert = range_of(fixture, BASE + 9 * PAGE, PAGE);
	struct vpeer_cache_entry *entries[3], *entry;
	int *values[3];

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		values[i] = add(fixture, BASE + i * PAGE, PAGE);
		entries[i] = get(fixture, BASE + i * PAGE, PAGE);
	}
	assert_int_equal(try_insert(fixture, &insert, &entry), -ENOSPC);
	assert_null(entry);
	assert_int_equal(*values[0] + *values[1] + *values[2], 0);
	vpeer_cache_put(fixture->cache, entries[1]);
	put_in(fixture, insert);
	assert_int_equal(*values[1], 1);
	for (uint64_t i = 0; i < 3; i += 2) {
		assert_ptr_equal(ask(fixture, BASE + i * PAGE, PAGE), values[i]);
		vpeer_cache_put(fixture->cache, entries[i]);
	}
	end(fixture);
}

/* What is invalid but in use counts until it is dropped; an idle one that is too small stays. */
static void no_room_for_all(void **state)
{
	struct fixture *fixture = begin(10, 4 * PAGE, false);
	struct vpeer_cache_insert insert = range_of(fixture, BASE + 9 * PAGE, 3 * PAGE);
	struct vpeer_cache_entry *entry, *held;
	int *value, *idle;

	(void)state;
	value = add(fixture, BASE, 2 * PAGE);
	held = get(fixture, BASE, PAGE);
	vpeer_cache_invalidate(fixture->cache, BASE, 1);
	assert_int_equal(stats_of(fixture).bytes, 2 * PAGE);
	idle = add(fixture, BASE + 2 * PAGE, PAGE);
	assert_int_equal(try_insert(fixture, &insert, &entry), -ENOSPC);
	assert_int_equal(*idle, 0);
	for (int again = 0; again < 2; again++)
		assert_ptr_equal(ask(fixture, BASE + 2 * PAGE, PAGE), idle);
	assert_int_equal(stats_of(fixture).slow_hits, 0);
	vpeer_cache_put(fixture->cache, held);
	assert_int_equal(*value, 1);
	put_in(fixture, insert);
	end(fixture);
}

/* More references than a thread has slots, in an order that is not that of taking them. */
static void many_references(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_cache_entry *entries[100];
	int *values[4];

	for (int i = 0; i < 4; i++)
		values[i] = add(fixture, BASE + i * PAGE, PAGE);
	for (int i = 0; i < 100; i++) {
		entries[i] = get(fixture, BASE + i % 4 * PAGE, PAGE);
		assert_non_null(entries[i]);
	}
	vpeer_cache_source_invalidate(fixture->source);
	for (int i = 0; i < 96; i++)
		vpeer_cache_put(fixture->cache, entries[i * 5 % 96]);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(*values[i], 0);
		vpeer_cache_put(fixture->cache, entries[96 + i]);
		assert_int_equal(*values[i], 1);
	}
}

struct hand {
	struct fixture *fixture;
	struct vpeer_cache_entry *entries[40];
};

static void *give_back(void *arg)
{
	struct hand *hand = arg;

	for (int i = 0; i < 40; i++)
		vpeer_cache_put(hand->fixture->cache, hand->entries[i]);
	return NULL;
}

static void *take(void *arg)
{
	struct hand *hand = arg;

	for (int i = 0; i < 40; i++)
		hand->entries[i] = get(hand->fixture, BASE, PAGE);
	return NULL;
}

static void run(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, function, arg), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* References of this thread given back by another, and the other way round after it has ended. */
static void hand_over(void **state)
{
	struct hand hand = { .fixture = *state };
	int *value;

	for (int round = 0; round < 5; round++) {
		value = add(hand.fixture, BASE, PAGE);
		take(&hand);
		vpeer_cache_invalidate(hand.fixture->cache, BASE, PAGE);
		assert_int_equal(*value, 0);
		run(give_back, &hand);
		assert_int_equal(*value, 1);
		value = add(hand.fixture, BASE, PAGE);
		run(take, &hand);
		vpeer_cache_invalidate(hand.fixture->cache, BASE, PAGE);
		assert_int_equal(*value, 0);
		give_back(&hand);
		assert_int_equal(*value, 1);
	}
}

static void end_in_use(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_cache_source_config config = {
		.word = &fixture->word,
		.release = release,
	};
	struct vpeer_cache_insert insert = range_of(fixture, BASE, PAGE);
	struct vpeer_cache_entry *entry;
	int released = 0;

	config.arg = &released;
	assert_int_equal(vpeer_cache_source_begin(fixture->cache, &config, &insert.source), 0);
	assert_int_equal(try_insert(fixture, &insert, &entry), 0);
	vpeer_cache_source_end(insert.source);
	assert_int_equal(*(int *)entry->value, 0);
	assert_int_equal(released, 0);
	assert_null(ask(fixture, BASE, PAGE));
	vpeer_cache_put(fixture->cache, entry);
	assert_int_equal(*(int *)insert.value, 1);
	assert_int_equal(released, 1);
}

/* In the child; the status tells at which line something was wrong. */
#define IN_CHILD(condition)			\
	do {					\
		if (!(condition))		\
			_exit(__LINE__ % 255 + 1);	\
	} while (0)

static void be_child(struct fixture *fixture, struct vpeer_cache_entry *entry)
{
	struct vpeer_cache_insert insert = range_of(fixture, BASE + 9 * PAGE, PAGE);
	struct vpeer_cache_source_config config = { 0 };
	struct vpeer_cache_source *source;
	struct vpeer_cache_entry *other;

	insert.value = &fixture->dropped[VALUES - 1];
	IN_CHILD(!get(fixture, BASE, PAGE));
	IN_CHILD(!get(fixture, BASE + PAGE, PAGE));
	IN_CHILD(vpeer_cache_insert(fixture->cache, &insert, &other) == -ECHILD);
	IN_CHILD(vpeer_cache_source_begin(fixture->cache, &config, &source) == -ECHILD);
	fixture->word++;
	IN_CHILD(!get(fixture, BASE, PAGE));
	vpeer_cache_reclaim(fixture->cache);
	vpeer_cache_invalidate(fixture->cache, 0, UINT64_MAX);
	vpeer_cache_source_invalidate(fixture->source);
	vpeer_cache_put(fixture->cache, entry);
	IN_CHILD(stats_of(fixture).entries == 0);
	vpeer_cache_source_end(fixture->source);
	IN_CHILD(vpeer_cache_end(fixture->cache) == 0);
	for (unsigned int i = 0; i < fixture->values; i++)
		IN_CHILD(fixture->dropped[i] == 0);
	IN_CHILD(fixture->released == 0);
	_exit(0);
}

static void child_of_fork(void **state)
{
	struct fixture *fixture = *state;
	int *values[] = { add(fixture, BASE, PAGE), add(fixture, BASE + PAGE, PAGE) }, status;
	struct vpeer_cache_entry *entry = get(fixture, BASE, PAGE);
	pid_t child;

	/* Dead, and waiting for its last reference: the child's put must not drop it. */
	vpeer_cache_invalidate(fixture->cache, BASE, 1);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		be_child(fixture, entry);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_ptr_equal(ask(fixture, BASE + PAGE, PAGE), values[1]);
	assert_int_equal(*values[0], 0);
	vpeer_cache_put(fixture->cache, entry);
	assert_int_equal(*values[0], 1);
}

/* Memory is freed and allocated at the same address, with other memory behind it. */
static void address_again(void **state)
{
	struct fixture *fixture = *state;
	int *before = NULL;

	for (int round = 0; round < 1000; round++) {
		uint64_t start = BASE + round % 3 * PAGE;
		int *value;

		assert_null(ask(fixture, start, PAGE));
		value = add(fixture, start, 8 * PAGE);
		assert_ptr_not_equal(value, before);
		for (int i = 0; i < 4; i++)
			assert_ptr_equal(ask(fixture, start + i % 2 * PAGE, PAGE), value);
		if (round % 2)
			fixture->word++;
		else
			vpeer_cache_invalidate(fixture->cache, start + 7 * PAGE, PAGE);
		for (int i = 0; i < 4; i++)
			assert_null(ask(fixture, start + i % 2 * PAGE, PAGE));
		assert_int_equal(*value, 1);
		before = value;
	}
	assert_int_equal(stats_of(fixture).drops, 1000);
}

/* Ranges of all sizes, in an order that lets the table be made anew often, are found without the index. */
static void many_sizes(void **state)
{
	struct fixture *fixture = begin(VALUES, 0, false);
	int *values[3000];
	uint64_t slow;

	(void)state;
	for (uint64_t i = 0; i < 3000; i++)
		values[i] = add(fixture, BASE + (i << 24), PAGE << (11 - i / 250));
	slow = stats_of(fixture).slow_hits;
	for (int again = 0; again < 2; again++)
		for (uint64_t i = 0; i < 3000; i++)
			assert_ptr_equal(ask(fixture, BASE + (i << 24), PAGE), values[i]);
	assert_in_range(stats_of(fixture).slow_hits - slow, 0, 30);
	assert_int_equal(stats_of(fixture).hits, 6000);
	end(fixture);
}

/* Parts of a large range among small ones take their places too, and are then found without the index. */
static void many_parts(void **state)
{
	struct fixture *fixture = begin(300, 0, false);
	int *value = add(fixture, BASE + (1ULL << 40), 64 << 20);
	uint64_t slow = 0;

	(void)state;
	for (uint64_t i = 0; i < 200; i++)
		add(fixture, BASE + i * PAGE, PAGE);
	for (int again = 0; again < 40; again++) {
		slow = stats_of(fixture).slow_hits;
		for (uint64_t i = 0; i < 16384; i++)
			assert_ptr_equal(ask(fixture, BASE + (1ULL << 40) + i * PAGE + 64, 8),
					 value);
	}
	assert_in_range(stats_of(fixture).slow_hits - slow, 0, 400);
	assert_true(stats_of(fixture).slow_hits >= 16000);
	end(fixture);
}

/* Small ranges close to one another, after large ones far apart that the table was made for. */
static void crowd(void **state)
{
	struct fixture *fixture = begin(VALUES, 0, false);
	int *values[100];
	uint64_t slow;

	(void)state;
	for (uint64_t i = 0; i < 10; i++)
		add(fixture, BASE + (i << 34), 1 << 30);
	for (uint64_t i = 0; i < 100; i++)
		values[i] = add(fixture, BASE + (1ULL << 45) + i * PAGE, PAGE);
	slow = stats_of(fixture).slow_hits;
	for (uint64_t i = 0; i < 100; i++)
		assert_ptr_equal(ask(fixture, BASE + (1ULL << 45) + i * PAGE, PAGE), values[i]);
	assert_int_equal(stats_of(fixture).slow_hits, slow);
	end(fixture);
}

static void told_by_stats(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, BASE, PAGE);
	assert_int_equal(stats_of(fixture).inserts, 1);
	assert_int_equal(stats_of(fixture).bytes, PAGE);
	assert_true(stats_of(fixture).memory > 4096);
	for (int i = 0; i < 1000; i++)
		ask(fixture, BASE, PAGE);
	assert_int_equal(stats_of(fixture).hits, 1000);
	assert_int_equal(stats_of(fixture).slow_hits, 0);
	assert_int_equal(stats_of(fixture).misses, 0);
}

static void fences_told(void **state)
{
	assert_true(stats_of(*state).fenced);
}

#define CASE(name)		cmocka_unit_test_setup_teardown(name, setup, teardown)
#define FENCED(name)		{ #name " with fences", name, setup_fences, teardown, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(parts_of_a_range),
		CASE(overlapping),
		CASE(access_and_kind),
		CASE(stale_by_generation),
		CASE(stale_part),
		CASE(asked_source),
		CASE(source_of_nothing),
		CASE(refused_arguments),
		CASE(ends_of_the_space),
		CASE(someone_was_faster),
		CASE(revoked_meanwhile),
		CASE(invalidated_meanwhile),
		CASE(invalidated_range),
		CASE(reclaimed),
		CASE(bound_of_a_budget),
		CASE(many_references),
		CASE(hand_over),
		CASE(end_in_use),
		CASE(child_of_fork),
		CASE(address_again),
		CASE(told_by_stats),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(bound_of_entries),
		cmocka_unit_test(order_of_eviction),
		cmocka_unit_test(bound_of_bytes),
		cmocka_unit_test(in_use_is_not_evicted),
		cmocka_unit_test(no_room_for_all),
		cmocka_unit_test(many_sizes),
		cmocka_unit_test(many_parts),
		cmocka_unit_test(crowd),
		FENCED(parts_of_a_range),
		FENCED(stale_by_generation),
		FENCED(many_references),
		FENCED(hand_over),
		FENCED(child_of_fork),
		FENCED(fences_told),
	};

	return cmocka_run_group_tests_name("cache", tests, NULL, NULL) != 0;
}
