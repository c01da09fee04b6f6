// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eight threads that register, transfer, give back, take memory away, and fork. Whatever is handed out is good, or
 * says that it is stale; what is registered while nobody takes its memory away always works. VPEER_TEST_ROUNDS
 * (20) decides how often. Sanitizers see the same in reg_sanitized.sh.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"
#include "slots.h"

#define THREADS		8
#define WINDOWS		6
#define SLOTS		(WINDOWS + 2)	/* the rest: ordinary memory */
#define CALM		0		/* where a thread's bytes are that nobody takes away */
#define WILD		(64 * KIB)
#define STRIPE		4096		/* of each thread */
#define HELD		4

static struct {
	struct reg t;
	struct slot slots[SLOTS];
	unsigned int steps;
	unsigned int transfers, refused, stale, deferred, changes, forks, told;
} world;

struct worker {
	pthread_t thread;
	unsigned int number;
	uint64_t random;
	struct rdma r;
	char *plain;
	struct vpeer_mr *held[HELD];
	unsigned int drops;
};

static void count(unsigned int *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static uint32_t draw(struct worker *w, uint32_t below)
{
	w->random = w->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (w->random >> 33) % below;
}

static const struct vpeer_reg_options *options_of(struct worker *w, const struct slot *slot)
{
	static const struct vpeer_reg_options alone = { .flags = VPEER_REG_NO_CACHE };
	static const struct vpeer_reg_options keep = { .flags = VPEER_REG_KEEP };
	static const struct vpeer_reg_options whole = { .flags = VPEER_REG_WHOLE };

	if (!draw(w, 12))
		return &alone;
	if (slot->plain)
		return &keep;
	return draw(w, 6) ? NULL : &whole;
}

static enum ibv_wc_status transfer(struct worker *w, const char *to, struct vpeer_mr *mr)
{
	struct ibv_mr local = { .addr = w->plain, .lkey = world.t.plain_mr->lkey };

	count(&world.transfers);
	pattern_fill(w->plain, STRIPE, w->random >> 32);
	return rdma_write(&w->r, &local, (uintptr_t)to, vpeer_mr_rkey(mr), STRIPE);
}

/* Work of others on the same MR may be in flight. */
static void give_back(struct vpeer_mr *mr)
{
	int err = vpeer_dereg(mr);

	if (err != -EINPROGRESS)
		CHECK_EQ(err, 0);
}

/* All of the slot, or just the thread's part at @offset. */
static int try_register(struct worker *w, struct slot *slot, uint64_t offset, struct vpeer_mr **mr,
			struct vpeer_error *error)
{
	char *from = slot->at + (draw(w, 2) ? offset + w->number * STRIPE : 0);
	size_t length = from == slot->at ? SLOT_SIZE : STRIPE;

	return vpeer_reg(world.t.context, from, length, options_of(w, slot), mr, error);
}

static void use_calmly(struct worker *w, struct slot *slot)
{
	char *to = slot->at + CALM + w->number * STRIPE;
	struct vpeer_error error;
	struct vpeer_mr *mr;

	if (try_register(w, slot, CALM, &mr, &error))
		test_fail(__FILE__, __LINE__, "not registered: %s", error.message);
	CHECK_EQ(vpeer_mr_check(mr, NULL), 0);
	CHECK_EQ(transfer(w, to, mr), IBV_WC_SUCCESS);
	CHECK(!memcmp(to, w->plain, STRIPE));
	CHECK_EQ(vpeer_mr_check(mr, NULL), 0);
	give_back(mr);
}

static void calm(struct worker *w)
{
	struct slot *slot = &world.slots[draw(w, SLOTS)];

	pthread_rwlock_rdlock(&slot->lock);
	if (slot->live)
		use_calmly(w, slot);
	pthread_rwlock_unlock(&slot->lock);
}

static void drop(struct worker *w)
{
	struct vpeer_mr **held = &w->held[w->drops++ % HELD], *mr = *held;

	*held = NULL;
	if (!mr || draw(w, 2) || vpeer_mr_work_begin(mr)) {
		give_back(mr);
		return;
	}
	CHECK_EQ(vpeer_dereg(mr), -EINPROGRESS);
	vpeer_mr_work_end(mr);
	count(&world.deferred);
}

/* As the memory is taken away at any moment. */
static void wild(struct worker *w)
{
	struct slot *slot = &world.slots[draw(w, WINDOWS)];
	struct vpeer_error error;
	struct vpeer_mr *mr;
	int err;

	drop(w);
	err = try_register(w, slot, WILD, &mr, &error);
	if (err) {
		if (err != -ENODEV && err != -EFAULT && err != -EINVAL && err != -EACCES)
			test_fail(__FILE__, __LINE__, "refused with %d: %s", err, error.message);
		count(&world.refused);
		return;
	}
	w->held[(w->drops - 1) % HELD] = mr;
	if (vpeer_mr_check(mr, NULL)) {
		count(&world.stale);
		return;
	}
	if (transfer(w, slot->at + WILD + w->number * STRIPE, mr) == IBV_WC_SUCCESS)
		return;
	CHECK_EQ(vpeer_mr_check(mr, &error), -ESTALE);
	CHECK_EQ(error.reason, VPEER_REASON_MR_STALE);
	rdma_connect(&w->r);
}

static void change(struct worker *w)
{
	struct slot *slot = &world.slots[draw(w, SLOTS)];

	count(&world.changes);
	pthread_rwlock_wrlock(&slot->lock);
	if (slot->plain)
		CHECK(vpeer_invalidate(world.t.context, slot->at, SLOT_SIZE) >= 0);
	slot_change(slot, draw(w, 1 << 16));
	pthread_rwlock_unlock(&slot->lock);
}

static void look(struct worker *w)
{
	char *at = world.slots[draw(w, SLOTS)].at + draw(w, SLOT_SIZE);
	struct vpeer_stats stats;

	switch (draw(w, 4)) {
	case 0:
		CHECK(vpeer_invalidate(world.t.context, at, 1 + draw(w, SLOT_SIZE)) >= 0);
		break;
	case 1:
		CHECK(vpeer_context_trim(world.t.context, draw(w, 4)) >= 0);
		break;
	case 2:
		CHECK(vpeer_context_reclaim(world.t.context) >= 0);
		break;
	default:
		vpeer_context_stats(world.t.context, &stats);
		CHECK(stats.registered >= stats.deregistered);
		break;
	}
}

/* The parent's context is of no use to it. */
static void be_child(struct vpeer_mr *mr, bool executes)
{
	struct vpeer_context *context = world.t.context;
	struct vpeer_range range = { world.slots[0].at, STRIPE };
	struct vpeer_error error;
	struct vpeer_mr *none;

	CHECK_EQ(vpeer_reg(context, range.address, STRIPE, NULL, &none, &error), -ECHILD);
	CHECK_EQ(error.reason, VPEER_REASON_FORKED);
	CHECK_EQ(vpeer_reg_dmabuf(context, 0, 0, STRIPE, 0, NULL, &none, &error), -ECHILD);
	CHECK_EQ(vpeer_reg_rails(&context, 1, range.address, STRIPE, NULL, &none, &error), -ECHILD);
	CHECK_EQ(vpeer_reg_batch(context, &range, 1, NULL, &none, &error), -ECHILD);
	CHECK_EQ(vpeer_invalidate(context, range.address, STRIPE), -ECHILD);
	CHECK_EQ(vpeer_context_trim(context, 0), -ECHILD);
	CHECK_EQ(vpeer_context_reclaim(context), -ECHILD);
	if (mr) {
		CHECK_EQ(vpeer_mr_check(mr, NULL), -ECHILD);
		CHECK_EQ(vpeer_mr_work_begin(mr), -ECHILD);
		CHECK_EQ(vpeer_dereg(mr), -ECHILD);
	}
	CHECK_EQ(vpeer_context_destroy(context, &error), 0);
	if (executes)
		execl("/bin/true", "true", NULL);
	_exit(executes);
}

static void bear(struct worker *w)
{
	bool executes = draw(w, 2);
	pid_t pid = test_fork();

	if (!pid)
		be_child(w->held[0], executes);
	test_join(pid);
	count(&world.forks);
}

static void *work(void *argument)
{
	struct worker *w = argument;

	for (unsigned int i = 0; i < world.steps; i++) {
		uint32_t chance = draw(w, 100);

		if (chance < 45)
			calm(w);
		else if (chance < 80)
			wild(w);
		else if (chance < 90)
			change(w);
		else if (chance < 99)
			look(w);
		else
			bear(w);
	}
	for (int i = 0; i < HELD; i++)
		drop(w);
	return NULL;
}

static void told(void *unused, struct vpeer_mr *mr)
{
	(void)unused;
	CHECK_EQ(vpeer_mr_check(mr, NULL), -ESTALE);
	CHECK_EQ(vpeer_mr_work_begin(mr), -ESTALE);
	count(&world.told);
}

static void begin_worker(struct worker *w, unsigned int number)
{
	*w = (struct worker){ .number = number, .random = number + 1, .r = world.t.r };
	w->plain = world.t.plain + number * STRIPE;
	w->r.near = NULL;
	w->r.cq = ibv_create_cq(w->r.context, 64, NULL, NULL, 0);
	CHECK(w->r.cq);
	rdma_connect(&w->r);
}

static void end_worker(struct worker *w)
{
	CHECK_EQ(ibv_destroy_qp(w->r.near), 0);
	CHECK_EQ(ibv_destroy_qp(w->r.far), 0);
	CHECK_EQ(ibv_destroy_cq(w->r.cq), 0);
}

static void run_threads(void)
{
	static struct worker workers[THREADS];
	const char *text = getenv("VPEER_TEST_ROUNDS");

	world.steps = 30 * (text ? strtol(text, NULL, 10) : 20);
	for (unsigned int i = 0; i < THREADS; i++)
		begin_worker(&workers[i], i);
	for (unsigned int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(workers[i].thread, NULL), 0);
		end_worker(&workers[i]);
	}
}

static bool all_ended(void)
{
	struct vpeer_stats stats = reg_stats(world.t.context);

	return stats.registered == stats.deregistered;
}

/* All that was to happen did, and nothing is left of it. */
static void check_account(void)
{
	struct vpeer_stats stats;

	vpeer_context_trim(world.t.context, 0);
	CHECK_WITHIN(all_ended(), 2000);
	stats = reg_stats(world.t.context);
	printf("%u transfers, %u changes, %u refused, %u stale, %u deferred, %u forks, %u told\n",
	       world.transfers, world.changes, world.refused, world.stale, world.deferred,
	       world.forks, world.told);
	printf("registered %llu, hits %llu, stale %llu\n", (unsigned long long)stats.registered,
	       (unsigned long long)stats.hits, (unsigned long long)stats.stale);
	CHECK_EQ(stats.entries, 0);
	CHECK_EQ(stats.failed, world.refused);
	CHECK_EQ(stats.revoked, world.told);
	CHECK(world.transfers > 100 && world.changes > 30);
	CHECK(world.forks > 2 && world.deferred > 10);
	CHECK(world.refused > 0 && world.told > 0 && stats.stale > 0 && stats.hits > 50);
}

TEST(together, 300)
{
	const struct vpeer_context_options options = { .revoked = told, .max_entries = 40 };
	unsigned int before;

	reg_begin(&world.t, &options);
	before = reg_descriptors();
	for (unsigned int i = 0; i < SLOTS; i++)
		slot_begin(&world.slots[i], i, i >= WINDOWS);
	run_threads();
	for (unsigned int i = 0; i < SLOTS; i++)
		slot_end(&world.slots[i]);
	check_account();
	CHECK_WITHIN(reg_descriptors() == before, 2000);
	/* That of the fixture, which is in use. */
	CHECK_WITHIN(aperture_stat("windows") == 1, 2000);
	reg_end(&world.t);
}
