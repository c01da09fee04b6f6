// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The cache under threads that look, insert, revoke, invalidate, hand references to
 * one another, fork and end. A value that is used after its drop, dropped twice or
 * never, or found although its memory was replaced before the search, is noted as a
 * failure; sanitizers see the same as races and as use after free.
 */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache.h"
#include "forbid.h"

/* How long it all goes on; more can be given to the compiler. */
#ifndef STEPS
#define STEPS		4000
#endif
#ifndef RACE_MS
#define RACE_MS		400
#endif
#define THREADS		8
#define TURNS		4
#define MEMORIES	48
#define BOUND		40
#define HELD		20
#define PAGE		4096ULL
#define BASE		0x7f0000000000ULL
#define SPACING		(16 * PAGE)
#define OWN		(BASE + (1ULL << 40))	/* where the threads' own memories lie */

/* What is behind an address changes with the generation, as when memory is freed and allocated. */
struct memory {
	struct vpeer_cache_source *source;
	uint64_t generation;
	bool asked;
};

/* Plain, so that only the cache orders its use and its end. */
struct value {
	uint64_t generation;
	int uses;
	int dropped;
	int *plain;
	struct value *next;
};

struct held {
	struct vpeer_cache_entry *entry;
	struct value *value;
};

struct world {
	struct vpeer_cache *cache;
	struct memory memories[MEMORIES];
	struct held handed[64];
	pthread_mutex_t hand;
	struct value *values;	/* all that were inserted, until the end */
	uint64_t inserted, dropped, forks;
	int failed_line;
};

static struct world world;

#define EXPECT(condition)							\
	do {									\
		if (!(condition))						\
			__atomic_store_n(&world.failed_line, __LINE__,		\
					 __ATOMIC_RELAXED);			\
	} while (0)

struct worker {
	pthread_t thread;
	uint64_t random;
	struct held held[HELD];
	unsigned int count;
};

static uint32_t draw(struct worker *worker, uint32_t below)
{
	worker->random = worker->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(worker->random >> 33) % below;
}

static struct value *new_value(uint64_t generation)
{
	struct value *value = calloc(1, sizeof(*value));

	value->generation = generation;
	value->plain = calloc(1, sizeof(*value->plain));
	return value;
}

static void drop(void *user, void *arg)
{
	struct value *value = arg;

	(void)user;
	EXPECT(!__atomic_load_n(&value->uses, __ATOMIC_SEQ_CST));
	EXPECT(__atomic_add_fetch(&value->dropped, 1, __ATOMIC_SEQ_CST) == 1);
	*value->plain = 1;
	free(value->plain);
	__atomic_add_fetch(&world.dropped, 1, __ATOMIC_RELAXED);
}

/* It stays after its drop, for whoever wrongly uses it then. */
static void remember(struct value *value)
{
	value->next = __atomic_load_n(&world.values, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&world.values, &value->next, value, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static void use(struct value *value)
{
	__atomic_add_fetch(&value->uses, 1, __ATOMIC_SEQ_CST);
	EXPECT(!__atomic_load_n(&value->dropped, __ATOMIC_SEQ_CST));
}

static void stop_using(struct value *value)
{
	EXPECT(!__atomic_load_n(&value->dropped, __ATOMIC_SEQ_CST));
	if (!__atomic_load_n(&value->dropped, __ATOMIC_SEQ_CST))
		EXPECT(!*value->plain);
	__atomic_sub_fetch(&value->uses, 1, __ATOMIC_SEQ_CST);
}

static bool still(void *arg, const void *value, uint64_t start, uint64_t size,
		  uint64_t generation)
{
	const struct memory *memory = arg;

	(void)start;
	(void)size;
	EXPECT(!__atomic_load_n(&((const struct value *)value)->dropped, __ATOMIC_SEQ_CST));
	return __atomic_load_n(&memory->generation, __ATOMIC_ACQUIRE) == generation;
}

static void give_back(struct held held)
{
	stop_using(held.value);
	vpeer_cache_put(world.cache, held.entry);
}

static void keep(struct worker *worker, struct vpeer_cache_entry *entry)
{
	struct held held = { entry, entry->value };

	use(held.value);
	if (worker->count < HELD) {
		worker->held[worker->count++] = held;
		return;
	}
	give_back(held);
}

static struct vpeer_cache_entry *insert(struct worker *worker, struct vpeer_cache_source *source,
					uint64_t start, uint32_t kind, uint64_t generation,
					uint64_t ticket)
{
	struct vpeer_cache_insert range = {
		.start = start,
		.size = SPACING - draw(worker, 2) * PAGE,
		.access = 3,
		.kind = kind,
		.generation = generation,
		.ticket = ticket,
		.source = source,
		.value = new_value(generation),
	};
	struct vpeer_cache_entry *entry;
	int err = vpeer_cache_insert(world.cache, &range, &entry);

	if (!err) {
		__atomic_add_fetch(&world.inserted, 1, __ATOMIC_RELAXED);
		remember(range.value);
		return entry;
	}
	EXPECT(err == -EEXIST || err == -ESTALE || err == -EBUSY || err == -ENOSPC);
	EXPECT(!entry == (err != -EEXIST));
	free(((struct value *)range.value)->plain);
	free(range.value);
	return entry;
}

static void look(struct worker *worker)
{
	uint32_t number = draw(worker, MEMORIES);
	struct memory *memory = &world.memories[number];
	uint64_t start = BASE + number * SPACING, ticket = vpeer_cache_ticket(world.cache);
	uint64_t generation = __atomic_load_n(&memory->generation, __ATOMIC_ACQUIRE);
	struct vpeer_cache_entry *entry;

	entry = vpeer_cache_get(world.cache, start + draw(worker, 15) * PAGE, PAGE, 1, 0);
	if (!entry)
		entry = insert(worker, memory->source, start, 0, generation, ticket);
	if (!entry)
		return;
	EXPECT(((struct value *)entry->value)->generation >= generation);
	keep(worker, entry);
}

static void put_some(struct worker *worker)
{
	uint32_t count = draw(worker, 2) ? 1 : draw(worker, HELD);

	while (worker->count && count--) {
		uint32_t which = draw(worker, worker->count);

		give_back(worker->held[which]);
		worker->held[which] = worker->held[--worker->count];
	}
}

/* One of this thread's goes to whoever takes it, and what another gave is given back here. */
static void hand(struct worker *worker)
{
	struct held *place = &world.handed[draw(worker, 64)], given = { 0 }, taken;

	if (worker->count)
		given = worker->held[--worker->count];
	pthread_mutex_lock(&world.hand);
	taken = *place;
	*place = given;
	pthread_mutex_unlock(&world.hand);
	if (taken.entry)
		give_back(taken);
}

static void replace(struct worker *worker)
{
	struct memory *memory = &world.memories[draw(worker, MEMORIES)];

	__atomic_add_fetch(&memory->generation, 1, __ATOMIC_ACQ_REL);
	if (!draw(worker, 4))
		vpeer_cache_reclaim(world.cache);
}

static void invalidate(struct worker *worker)
{
	uint64_t start = BASE + draw(worker, MEMORIES) * SPACING;

	if (draw(worker, 4))
		vpeer_cache_invalidate(world.cache, start + draw(worker, 16) * PAGE, 1);
	else
		vpeer_cache_source_invalidate(world.memories[draw(worker, MEMORIES)].source);
}

static void child(struct worker *worker)
{
	struct vpeer_cache_entry *entry;
	struct vpeer_cache_insert range = {
		.start = 0,
		.size = 1,
		.source = world.memories[0].source,
		.value = worker,
	};

	for (uint64_t i = 0; i < MEMORIES; i++)
		if (vpeer_cache_get(world.cache, BASE + i * SPACING, 1, 0, 0))
			_exit(1);
	if (vpeer_cache_insert(world.cache, &range, &entry) != -ECHILD)
		_exit(2);
	vpeer_cache_invalidate(world.cache, 0, UINT64_MAX);
	for (unsigned int i = 0; i < worker->count; i++)
		vpeer_cache_put(world.cache, worker->held[i].entry);
	_exit(vpeer_cache_end(world.cache) ? 3 : 0);
}

static void do_fork(struct worker *worker)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		child(worker);
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	__atomic_add_fetch(&world.forks, 1, __ATOMIC_RELAXED);
}

static void release(void *arg)
{
	free(arg);
}

/* A source with a word that is gone once the source is released. */
static void own_source(struct worker *worker)
{
	uint64_t *word = calloc(1, sizeof(*word));
	struct vpeer_cache_source_config config = { .word = word, .release = release, .arg = word };
	uint64_t start = OWN + draw(worker, 4) * SPACING;
	struct vpeer_cache_source *source;
	struct vpeer_cache_entry *entry;

	EXPECT(vpeer_cache_source_begin(world.cache, &config, &source) == 0);
	entry = vpeer_cache_get(world.cache, start, PAGE, 1, 0);
	if (!entry)
		entry = insert(worker, source, start, 0, 0, vpeer_cache_ticket(world.cache));
	if (entry)
		keep(worker, entry);
	entry = vpeer_cache_get(world.cache, OWN + draw(worker, 4) * SPACING, PAGE, 1, 0);
	if (entry)
		keep(worker, entry);
	vpeer_cache_source_end(source);
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (int i = 0; i < STEPS; i++) {
		uint32_t what = draw(worker, 1000);

		if (what < 500)
			look(worker);
		else if (what < 750)
			put_some(worker);
		else if (what < 850)
			hand(worker);
		else if (what < 900)
			replace(worker);
		else if (what < 930)
			invalidate(worker);
		else if (what < 980)
			own_source(worker);
		else if (what < 981)
			do_fork(worker);
		else
			sched_yield();
	}
	/* The thread ends with references in its slots; others give them back. */
	for (unsigned int i = 0; i < 32 && worker->count; i++)
		hand(worker);
	while (worker->count)
		give_back(worker->held[--worker->count]);
	return NULL;
}

static void begin_world(uint32_t bound, bool fences)
{
	struct vpeer_cache_config config = { .max_entries = bound, .drop = drop, .fences = fences };

	memset(&world, 0, sizeof(world));
	pthread_mutex_init(&world.hand, NULL);
	assert_int_equal(vpeer_cache_begin(&world.cache, &config), 0);
	for (int i = 0; i < MEMORIES; i++) {
		struct memory *memory = &world.memories[i];
		struct vpeer_cache_source_config source = { .arg = memory };

		memory->generation = 1;
		if (i % 3 == 2)
			source.check = still;
		else
			source.word = &memory->generation;
		assert_int_equal(vpeer_cache_source_begin(world.cache, &source, &memory->source),
				 0);
	}
}

static void end_world(void)
{
	for (int i = 0; i < 64; i++)
		if (world.handed[i].entry)
			give_back(world.handed[i]);
	for (int i = 0; i < MEMORIES; i++)
		vpeer_cache_source_end(world.memories[i].source);
	assert_int_equal(vpeer_cache_end(world.cache), 0);
	while (world.values) {
		struct value *value = world.values;

		EXPECT(value->dropped == 1);
		world.values = value->next;
		free(value);
	}
}

static void mix(bool fences, bool forbid)
{
	struct vpeer_cache_stats stats;

	begin_world(BOUND, fences);
	for (unsigned int turn = 0; turn < TURNS; turn++) {
		struct worker workers[THREADS] = { 0 };

		for (unsigned int i = 0; i < THREADS; i++) {
			workers[i].random = turn * THREADS + i + 1;
			assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
							&workers[i]), 0);
		}
		if (forbid && turn == TURNS / 2)
			assert_true(forbid_membarrier(true));
		for (unsigned int i = 0; i < THREADS; i++)
			pthread_join(workers[i].thread, NULL);
	}
	vpeer_cache_stats(world.cache, &stats);
	if (forbid)
		vpeer_cache_clear(world.cache);
	end_world();
	assert_int_equal(stats.fenced, fences || forbid);
	assert_int_equal(world.failed_line, 0);
	assert_int_equal(world.dropped, world.inserted);
	assert_int_equal(stats.inserts, world.inserted);
	assert_in_range(stats.peak_entries, 2, BOUND);
	/* All that was to happen did. */
	assert_true(stats.evictions > 100 && stats.stale > 100 && stats.invalidated > 100);
	assert_true(stats.hits > 1000 && stats.hits > stats.slow_hits && world.forks > 10);
}

static void all_together(void **state)
{
	(void)state;
	mix(false, false);
}

static void all_together_with_fences(void **state)
{
	(void)state;
	mix(true, false);
}

/* In the midst of all membarrier() is refused. */
static void all_together_without_membarrier(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		mix(false, true);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/*
 * One entry that comes and goes as fast as it can, while threads do one thing with it
 * over and over: what can only go wrong within a few instructions does so then.
 */
struct chase {
	pthread_t thread;
	void (*once)(void);
	bool *stop;
};

static uint64_t used;

static void get_and_put(void)
{
	struct vpeer_cache_entry *entry = vpeer_cache_get(world.cache, BASE, PAGE, 1, 0);

	if (!entry)
		return;
	use(entry->value);
	__atomic_add_fetch(&used, 1, __ATOMIC_RELAXED);
	stop_using(entry->value);
	vpeer_cache_put(world.cache, entry);
}

static void wait_a_little(unsigned int turns)
{
	while (turns--)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void get_seldom(void)
{
	get_and_put();
	wait_a_little(3000);
}

/* The entry is looked at each time, and is not the one that is wanted. */
static void get_other(void)
{
	struct vpeer_cache_entry *entry = vpeer_cache_get(world.cache, BASE, PAGE, 1, 7);

	EXPECT(entry);
	if (entry)
		vpeer_cache_put(world.cache, entry);
	__atomic_add_fetch(&used, 1, __ATOMIC_RELAXED);
}

/* More references than there are slots: they are moved while somebody may look at them. */
static void get_many(void)
{
	struct held held[HELD];
	int count = 0;

	while (count < HELD) {
		struct vpeer_cache_entry *entry = vpeer_cache_get(world.cache, BASE, PAGE, 1, 0);

		if (!entry)
			break;
		held[count] = (struct held){ entry, entry->value };
		use(held[count++].value);
		__atomic_add_fetch(&used, 1, __ATOMIC_RELAXED);
	}
	while (count)
		give_back(held[--count]);
}

static void *chase(void *arg)
{
	struct chase *chase = arg;

	while (!__atomic_load_n(chase->stop, __ATOMIC_RELAXED))
		chase->once();
	return NULL;
}

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static void come(struct worker *worker, struct vpeer_cache_source *source, uint64_t start,
		 uint32_t kind)
{
	struct vpeer_cache_entry *entry;

	entry = insert(worker, source, start, kind, 1, vpeer_cache_ticket(world.cache));
	if (entry)
		vpeer_cache_put(world.cache, entry);
}

static void go_by_invalidation(struct worker *worker)
{
	uint64_t before = __atomic_load_n(&used, __ATOMIC_RELAXED), wanted = 1 + draw(worker, 50);

	for (int i = 0; i < 5000; i++)
		if (__atomic_load_n(&used, __ATOMIC_RELAXED) - before >= wanted)
			break;
	vpeer_cache_source_invalidate(world.memories[0].source);
}

static void go_by_eviction(struct worker *worker)
{
	struct vpeer_cache_source *source = world.memories[1].source;

	for (int i = 0; i < 8; i++)
		come(worker, source, BASE + (1 + draw(worker, MEMORIES)) * SPACING, 0);
}

/* All entries can go, as nobody has one: so there is room for as many others at once. */
static void need_all_room(struct worker *worker, uint32_t bound)
{
	struct vpeer_cache_entry *entries[BOUND];

	for (uint32_t i = 0; i < bound; i++) {
		entries[i] = insert(worker, world.memories[1].source, OWN + i * SPACING, 0, 1,
				    vpeer_cache_ticket(world.cache));
		assert_non_null(entries[i]);
	}
	while (bound)
		vpeer_cache_put(world.cache, entries[--bound]);
}

static void race(void (*once)(void), void (*go)(struct worker *worker), uint32_t bound)
{
	struct worker worker = { .random = 1 };
	struct chase chases[2];
	struct vpeer_cache_stats stats;
	uint64_t end = now_ms() + RACE_MS;
	bool stop = false;

	begin_world(bound, false);
	come(&worker, world.memories[0].source, BASE, 0);
	come(&worker, world.memories[1].source, BASE, 7);
	for (int i = 0; i < 2; i++) {
		chases[i] = (struct chase){ .once = once, .stop = &stop };
		assert_int_equal(pthread_create(&chases[i].thread, NULL, chase, &chases[i]), 0);
	}
	for (int rounds = 0; now_ms() < end || rounds < 100; rounds++) {
		come(&worker, world.memories[0].source, BASE, 0);
		go(&worker);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(chases[i].thread, NULL);
	need_all_room(&worker, bound);
	/* Nothing waits for a reference that nobody has. */
	vpeer_cache_invalidate(world.cache, 0, UINT64_MAX);
	vpeer_cache_stats(world.cache, &stats);
	assert_int_equal(stats.entries, 0);
	assert_int_equal(world.dropped, world.inserted);
	end_world();
	assert_int_equal(world.failed_line, 0);
}

static void race_for_one(void **state)
{
	(void)state;
	race(get_and_put, go_by_invalidation, BOUND);
}

static void race_for_another(void **state)
{
	(void)state;
	race(get_other, go_by_invalidation, BOUND);
}

static void race_for_many(void **state)
{
	(void)state;
	race(get_many, go_by_invalidation, BOUND);
}

static void race_with_eviction(void **state)
{
	(void)state;
	race(get_seldom, go_by_eviction, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_together),
		cmocka_unit_test(all_together_with_fences),
		cmocka_unit_test(all_together_without_membarrier),
		cmocka_unit_test(race_for_one),
		cmocka_unit_test(race_for_another),
		cmocka_unit_test(race_for_many),
		cmocka_unit_test(race_with_eviction),
	};

	return cmocka_run_group_tests_name("cache threads", tests, NULL, NULL) != 0;
}
