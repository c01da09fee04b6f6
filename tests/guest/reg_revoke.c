// SPDX-License-Identifier: GPL-2.0-only
/* Memory that is taken back while it is registered by the library. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"

#define SIZE	(64 * KIB)
#define WAIT_MS	10000

/* What the callback saw. */
struct told {
	atomic_uint calls;
	struct vpeer_mr *last;
	int check;		/* vpeer_mr_check() within it */
	bool gives_back;	/* vpeer_dereg() within it */
	pthread_t thread;
	char name[16];
};

static void revoked(void *argument, struct vpeer_mr *mr)
{
	struct told *told = argument;

	told->last = mr;
	told->check = vpeer_mr_check(mr, NULL);
	told->thread = pthread_self();
	pthread_getname_np(pthread_self(), told->name, sizeof(told->name));
	if (told->gives_back)
		vpeer_dereg(mr);
	told->calls++;
}

static void begin(struct reg *t, struct told *told, uint32_t flags)
{
	struct vpeer_context_options options = {
		.flags = flags,
		.revoked = revoked,
		.revoked_argument = told,
	};

	*told = (struct told){ 0 };
	reg_begin(t, &options);
}

/* Frees, waits, and the window is there again for the end of the case. */
static void end(struct reg *t)
{
	CHECK_EQ(vpeer_context_destroy(t->context, NULL), 0);
	munmap(t->window, REG_SIZE);
	CHECK_OK(reg_window_free(t->fd, REG_AT));
	reg_window_make(t);
	reg_end_without(t);
}

static void take_back(struct reg *t)
{
	uint64_t pinned = 1;

	CHECK_OK(window_revoke(t->fd, REG_AT, WAIT_MS, &pinned));
	CHECK_EQ(pinned, 0);
}

/* What no one holds does not keep a window from its owner. */
TEST(idle, 60)
{
	struct told told;
	struct reg t;

	begin(&t, &told, 0);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(vpeer_dereg(reg_must(t.context, t.window + i * SIZE, SIZE, NULL)), 0);
	take_back(&t);
	CHECK_WITHIN(reg_stats(t.context).deregistered == 20, WAIT_MS);
	CHECK_EQ(reg_stats(t.context).stale, 20);
	CHECK_EQ(reg_stats(t.context).entries, 0);
	CHECK_EQ(told.calls, 0);
	end(&t);
}

TEST(idle_and_freed, 60)
{
	struct told told;
	struct reg t;

	begin(&t, &told, 0);
	CHECK_EQ(vpeer_dereg(reg_must(t.context, t.window, SIZE, NULL)), 0);
	CHECK_EQ(reg_stats(t.context).deregistered, 0);
	CHECK_OK(munmap(t.window, REG_SIZE));
	CHECK_OK(reg_window_free(t.fd, REG_AT));
	CHECK_WITHIN(aperture_all_free(), WAIT_MS);
	CHECK_WITHIN(reg_stats(t.context).deregistered == 1, WAIT_MS);
	CHECK_EQ(told.calls, 0);
	reg_window_make(&t);
	end(&t);
}

/* Without the thread it is the program's to do; until then pages stay pinned. */
TEST(no_thread, 60)
{
	struct told told;
	struct pollfd fd;
	struct reg t;
	uint64_t pinned;

	begin(&t, &told, VPEER_CONTEXT_NO_THREAD);
	fd = (struct pollfd){ .fd = vpeer_context_fd(t.context), .events = POLLIN };
	CHECK_EQ(vpeer_dereg(reg_must(t.context, t.window, SIZE, NULL)), 0);
	CHECK_EQ(poll(&fd, 1, 0), 0);
	CHECK_EQ(vpeer_context_reclaim(t.context), 0);
	if (t.imports)
		take_back(&t);
	else
		CHECK_ERRNO(window_revoke(t.fd, REG_AT, 100, &pinned), EINPROGRESS);
	CHECK_EQ(poll(&fd, 1, 0), 1);
	CHECK_EQ(reg_stats(t.context).deregistered, 0);
	CHECK_EQ(vpeer_context_reclaim(t.context), 1);
	CHECK_EQ(reg_stats(t.context).deregistered, 1);
	CHECK_EQ(vpeer_context_reclaim(t.context), 0);
	CHECK_EQ(poll(&fd, 1, 0), 0);
	take_back(&t);
	CHECK_EQ(told.calls, 0);
	end(&t);
}

/* Told once each, on the context's thread; nothing lands any more once they are given back. */
TEST(held, 60)
{
	struct vpeer_mr *mr, *loose, *again;
	struct vpeer_reg_options alone = { .flags = VPEER_REG_NO_CACHE };
	struct vpeer_error error;
	struct told told;
	uint32_t rkey;
	struct reg t;

	begin(&t, &told, 0);
	mr = reg_must(t.context, t.window, SIZE, NULL);
	again = reg_must(t.context, t.window, SIZE, NULL);
	loose = reg_must(t.context, t.window, SIZE, &alone);
	CHECK_EQ(again, mr);
	rkey = vpeer_mr_rkey(mr);
	reg_check_window(&t, 0, rkey, SIZE);
	CHECK_EQ(vpeer_mr_work_begin(mr), 0);
	vpeer_mr_work_end(mr);
	window_revoke(t.fd, REG_AT, 0, NULL);
	CHECK_WITHIN(told.calls == 2, WAIT_MS);
	CHECK_EQ(told.check, -ESTALE);
	CHECK(!strcmp(told.name, "vpeer-reclaim"));
	CHECK(!pthread_equal(told.thread, pthread_self()));
	CHECK_EQ(vpeer_mr_check(mr, &error), -ESTALE);
	CHECK_EQ(error.reason, VPEER_REASON_MR_STALE);
	CHECK(error.message[0] && error.remedy[0]);
	CHECK_EQ(vpeer_mr_work_begin(mr), -ESTALE);
	CHECK_EQ(vpeer_reg(t.context, t.window, SIZE, NULL, &again, &error), -ENODEV);
	CHECK_EQ(error.reason, VPEER_REASON_REVOKED);
	CHECK_EQ(vpeer_dereg(loose), 0);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(vpeer_dereg(mr), 0);
	take_back(&t);
	CHECK_EQ(reg_stats(t.context).deregistered, 2);
	CHECK_EQ(reg_stats(t.context).revoked, 2);
	pattern_fill(t.plain, SIZE, 41);
	reg_check_denied(&t, t.window, rkey, SIZE);
	end(&t);
}

TEST(given_back_by_the_callback, 60)
{
	struct vpeer_mr *mr;
	struct told told;
	struct reg t;

	begin(&t, &told, 0);
	told.gives_back = true;
	mr = reg_must(t.context, t.window, SIZE, NULL);
	take_back(&t);
	CHECK_WITHIN(reg_stats(t.context).deregistered == 1, WAIT_MS);
	CHECK_EQ(told.calls, 1);
	CHECK_EQ(told.last, mr);
	end(&t);
}

/* Of another mapping of the window: it is not found again, but who holds it is not told. */
TEST(another_mapping, 60)
{
	struct vpeer_mr *mr, *anew;
	struct told told;
	struct reg t;
	char *other;

	begin(&t, &told, 0);
	mr = reg_must(t.context, t.window, SIZE, NULL);
	other = window_map(t.fd, REG_AT, GRANULE);
	CHECK_EQ(vpeer_dereg(reg_must(t.context, other, SIZE, NULL)), 0);
	CHECK_OK(munmap(other, GRANULE));
	CHECK_WITHIN(reg_stats(t.context).deregistered == 1, WAIT_MS);
	CHECK_EQ(told.calls, 0);
	CHECK_EQ(vpeer_mr_check(mr, NULL), 0);
	CHECK_EQ(vpeer_mr_work_begin(mr), 0);
	reg_check_window(&t, 0, vpeer_mr_rkey(mr), SIZE);
	vpeer_mr_work_end(mr);
	anew = reg_must(t.context, t.window, SIZE, NULL);
	CHECK(anew != mr);
	window_revoke(t.fd, REG_AT, 0, NULL);
	CHECK_WITHIN(told.calls == 2, WAIT_MS);
	CHECK_EQ(vpeer_mr_check(mr, NULL), -ESTALE);
	CHECK_EQ(vpeer_dereg(anew), 0);
	CHECK_EQ(vpeer_dereg(mr), 0);
	take_back(&t);
	end(&t);
}

/* Of another window: nobody is told, and it stays. */
TEST(another_window, 60)
{
	struct vpeer_mr *mr;
	struct told told;
	struct reg t;
	char *other;

	begin(&t, &told, 0);
	CHECK_OK(window_alloc_at(t.fd, REG_AT + REG_SIZE, GRANULE, NULL));
	other = window_map(t.fd, REG_AT + REG_SIZE, GRANULE);
	mr = reg_must(t.context, t.window, SIZE, NULL);
	CHECK_EQ(vpeer_dereg(reg_must(t.context, other, SIZE, NULL)), 0);
	CHECK_OK(window_revoke(t.fd, REG_AT + REG_SIZE, WAIT_MS, NULL));
	CHECK_WITHIN(reg_stats(t.context).deregistered == 1, WAIT_MS);
	CHECK_EQ(told.calls, 0);
	CHECK_EQ(vpeer_mr_check(mr, NULL), 0);
	reg_check_window(&t, 0, vpeer_mr_rkey(mr), SIZE);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(reg_must(t.context, t.window, SIZE, NULL), mr);
	CHECK_EQ(vpeer_dereg(mr), 0);
	munmap(other, GRANULE);
	CHECK_OK(reg_window_free(t.fd, REG_AT + REG_SIZE));
	end(&t);
}

/* vpeer_dereg() with work in flight ends the MR with the work. */
TEST(deferred, 60)
{
	struct vpeer_reg_options alone = { .flags = VPEER_REG_NO_CACHE };
	struct vpeer_mr *mr;
	struct told told;
	struct reg t;

	begin(&t, &told, 0);
	for (int i = 0; i < 2; i++) {
		mr = reg_must(t.context, t.window, SIZE, i ? NULL : &alone);
		CHECK_EQ(vpeer_mr_work_begin(mr), 0);
		CHECK_EQ(vpeer_mr_work_begin(mr), 0);
		CHECK_EQ(vpeer_dereg(mr), -EINPROGRESS);
		CHECK_EQ(vpeer_context_trim(t.context, 0), 0);
		CHECK_EQ(vpeer_context_destroy(t.context, NULL), -EBUSY);
		reg_check_window(&t, 0, vpeer_mr_rkey(mr), SIZE);
		vpeer_mr_work_end(mr);
		CHECK_EQ(vpeer_context_trim(t.context, 0), 0);
		CHECK_EQ(reg_stats(t.context).deregistered, i);
		vpeer_mr_work_end(mr);
		CHECK_EQ(vpeer_context_trim(t.context, 0), i);
		CHECK_EQ(reg_stats(t.context).deregistered, i + 1);
		CHECK_EQ(reg_stats(t.context).deferred, i + 1);
	}
	end(&t);
}

/* Work that the revocation overtakes: the window is free when it is over. */
TEST(deferred_and_revoked, 60)
{
	struct vpeer_mr *mr;
	struct told told;
	struct reg t;

	begin(&t, &told, 0);
	mr = reg_must(t.context, t.window, SIZE, NULL);
	CHECK_EQ(vpeer_mr_work_begin(mr), 0);
	CHECK_EQ(vpeer_dereg(mr), -EINPROGRESS);
	window_revoke(t.fd, REG_AT, 0, NULL);
	CHECK_WITHIN(told.calls == 1, WAIT_MS);
	CHECK_EQ(reg_stats(t.context).deregistered, 0);
	vpeer_mr_work_end(mr);
	take_back(&t);
	CHECK_EQ(reg_stats(t.context).deregistered, 1);
	end(&t);
}

TEST(destroy_while_held, 60)
{
	struct vpeer_error error;
	struct vpeer_mr *mr;
	struct told told;
	struct reg t;

	begin(&t, &told, 0);
	mr = reg_must(t.context, t.window, SIZE, NULL);
	CHECK_EQ(vpeer_context_destroy(t.context, &error), -EBUSY);
	CHECK_EQ(error.reason, VPEER_REASON_MR_IN_USE);
	CHECK(strstr(error.message, "MRs: 1, with work in flight: 0"));
	reg_check_window(&t, 0, vpeer_mr_rkey(mr), SIZE);
	CHECK_EQ(vpeer_dereg(mr), 0);
	end(&t);
}
