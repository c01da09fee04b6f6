// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eight threads that register, transfer, give back, take memory away, and fork. Whatever is handed out is good, or
 * says that it is stale; what is registered while nobody takes its memory away always works. VPEER_TEST_ROUNDS
 * decides how long. Sanitizers see the same in reg_sanitized.sh.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"

#define THREADS		8
#define WINDOWS		6
#define SLOTS		(WINDOWS + 2)	/* the rest: ordinary memory */
#define PLACES		3		/* in the aperture, for each */
#define MAPPED		(128 * KIB)
#define CALM		0		/* where a thread's bytes are that nobody takes away */
#define WILD		(64 * KIB)
#define STRIPE		4096		/* of each thread */
#define HELD		4

/* An address, and what is there. Who holds the lock for reading may rely on it. */
struct slot {
	pthread_rwlock_t lock;
	char *at;
	bool live;
	int fd;
	uint64_t offset;
	unsigned int claims;
};

static struct {
	struct reg t;
	struct slot slots[SLOTS];
	int64_t end;
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

static bool is_window(const struct slot *slot)
{
	return slot < world.slots + WINDOWS;
}

static const struct vpeer_reg_options *options_of(struct worker *w, const struct slot *slot)
{
	static const struct vpeer_reg_options alone = { .flags = VPEER_REG_NO_CACHE };
	static const struct vpeer_reg_options keep = { .flags = VPEER_REG_KEEP };
	static const struct vpeer_reg_options whole = { .flags = VPEER_REG_WHOLE };

	if (!draw(w, 12))
		return &alone;
	if (!is_window(slot))
		return &keep;
	return draw(w, 6) ? NULL : &whole;
}

static enum ibv_wc_status transfer(struct worker *w, const char *to, struct vpeer_mr *mr)
{
	count(&world.transfers);
	pattern_fill(w->plain, STRIPE, w->random >> 32);
	return rdma_write(&w->r, &(struct ibv_mr){ .addr = w->plain, .lkey = world.t.plain_mr->lkey },
			  (uintptr_t)to, vpeer_mr_rkey(mr), STRIPE);
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
	size_t length = from == slot->at ? MAPPED : STRIPE;

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

/* Not unmapped: others would get the address. */
static void leave(struct slot *slot)
{
	CHECK(mmap(slot->at, MAPPED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == slot->at);
}

static void map(struct slot *slot)
{
	int flags = is_window(slot) ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;

	CHECK(mmap(slot->at, MAPPED, PROT_READ | PROT_WRITE, flags | MAP_FIXED, slot->fd, slot->offset) ==
	      slot->at);
	slot->live = true;
}

/* Where nobody holds what was there before; else the slot stays empty. */
static bool claim(struct slot *slot)
{
	uint64_t first = 8 + (slot - world.slots) * PLACES;

	for (unsigned int i = 0; i < PLACES; i++) {
		slot->offset = (first + slot->claims++ % PLACES) * GRANULE;
		if (!window_alloc_at(slot->fd, slot->offset, GRANULE, NULL))
			return true;
	}
	return false;
}

/* Those who hold registrations of it keep it a while. */
static void end_window(const struct slot *slot, unsigned long request)
{
	struct vpeer_window_op arg = { .argsz = sizeof(arg), .offset = slot->offset };

	if (ioctl(slot->fd, request, &arg))
		CHECK_EQ(errno, EINPROGRESS);
}

static void take_window_away(struct worker *w, struct slot *slot)
{
	slot->live = false;
	switch (draw(w, 4)) {
	case 0:
		leave(slot);
		break;
	case 1:
		end_window(slot, VPEER_IOCTL_WINDOW_REVOKE);
		/* fall through */
	case 2:
		end_window(slot, VPEER_IOCTL_WINDOW_FREE);
		slot->offset = 0;
		break;
	default:
		leave(slot);
		CHECK_OK(close(slot->fd));
		slot->fd = aperture_open();
		slot->offset = 0;
		break;
	}
}

static void change(struct worker *w)
{
	struct slot *slot = &world.slots[draw(w, SLOTS)];

	count(&world.changes);
	pthread_rwlock_wrlock(&slot->lock);
	if (!is_window(slot)) {
		CHECK(vpeer_invalidate(world.t.context, slot->at, MAPPED) >= 0);
		leave(slot);
	} else if (slot->live) {
		take_window_away(w, slot);
	}
	if (!is_window(slot) || (draw(w, 3) && (slot->offset || claim(slot))))
		map(slot);
	else if (!slot->offset || draw(w, 2))
		leave(slot);
	pthread_rwlock_unlock(&slot->lock);
}

static void look(struct worker *w)
{
	struct slot *slot = &world.slots[draw(w, SLOTS)];
	struct vpeer_stats stats;

	switch (draw(w, 4)) {
	case 0:
		CHECK(vpeer_invalidate(world.t.context, slot->at + draw(w, MAPPED), 1 + draw(w, MAPPED)) >= 0);
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

	while (test_now_ms() < world.end) {
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

static void begin_slot(struct slot *slot)
{
	CHECK_EQ(pthread_rwlock_init(&slot->lock, NULL), 0);
	slot->at = mmap(NULL, MAPPED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK_OK((long)slot->at);
	slot->fd = is_window(slot) ? aperture_open() : -1;
	if (is_window(slot))
		CHECK(claim(slot));
	map(slot);
}

static void end_slot(struct slot *slot)
{
	CHECK_OK(munmap(slot->at, MAPPED));
	if (slot->fd >= 0)
		CHECK_OK(close(slot->fd));
	pthread_rwlock_destroy(&slot->lock);
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

	world.end = test_now_ms() + 2000 + (text ? strtol(text, NULL, 10) : 20) * 300;
	for (unsigned int i = 0; i < THREADS; i++)
		begin_worker(&workers[i], i);
	for (unsigned int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(workers[i].thread, NULL), 0);
		end_worker(&workers[i]);
	}
}

/* All that was to happen did, and nothing is left of it. */
static void check_account(void)
{
	struct vpeer_stats stats;

	vpeer_context_trim(world.t.context, 0);
	CHECK_WITHIN(!reg_stats(world.t.context).entries, 2000);
	stats = reg_stats(world.t.context);
	printf("%u transfers, %u changes, %u refused, %u stale, %u deferred, %u forks, %u told; hits %llu, "
	       "registered %llu, stale %llu, failed %llu\n", world.transfers, world.changes, world.refused,
	       world.stale, world.deferred, world.forks, world.told, (unsigned long long)stats.hits,
	       (unsigned long long)stats.registered, (unsigned long long)stats.stale,
	       (unsigned long long)stats.failed);
	CHECK_EQ(stats.deregistered, stats.registered);
	CHECK_EQ(stats.failed, world.refused);
	CHECK_EQ(stats.revoked, world.told);
	CHECK(world.transfers > 100 && world.changes > 30 && world.forks > 2 && world.deferred > 10);
	CHECK(world.refused > 0 && world.told > 0 && stats.stale > 0 && stats.hits > 50);
}

TEST(together, 180)
{
	const struct vpeer_context_options options = { .revoked = told, .max_entries = 40 };
	unsigned int before;

	reg_begin(&world.t, &options);
	before = reg_descriptors();
	for (unsigned int i = 0; i < SLOTS; i++)
		begin_slot(&world.slots[i]);
	run_threads();
	for (unsigned int i = 0; i < SLOTS; i++)
		end_slot(&world.slots[i]);
	check_account();
	CHECK_WITHIN(reg_descriptors() == before, 2000);
	/* That of the fixture, which is in use. */
	CHECK_WITHIN(aperture_stat("windows") == 1, 2000);
	reg_end(&world.t);
}
