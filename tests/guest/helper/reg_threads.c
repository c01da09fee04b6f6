// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eight threads that register, give back, free, revoke, fork and so on, all at a time, in one context. A program of
 * its own since it is also built with sanitizers, together with the library.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../lib/vpeer.h"
#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#define THREADS		8
#define HELD		4
#define SHARED_AT	(2 * GRANULE)
#define OWN_AT(n)	((4 + (n)) * GRANULE)

static struct vpeer_context *context;
static char *shared, *host;
static atomic_uint told, done[16];
static unsigned int rounds = 300;

struct worker {
	pthread_t thread;
	unsigned int number;
	uint32_t random;
	int fd;
	char *own;		/* a window that only this thread frees and revokes */
	struct vpeer_mr *held[HELD];
};

static uint32_t choose(struct worker *w, uint32_t below)
{
	w->random = w->random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)w->random * below >> 32);
}

/* On the context's thread; the MR may be given back by its holder meanwhile. */
static void revoked(void *argument, struct vpeer_mr *mr)
{
	(void)argument;
	CHECK_EQ(vpeer_mr_check(mr, NULL), -ESTALE);
	CHECK(vpeer_mr_route(mr) != VPEER_ROUTE_NONE);
	told++;
}

static void give_back(struct worker *w, unsigned int i)
{
	int err = vpeer_dereg(w->held[i]);

	CHECK(!err || err == -EINPROGRESS);
	w->held[i] = NULL;
}

static void give_all_back(struct worker *w)
{
	for (unsigned int i = 0; i < HELD; i++)
		give_back(w, i);
}

static void check_range(struct vpeer_mr *mr, const void *address, size_t length)
{
	uint64_t start, covered;

	vpeer_mr_range(mr, &start, &covered);
	CHECK(start <= (uintptr_t)address);
	CHECK((uintptr_t)address + length <= start + covered);
	CHECK_EQ(vpeer_mr_ibv(mr)->lkey, vpeer_mr_lkey(mr));
}

/* Of a window that no one takes back. */
static void reg_shared(struct worker *w)
{
	static const uint32_t flags[] = { 0, 0, 0, VPEER_REG_NO_CACHE, VPEER_REG_WHOLE };
	struct vpeer_reg_options options = { .flags = flags[choose(w, 5)] };
	uint32_t at = choose(w, GRANULE - 8192), length = 1 + choose(w, 8192);
	unsigned int i = choose(w, HELD);
	struct vpeer_error error;

	give_back(w, i);
	if (vpeer_reg(context, shared + at, length, &options, &w->held[i], &error))
		test_fail(__FILE__, __LINE__, "%s", error.message);
	check_range(w->held[i], shared + at, length);
	CHECK_EQ(vpeer_mr_check(w->held[i], NULL), 0);
}

static void reg_same(struct worker *w)
{
	uint32_t at = choose(w, 4) * 4096;
	struct vpeer_mr *mr;

	for (int i = 0; i < 20; i++) {
		CHECK_EQ(vpeer_reg(context, shared + at, 4096, NULL, &mr, NULL), 0);
		check_range(mr, shared + at, 4096);
		CHECK_EQ(vpeer_dereg(mr), 0);
	}
}

static void reg_host(struct worker *w)
{
	struct vpeer_reg_options options = { .flags = choose(w, 2) ? VPEER_REG_KEEP : 0 };
	unsigned int i = choose(w, HELD);
	uint32_t at = choose(w, 16) * 4096;

	give_back(w, i);
	CHECK_EQ(vpeer_reg(context, host + at, 4096, &options, &w->held[i], NULL), 0);
	check_range(w->held[i], host + at, 4096);
}

static void reg_batch(struct worker *w)
{
	struct vpeer_range ranges[6];
	struct vpeer_mr *mrs[6];

	for (int i = 0; i < 6; i++)
		ranges[i] = (struct vpeer_range){ shared + choose(w, 64) * 4096, 4096 };
	CHECK_EQ(vpeer_reg_batch(context, ranges, 6, NULL, mrs, NULL), 0);
	for (int i = 0; i < 6; i++) {
		check_range(mrs[i], ranges[i].address, 4096);
		CHECK_EQ(vpeer_dereg(mrs[i]), 0);
	}
}

static void work(struct worker *w)
{
	struct vpeer_mr *mr;
	int err;

	CHECK_EQ(vpeer_reg(context, shared + choose(w, 8) * 4096, 4096, NULL, &mr, NULL), 0);
	CHECK_EQ(vpeer_mr_work_begin(mr), 0);
	err = vpeer_dereg(mr);
	CHECK_EQ(err, -EINPROGRESS);
	CHECK_EQ(vpeer_mr_check(mr, NULL), 0);
	vpeer_mr_work_end(mr);
}

static void own_begin(struct worker *w)
{
	CHECK_OK(window_alloc_at(w->fd, OWN_AT(w->number), GRANULE, NULL));
	CHECK(mmap(w->own, GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, w->fd,
		   OWN_AT(w->number)) == w->own);
}

static void own_end(struct worker *w)
{
	struct vpeer_window_op arg = {
		.argsz = sizeof(arg),
		.offset = OWN_AT(w->number),
		.timeout_ms = 30000,
	};

	CHECK(mmap(w->own, GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0) == w->own);
	CHECK_OK(ioctl(w->fd, VPEER_IOCTL_WINDOW_FREE, &arg));
}

/* The address stays, the window does not. */
static void free_own(struct worker *w)
{
	struct vpeer_mr *mr, *before;

	own_begin(w);
	CHECK_EQ(vpeer_reg(context, w->own, GRANULE, NULL, &before, NULL), 0);
	CHECK_EQ(vpeer_reg(context, w->own + choose(w, 4096), 4096, NULL, &mr, NULL), 0);
	CHECK_EQ(mr, before);
	CHECK_EQ(vpeer_dereg(mr), 0);
	if (choose(w, 2)) {
		CHECK_EQ(vpeer_dereg(before), 0);
		own_end(w);
		return;
	}
	CHECK(mmap(w->own, GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0) == w->own);
	CHECK_EQ(vpeer_mr_check(before, NULL), -ESTALE);
	CHECK_EQ(vpeer_dereg(before), 0);
	own_end(w);
}

static void revoke_own(struct worker *w)
{
	struct vpeer_error error;
	struct vpeer_mr *mr, *again;

	own_begin(w);
	CHECK_EQ(vpeer_reg(context, w->own, 8192, NULL, &mr, NULL), 0);
	window_revoke(w->fd, OWN_AT(w->number), 0, NULL);
	CHECK_EQ(vpeer_mr_check(mr, NULL), -ESTALE);
	CHECK_EQ(vpeer_mr_work_begin(mr), -ESTALE);
	CHECK_EQ(vpeer_reg(context, w->own, 8192, NULL, &again, &error), -ENODEV);
	CHECK_EQ(error.reason, VPEER_REASON_REVOKED);
	CHECK_EQ(vpeer_dereg(mr), 0);
	own_end(w);
}

static _Noreturn void in_child(void)
{
	struct vpeer_mr *mr;
	bool good = vpeer_reg(context, shared, 4096, NULL, &mr, NULL) == -ECHILD &&
		    vpeer_invalidate(context, shared, 4096) == -ECHILD &&
		    !vpeer_context_destroy(context, NULL);

	_exit(good ? 0 : 1);
}

static void fork_one(struct worker *w)
{
	int status;
	pid_t pid;

	if (choose(w, 4))
		return;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		in_child();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void tidy(struct worker *w)
{
	struct vpeer_stats stats;

	switch (choose(w, 4)) {
	case 0:
		CHECK(vpeer_invalidate(context, host + choose(w, 16) * 4096, 4096) >= 0);
		break;
	case 1:
		CHECK(vpeer_context_trim(context, choose(w, 16)) >= 0);
		break;
	case 2:
		CHECK(vpeer_context_reclaim(context) >= 0);
		break;
	default:
		vpeer_context_stats(context, &stats);
		CHECK(stats.registered >= stats.deregistered);
	}
}

static void (*const acts[])(struct worker *w) = {
	reg_shared, reg_shared, reg_same, reg_same, reg_host, reg_batch, work, free_own, revoke_own,
	fork_one, tidy,
};

static void *run(void *argument)
{
	struct worker *w = argument;

	for (unsigned int i = 0; i < rounds; i++) {
		uint32_t act = choose(w, ARRAY_SIZE(acts));

		acts[act](w);
		done[act]++;
	}
	give_all_back(w);
	return NULL;
}

static void begin(struct worker *w, unsigned int number)
{
	uintptr_t space;

	*w = (struct worker){ .number = number, .random = 77 * number + 1 };
	w->fd = aperture_open();
	space = (uintptr_t)mmap(NULL, 2 * GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	w->own = (char *)((space + GRANULE - 1) & ~(GRANULE - 1));
}

static void run_all(struct worker workers[THREADS])
{
	for (unsigned int i = 0; i < THREADS; i++) {
		begin(&workers[i], i);
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(workers[i].thread, NULL), 0);
		close(workers[i].fd);
	}
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++)
		CHECK(done[i]);
	CHECK(told);
}

TEST(mixed, 500)
{
	struct vpeer_context_options options = { .max_entries = 64, .revoked = revoked };
	struct worker workers[THREADS];
	struct vpeer_stats stats;
	struct vpeer_error error;
	struct rdma r;
	int fd;

	rounds = atoi(getenv("VPEER_REG_ROUNDS") ?: "300");
	rdma_open(&r);
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, SHARED_AT, GRANULE, NULL));
	shared = window_map(fd, SHARED_AT, GRANULE);
	host = plain_memory(16 * 4096);
	CHECK_EQ(vpeer_context_create(&context, r.pd, &options, &error), 0);
	run_all(workers);
	CHECK(vpeer_context_trim(context, 0) >= 0);
	CHECK_WITHIN((vpeer_context_stats(context, &stats),
		      stats.registered == stats.deregistered), 10000);
	CHECK_EQ(stats.entries, 0);
	printf("%llu registered, %llu hits, %llu stale, %llu evicted, %u told\n",
	       (unsigned long long)stats.registered, (unsigned long long)stats.hits,
	       (unsigned long long)stats.stale, (unsigned long long)stats.evicted, told);
	CHECK_EQ(vpeer_context_destroy(context, &error), 0);
	munmap(shared, GRANULE);
	close(fd);
	rdma_close(&r);
}
