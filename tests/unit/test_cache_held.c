// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Registrations that are held, by this thread, by others, and across fork(). */
#include "cache_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* More references than a thread has slots, in an order that is not that of taking them. */
static void many_references(void **state)
{
	struct cache_fixture *fixture = *state;
	struct vpeer_cache_entry *entries[100];
	int *values[4];

	for (int i = 0; i < 4; i++)
		values[i] = cached_add(fixture, BASE + i * PAGE, PAGE);
	for (int i = 0; i < 100; i++) {
		entries[i] = cached_get(fixture, BASE + i % 4 * PAGE, PAGE);
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
	struct cache_fixture *fixture;
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
		hand->entries[i] = cached_get(hand->fixture, BASE, PAGE);
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
		value = cached_add(hand.fixture, BASE, PAGE);
		take(&hand);
		vpeer_cache_invalidate(hand.fixture->cache, BASE, PAGE);
		assert_int_equal(*value, 0);
		run(give_back, &hand);
		assert_int_equal(*value, 1);
		value = cached_add(hand.fixture, BASE, PAGE);
		run(take, &hand);
		vpeer_cache_invalidate(hand.fixture->cache, BASE, PAGE);
		assert_int_equal(*value, 0);
		give_back(&hand);
		assert_int_equal(*value, 1);
	}
}

static void end_in_use(void **state)
{
	struct cache_fixture *fixture = *state;
	struct vpeer_cache_source_config config = {
		.word = &fixture->word,
		.release = cached_release,
	};
	struct vpeer_cache_insert insert = cached_range(fixture, BASE, PAGE);
	struct vpeer_cache_entry *entry;
	int released = 0;

	config.arg = &released;
	assert_int_equal(vpeer_cache_source_begin(fixture->cache, &config, &insert.source), 0);
	assert_int_equal(cached_try_insert(fixture, &insert, &entry), 0);
	vpeer_cache_source_end(insert.source);
	assert_int_equal(*(int *)entry->value, 0);
	assert_int_equal(released, 0);
	assert_null(cached_ask(fixture, BASE, PAGE));
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

static void be_child(struct cache_fixture *fixture, struct vpeer_cache_entry *entry)
{
	struct vpeer_cache_insert insert = cached_range(fixture, BASE + 9 * PAGE, PAGE);
	struct vpeer_cache_source_config config = { 0 };
	struct vpeer_cache_source *source;
	struct vpeer_cache_entry *other;

	insert.value = &fixture->dropped[VALUES - 1];
	IN_CHILD(!cached_get(fixture, BASE, PAGE));
	IN_CHILD(!cached_get(fixture, BASE + PAGE, PAGE));
	IN_CHILD(vpeer_cache_insert(fixture->cache, &insert, &other) == -ECHILD);
	IN_CHILD(vpeer_cache_source_begin(fixture->cache, &config, &source) == -ECHILD);
	fixture->word++;
	IN_CHILD(!cached_get(fixture, BASE, PAGE));
	vpeer_cache_reclaim(fixture->cache);
	vpeer_cache_invalidate(fixture->cache, 0, UINT64_MAX);
	vpeer_cache_source_invalidate(fixture->source);
	vpeer_cache_put(fixture->cache, entry);
	IN_CHILD(cached_stats(fixture).entries == 0);
	vpeer_cache_source_end(fixture->source);
	IN_CHILD(vpeer_cache_end(fixture->cache) == 0);
	for (unsigned int i = 0; i < fixture->values; i++)
		IN_CHILD(fixture->dropped[i] == 0);
	IN_CHILD(fixture->released == 0);
	_exit(0);
}

static void child_of_fork(void **state)
{
	struct cache_fixture *fixture = *state;
	int *values[] = {
		cached_add(fixture, BASE, PAGE),
		cached_add(fixture, BASE + PAGE, PAGE),
	};
	struct vpeer_cache_entry *entry = cached_get(fixture, BASE, PAGE);
	int status;
	pid_t child;

	/* Dead, and waiting for its last reference: the child's put must not drop it. */
	vpeer_cache_invalidate(fixture->cache, BASE, 1);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		be_child(fixture, entry);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_ptr_equal(cached_ask(fixture, BASE + PAGE, PAGE), values[1]);
	assert_int_equal(*values[0], 0);
	vpeer_cache_put(fixture->cache, entry);
	assert_int_equal(*values[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(many_references),
		CASE(hand_over),
		CASE(end_in_use),
		CASE(child_of_fork),
		FENCED(many_references),
		FENCED(hand_over),
		FENCED(child_of_fork),
	};

	return cmocka_run_group_tests_name("cache_held", tests, NULL, NULL) != 0;
}
