// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a hit of the library's cache of registrations costs, beside one of UCX's on
 * the same ranges (cache_subjects.c). Times are the thread's own, so that what else
 * runs on its processor is not in them; memory that it shares is.
 * usage: cache_cost [REPEATS]
 */
#include "cache_cost.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_THREADS	2
#define MOST_REPEATS	101
#define HITS		300000UL	/* in one measurement, at least */

struct ranges {
	size_t count;
	uint64_t *starts;
};

static size_t repeats = 61;
static bool missed;

void die(const char *what, int err)
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

struct worker {
	pthread_t thread;
	pthread_barrier_t *barrier;
	const struct subject *subject;
	const struct ranges *ranges;
	size_t rounds;
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
	const struct ranges *ranges = worker->ranges;
	uint64_t start;

	pin(worker->processor);
	worker->subject->hits(ranges->starts, ranges->count);
	pthread_barrier_wait(worker->barrier);
	start = now();
	for (size_t i = 0; i < worker->rounds; i++)
		worker->subject->hits(ranges->starts, ranges->count);
	worker->ns = (double)(now() - start) / (double)(worker->rounds * ranges->count);
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
			.rounds = HITS / ranges->count + 1,
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

/* The time that a quarter of them keep within: what the machine's neighbours do only adds. */
static double quartile(double *times)
{
	qsort(times, repeats, sizeof(*times), compare);
	return times[repeats / 4];
}

static void mix(uint64_t *starts, size_t count)
{
	uint64_t state = 1;

	for (size_t i = count; i > 1; i--) {
		uint64_t *a = &starts[i - 1], *b, kept = *a;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		b = &starts[(state >> 33) % i];
		*a = *b;
		*b = kept;
	}
}

static struct ranges make_ranges(size_t count)
{
	struct ranges ranges = { .count = count, .starts = malloc(count * sizeof(uint64_t)) };

	if (!ranges.starts)
		die("memory", ENOMEM);
	for (size_t i = 0; i < count; i++)
		ranges.starts[i] = BASE + i * STRIDE;
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
	struct ranges ranges = make_ranges(count);
	double times[2][MOST_THREADS][MOST_REPEATS], one[2], two[2];

	vpeer.fill(ranges.starts, count);
	ucx.fill(ranges.starts, count);
	for (size_t i = 0; i < repeats; i++)
		for (size_t threads = 1; threads <= MOST_THREADS; threads++)
			for (size_t which = 0; which < 2; which++)
				times[which][threads - 1][i] =
					measure(subjects[which], &ranges, threads);
	for (size_t which = 0; which < 2; which++) {
		one[which] = quartile(times[which][0]);
		two[which] = quartile(times[which][1]);
		subjects[which]->empty();
	}
	printf("%9zu  %-8d %8.2f %8.2f %8.1f   >= 5     %s\n", count, 1, one[0], one[1],
	       one[1] / one[0], verdict(one[1] / one[0] >= 5));
	printf("%9zu  %-8d %8.2f %8.2f %8.1f   <= %.2f  %s\n", count, 2, two[0], two[1],
	       two[1] / two[0], one[0] * 1.1, verdict(two[0] <= one[0] * 1.1));
	free(ranges.starts);
}

static double alone_at(size_t count, bool random)
{
	struct ranges ranges = make_ranges(count);
	double times[MOST_REPEATS], time;

	vpeer.fill(ranges.starts, count);
	if (random)
		mix(ranges.starts, count);
	for (size_t i = 0; i < repeats; i++)
		times[i] = measure(&vpeer, &ranges, 1);
	time = quartile(times);
	vpeer.empty();
	free(ranges.starts);
	return time;
}

static void growth(void)
{
	double few = alone_at(100, false), many = alone_at(1000000, false);
	uint64_t bytes = vpeer_bytes / 1000000;
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
	vpeer_insert(BASE, range);
	start = now();
	for (uint64_t i = 0; i < count; i++)
		vpeer_hit(BASE + i * step, step - 4096 * (i % 7));
	ms = (double)(now() - start) / 1e6;
	vpeer_empty();
	printf("1,265 tensors in 51 GiB, after the first:     %.3f ms of at most 20 ms (%.0f ns "
	       "each): %s\n", ms, ms * 1e6 / (double)count, verdict(ms < 20));
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
