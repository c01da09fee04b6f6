// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a hit of the library's cache of registrations costs, beside one of UCX's on
 * the same ranges. Nothing is registered with a device: both hold what a
 * registration would be. Both are valid as they promise it: the library compares a
 * generation at each hit, UCX has its handlers of unmapped memory installed.
 * usage: cache_cost [REPEATS]
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <ucm/api/ucm.h>
#include <ucs/memory/rcache.h>

#include "cache.h"

#define BASE		0x100000000000ULL
#define SIZE		(64ULL << 10)
#define STRIDE		(2 * SIZE)
#define MOST_THREADS	2
#define MOST_REPEATS	101
#define HITS		300000UL	/* in one measurement, at least */

struct ranges {
	size_t count;
	uint32_t *order;
};

/* A cache, by what is measured of it. */
struct subject {
	const char *name;
	void (*fill)(const struct ranges *ranges);
	void (*hits)(const struct ranges *ranges, size_t from, size_t count);
	void (*empty)(void);
};

static void die(const char *what, int err)
{
	fprintf(stderr, "cache_cost: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(2);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The library's. */

static uint64_t generation = 1;
static struct vpeer_cache *cache;
static struct vpeer_cache_source *source;
static uint64_t cache_bytes;

static void drop(void *user, void *value)
{
	(void)user;
	(void)value;
}

static void insert(uint64_t start, uint64_t size)
{
	struct vpeer_cache_insert range = {
		.start = start,
		.size = size,
		.access = PROT_READ | PROT_WRITE,
		.generation = generation,
		.ticket = vpeer_cache_ticket(cache),
		.source = source,
		.value = &generation,
	};
	struct vpeer_cache_entry *entry;
	int err = vpeer_cache_insert(cache, &range, &entry);

	if (err)
		die("vpeer_cache_insert", err);
	vpeer_cache_put(cache, entry);
}

static void vpeer_begin(uint32_t entries)
{
	struct vpeer_cache_config config = { .max_entries = entries, .drop = drop };
	struct vpeer_cache_source_config word = { .word = &generation };
	int err = vpeer_cache_begin(&cache, &config);

	if (!err)
		err = vpeer_cache_source_begin(cache, &word, &source);
	if (err)
		die("vpeer_cache_begin", err);
}

static void vpeer_fill(const struct ranges *ranges)
{
	struct vpeer_cache_stats stats;

	vpeer_begin((uint32_t)ranges->count);
	for (size_t i = 0; i < ranges->count; i++)
		insert(BASE + i * STRIDE, SIZE);
	vpeer_cache_stats(cache, &stats);
	cache_bytes = stats.memory;
}

static inline void vpeer_hit(uint64_t start, uint64_t size)
{
	struct vpeer_cache_entry *entry = vpeer_cache_get(cache, start, size, PROT_READ, 0);

	if (!entry)
		die("a range is not found", ENOENT);
	vpeer_cache_put(cache, entry);
}

static void vpeer_hits(const struct ranges *ranges, size_t from, size_t count)
{
	for (size_t i = from; count--; i = i + 1 < ranges->count ? i + 1 : 0)
		vpeer_hit(BASE + ranges->order[i] * STRIDE, SIZE);
}

static void vpeer_empty(void)
{
	int err;

	vpeer_cache_source_end(source);
	err = vpeer_cache_end(cache);
	if (err)
		die("vpeer_cache_end", err);
}

static const struct subject vpeer = { "vpeer", vpeer_fill, vpeer_hits, vpeer_empty };

/* UCX's. */

static ucs_rcache_t *rcache;

static ucs_status_t ucx_register(void *context, ucs_rcache_t *owner, void *arg,
				 ucs_rcache_region_t *region, uint16_t flags)
{
	(void)context;
	(void)owner;
	(void)arg;
	(void)region;
	(void)flags;
	return UCS_OK;
}

static void ucx_deregister(void *context, ucs_rcache_t *owner, ucs_rcache_region_t *region)
{
	(void)context;
	(void)owner;
	(void)region;
}

static void ucx_merge(void *context, ucs_rcache_t *owner, void *arg, ucs_rcache_region_t *region)
{
	(void)context;
	(void)owner;
	(void)arg;
	(void)region;
}

static void ucx_dump(void *context, ucs_rcache_t *owner, ucs_rcache_region_t *region, char *text,
		     size_t size)
{
	(void)context;
	(void)owner;
	(void)region;
	snprintf(text, size, "none");
}

static void ucx_hit(uint64_t start)
{
	ucs_rcache_region_t *region;

	if (ucs_rcache_get(rcache, (void *)(uintptr_t)start, SIZE, UCS_PGT_ADDR_ALIGN, PROT_READ,
			   NULL, &region) != UCS_OK)
		die("ucs_rcache_get", EIO);
	ucs_rcache_region_put(rcache, region);
}

static void ucx_hits(const struct ranges *ranges, size_t from, size_t count)
{
	for (size_t i = from; count--; i = i + 1 < ranges->count ? i + 1 : 0)
		ucx_hit(BASE + ranges->order[i] * STRIDE);
}

static void ucx_fill(const struct ranges *ranges)
{
	static ucs_rcache_ops_t ops = {
		.mem_reg = ucx_register,
		.mem_dereg = ucx_deregister,
		.merge = ucx_merge,
		.dump_region = ucx_dump,
	};
	ucs_rcache_params_t params = {
		.region_struct_size = sizeof(ucs_rcache_region_t),
		.ucm_events = UCM_EVENT_VM_UNMAPPED,
		.ucm_event_priority = 1000,
		.ops = &ops,
		.flags = UCS_RCACHE_FLAG_NO_PFN_CHECK,
		.max_regions = ULONG_MAX,
		.max_size = SIZE_MAX,
		.max_unreleased = SIZE_MAX,
	};

	if (ucs_rcache_create(&params, "bench", NULL, &rcache) != UCS_OK)
		die("ucs_rcache_create", EIO);
	for (size_t i = 0; i < ranges->count; i++)
		ucx_hit(BASE + i * STRIDE);
}

static void ucx_empty(void)
{
	ucs_rcache_destroy(rcache);
}

static const struct subject ucx = { "UCX", ucx_fill, ucx_hits, ucx_empty };

/* Measurements. */

static size_t repeats = 11;
static bool missed;

struct worker {
	pthread_t thread;
	pthread_barrier_t *barrier;
	const struct subject *subject;
	const struct ranges *ranges;
	size_t from, count;
	int processor;
	double ns;
};

static void pin(int processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("a thread for each processor", errno);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint64_t start;

	pin(worker->processor);
	worker->subject->hits(worker->ranges, worker->from, worker->ranges->count);
	pthread_barrier_wait(worker->barrier);
	start = now();
	worker->subject->hits(worker->ranges, worker->from, worker->count);
	worker->ns = (double)(now() - start) / (double)worker->count;
	return NULL;
}

/* Nanoseconds for a get and a put on one of @threads threads. */
static double measure(const struct subject *subject, const struct ranges *ranges, size_t threads)
{
	struct worker workers[MOST_THREADS];
	pthread_barrier_t barrier;
	double worst = 0;

	pthread_barrier_init(&barrier, NULL, (unsigned int)threads);
	for (size_t i = 0; i < threads; i++) {
		workers[i] = (struct worker){
			.barrier = &barrier,
			.subject = subject,
			.ranges = ranges,
			.from = i * ranges->count / threads,
			.count = HITS / ranges->count * ranges->count + ranges->count,
			.processor = (int)i,
		};
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("pthread_create", EAGAIN);
	}
	for (size_t i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		worst = workers[i].ns > worst ? workers[i].ns : worst;
	}
	pthread_barrier_destroy(&barrier);
	return worst;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *times)
{
	qsort(times, repeats, sizeof(*times), compare);
	return times[repeats / 2];
}

static struct ranges make_ranges(size_t count, bool random)
{
	struct ranges ranges = { .count = count, .order = malloc(count * sizeof(uint32_t)) };
	uint64_t state = 1;

	if (!ranges.order)
		die("memory", ENOMEM);
	for (size_t i = 0; i < count; i++)
		ranges.order[i] = (uint32_t)i;
	for (size_t i = count; random && i > 1; i--) {
		uint32_t *a = &ranges.order[i - 1], *b, kept = *a;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		b = &ranges.order[(state >> 33) % i];
		*a = *b;
		*b = kept;
	}
	return ranges;
}

static const char *verdict(bool met)
{
	missed |= !met;
	return met ? "met" : "MISSED";
}

/* One and two threads of both subjects in turn, so that what else the machine does meets all. */
static void compare_at(size_t count)
{
	static const struct subject *const subjects[] = { &vpeer, &ucx };
	struct ranges ranges = make_ranges(count, false);
	double times[2][MOST_THREADS][MOST_REPEATS], one[2], two[2];

	vpeer.fill(&ranges);
	ucx.fill(&ranges);
	for (size_t i = 0; i < repeats; i++)
		for (size_t threads = 1; threads <= MOST_THREADS; threads++)
			for (size_t which = 0; which < 2; which++)
				times[which][threads - 1][i] =
					measure(subjects[which], &ranges, threads);
	for (size_t which = 0; which < 2; which++) {
		one[which] = median(times[which][0]);
		two[which] = median(times[which][1]);
		subjects[which]->empty();
	}
	printf("%9zu  %-8d %8.2f %8.2f %8.1f   >= 5     %s\n", count, 1, one[0], one[1],
	       one[1] / one[0], verdict(one[1] / one[0] >= 5));
	printf("%9zu  %-8d %8.2f %8.2f %8.1f   <= %.2f  %s\n", count, 2, two[0], two[1],
	       two[1] / two[0], one[0] * 1.1, verdict(two[0] <= one[0] * 1.1));
	free(ranges.order);
}

static double alone_at(size_t count, bool random)
{
	struct ranges ranges = make_ranges(count, random);
	double times[MOST_REPEATS], time;

	vpeer.fill(&ranges);
	for (size_t i = 0; i < repeats; i++)
		times[i] = measure(&vpeer, &ranges, 1);
	time = median(times);
	vpeer.empty();
	free(ranges.order);
	return time;
}

static void growth(void)
{
	double few = alone_at(100, false), many = alone_at(1000000, false);
	uint64_t bytes = cache_bytes / 1000000;
	double random_few = alone_at(100, true), random_many = alone_at(1000000, true);

	printf("\n1e2 to 1e6 ranges, in the order of addresses: %.2f to %.2f ns, factor %.2f of at "
	       "most 2.5: %s\n", few, many, many / few, verdict(many / few <= 2.5));
	printf("1e2 to 1e6 ranges, in random order:           %.2f to %.2f ns, factor %.2f\n",
	       random_few, random_many, random_many / random_few);
	printf("memory of the cache with 1e6 entries:         %llu bytes per entry\n",
	       (unsigned long long)bytes);
}

/* Each part of the range is asked for once, so that none has been found before. */
static void tensors(void)
{
	const uint64_t range = 51ULL << 30, count = 1265, step = range / count / 4096 * 4096;
	uint64_t start;
	double ms;

	vpeer_begin(16);
	insert(BASE, range);
	start = now();
	for (uint64_t i = 0; i < count; i++)
		vpeer_hit(BASE + i * step, step - 4096 * (i % 7));
	ms = (double)(now() - start) / 1e6;
	vpeer_empty();
	printf("1,265 tensors in 51 GiB, after the first:     %.3f ms of at most 20 ms (%.0f ns each): "
	       "%s\n", ms, ms * 1e6 / (double)count, verdict(ms < 20));
}

int main(int argc, char **argv)
{
	static const size_t counts[] = { 10, 1000, 100000 };

	if (argc > 1)
		repeats = strtoul(argv[1], NULL, 10);
	if (!repeats || repeats > MOST_REPEATS)
		die("repeats", EINVAL);
	printf("   ranges  threads  vpeer ns   UCX ns   UCX/vpeer  goal\n");
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		compare_at(counts[i]);
	growth();
	tensors();
	return missed;
}
