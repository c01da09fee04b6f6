// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The cache where membarrier() is refused once it is in use: what a thread may have
 * noted before without a fence is not dropped until the thread is known to need one.
 * Each case is a process of its own, as its filter stays.
 */
#include <setjmp.h>
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache.h"
#include "forbid.h"

#define PAGE	4096ULL
#define BASE	0x7f0000000000ULL

static struct {
	struct vpeer_cache *cache;
	struct vpeer_cache_source *source;
	uint64_t word;
	int dropped[8];
	int refused, err, passed;
	int failures;

	/* Another thread, which does a step when it is told to. */
	pthread_t thread;
	sem_t go, done;
	void (*step)(void);
	struct vpeer_cache_entry *held;
} world;

#define EXPECT(condition)								\
	do {										\
		if (!(condition)) {							\
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);	\
			world.failures++;						\
		}									\
	} while (0)

static void drop(void *user, void *value)
{
	(void)user;
	++*(int *)value;
}

static void refused(void *user, int err)
{
	(void)user;
	world.refused++;
	world.err = err;
}

static void passed(void *user)
{
	(void)user;
	world.passed++;
}

static void *serve(void *arg)
{
	(void)arg;
	for (;;) {
		sem_wait(&world.go);
		if (!world.step)
			return NULL;
		world.step();
		sem_post(&world.done);
	}
}

/* By the other thread. */
static void let(void (*step)(void))
{
	world.step = step;
	sem_post(&world.go);
	sem_wait(&world.done);
}

static void leave(void)
{
	world.step = NULL;
	sem_post(&world.go);
	pthread_join(world.thread, NULL);
}

static int try_insert(unsigned int which)
{
	struct vpeer_cache_insert insert = {
		.start = BASE + which * PAGE,
		.size = PAGE,
		.generation = world.word,
		.ticket = vpeer_cache_ticket(world.cache),
		.source = world.source,
		.value = &world.dropped[which],
	};
	struct vpeer_cache_entry *entry;
	int err = vpeer_cache_insert(world.cache, &insert, &entry);

	if (!err)
		vpeer_cache_put(world.cache, entry);
	return err;
}

static struct vpeer_cache_entry *get(unsigned int which)
{
	return vpeer_cache_get(world.cache, BASE + which * PAGE, PAGE, 0, 0);
}

static void hold_first(void)
{
	world.held = get(0);
}

static void give_back(void)
{
	vpeer_cache_put(world.cache, world.held);
}

static void hit_first(void)
{
	for (int i = 0; i < 3; i++) {
		hold_first();
		EXPECT(world.held);
		give_back();
	}
}

static void miss(void)
{
	EXPECT(!get(7));
}

static void reclaim(void)
{
	vpeer_cache_reclaim(world.cache);
}

static uint64_t entries(void)
{
	struct vpeer_cache_stats stats;

	vpeer_cache_stats(world.cache, &stats);
	return stats.entries;
}

static bool fenced(void)
{
	struct vpeer_cache_stats stats;

	vpeer_cache_stats(world.cache, &stats);
	return stats.fenced;
}

static void begin(uint32_t max_entries)
{
	struct vpeer_cache_config config = {
		.max_entries = max_entries,
		.drop = drop,
		.refused = refused,
		.passed = passed,
	};
	struct vpeer_cache_source_config source = { .word = &world.word };

	memset(&world, 0, sizeof(world));
	sem_init(&world.go, 0, 0);
	sem_init(&world.done, 0, 0);
	EXPECT(!vpeer_cache_begin(&world.cache, &config));
	EXPECT(!vpeer_cache_source_begin(world.cache, &source, &world.source));
	EXPECT(!try_insert(0));
	EXPECT(!fenced() && !world.refused);
	EXPECT(!pthread_create(&world.thread, NULL, serve, NULL));
}

/* All of it dropped, and once. */
static void end(unsigned int values)
{
	vpeer_cache_source_end(world.source);
	EXPECT(!vpeer_cache_end(world.cache));
	for (unsigned int i = 0; i < values; i++)
		EXPECT(world.dropped[i] == 1);
	EXPECT(world.refused == 1 && world.err == EPERM);
}

static void invalidate(unsigned int which)
{
	EXPECT(vpeer_cache_invalidate(world.cache, BASE + which * PAGE, PAGE) == 1);
}

/* No other thread had hits. */
static void alone(void)
{
	begin(4);
	EXPECT(forbid_membarrier(false));
	invalidate(0);
	EXPECT(world.dropped[0] == 1 && world.refused == 1 && fenced());
	EXPECT(!try_insert(1));
	world.held = get(1);
	EXPECT(world.held);
	invalidate(1);
	EXPECT(!world.dropped[1]);
	give_back();
	EXPECT(world.dropped[1] == 1);
	leave();
	end(2);
}

static void idle_thread(void)
{
	begin(4);
	let(hit_first);
	EXPECT(forbid_membarrier(true));
	invalidate(0);
	reclaim();
	EXPECT(!world.dropped[0] && entries() == 1 && world.refused == 1);
	EXPECT(!get(0) && !world.passed);
	let(miss);
	EXPECT(world.passed == 1);
	reclaim();
	EXPECT(world.dropped[0] == 1 && !entries());
	let(miss);
	EXPECT(world.passed == 1);
	leave();
	end(1);
}

static void ending_thread(void)
{
	begin(4);
	let(hit_first);
	EXPECT(forbid_membarrier(true));
	invalidate(0);
	EXPECT(!world.dropped[0]);
	leave();
	reclaim();
	EXPECT(world.dropped[0] == 1);
	end(1);
}

/* The other thread may still call it. */
static void other_filter(void)
{
	begin(4);
	let(hit_first);
	EXPECT(forbid_membarrier(false));
	invalidate(0);
	EXPECT(!world.dropped[0]);
	let(reclaim);
	EXPECT(world.dropped[0] == 1);
	leave();
	end(1);
}

static void evicted(void)
{
	begin(1);
	let(hit_first);
	EXPECT(forbid_membarrier(true));
	EXPECT(try_insert(1) == -ENOSPC);
	EXPECT(!vpeer_cache_trim(world.cache, 0));
	EXPECT(!world.dropped[0] && entries() == 1);
	let(hit_first);
	EXPECT(!try_insert(1));
	EXPECT(world.dropped[0] == 1);
	EXPECT(vpeer_cache_trim(world.cache, 0) == 1);
	leave();
	end(2);
}

/* At the end, when no thread is in a call. */
static void cleared(void)
{
	begin(4);
	EXPECT(!try_insert(1));
	let(hit_first);
	EXPECT(forbid_membarrier(true));
	invalidate(0);
	EXPECT(!world.dropped[0]);
	vpeer_cache_clear(world.cache);
	EXPECT(world.dropped[0] == 1 && world.dropped[1] == 1);
	/* And no longer. */
	EXPECT(!try_insert(2));
	invalidate(2);
	EXPECT(!world.dropped[2]);
	leave();
	reclaim();
	end(3);
}

static void held(void)
{
	struct vpeer_cache_entry *entry;

	begin(4);
	EXPECT(!try_insert(1));
	entry = get(1);
	vpeer_cache_put(world.cache, entry);
	let(hold_first);
	EXPECT(vpeer_cache_held(world.cache, world.held, &world.dropped[0]) == 1);
	EXPECT(vpeer_cache_held(world.cache, entry, &world.dropped[1]) == 0);
	EXPECT(forbid_membarrier(true));
	EXPECT(vpeer_cache_held(world.cache, world.held, &world.dropped[0]) == 1);
	EXPECT(vpeer_cache_held(world.cache, entry, &world.dropped[1]) == -EAGAIN);
	invalidate(0);
	EXPECT(!world.dropped[0]);
	let(give_back);
	EXPECT(world.passed == 1);
	EXPECT(vpeer_cache_held(world.cache, entry, &world.dropped[1]) == 0);
	reclaim();
	EXPECT(world.dropped[0] == 1);
	leave();
	end(2);
}

/* It was never there. */
static void from_the_beginning(void)
{
	EXPECT(forbid_membarrier(true));
	memset(&world, 0, sizeof(world));
	EXPECT(!vpeer_cache_begin(&world.cache, &(struct vpeer_cache_config){
		.max_entries = 4, .drop = drop, .refused = refused, .passed = passed }));
	EXPECT(world.refused == 1 && world.err == EPERM && fenced());
	EXPECT(!vpeer_cache_end(world.cache));
}

static void in_child(void (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		body();
		_exit(world.failures > 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define CASE(body)				\
	static void in_child_##body(void **state)	\
	{					\
		(void)state;			\
		in_child(body);			\
	}

CASE(alone)
CASE(idle_thread)
CASE(ending_thread)
CASE(other_filter)
CASE(evicted)
CASE(cleared)
CASE(held)
CASE(from_the_beginning)

#define TEST(body)	{ #body, in_child_##body, NULL, NULL, NULL }

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(alone),
		TEST(idle_thread),
		TEST(ending_thread),
		TEST(other_filter),
		TEST(evicted),
		TEST(cleared),
		TEST(held),
		TEST(from_the_beginning),
	};

	return cmocka_run_group_tests_name("cache without membarrier", tests, NULL, NULL) != 0;
}
