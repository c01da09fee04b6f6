// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory is taken away and other memory put at the same address, again and again: what is registered there is the
 * new memory each time. VPEER_TEST_REUSES sets how often (1000).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "place.h"
#include "reg.h"

#define SIZE	PLACE_SIZE

struct reuse {
	struct reg reg;
	struct place place;
	uint64_t seed;
	bool naive;		/* what is registered once is given out for ever */
	struct ibv_mr *kept;
};

static void begin(struct reuse *u)
{
	const struct vpeer_context_options options = { .aperture_percent = 100 };

	*u = (struct reuse){ .seed = 100 };
	reg_begin(&u->reg, &options);
	place_begin(&u->place, u->reg.imports ? &u->reg.gpu : NULL);
}

static void end(struct reuse *u)
{
	place_end(&u->place);
	reg_end(&u->reg);
}

static struct ibv_mr *register_for_ever(struct reuse *u)
{
	const struct backing *now = &u->place.now;
	int dmabuf;

	if (u->kept)
		return u->kept;
	if (!u->reg.imports || !is_window(now)) {
		u->kept = rdma_reg(&u->reg.r, u->place.at, SIZE);
		return u->kept;
	}
	dmabuf = dmabuf_export(now->fd, now->at + now->shift, SIZE);
	u->kept = rdma_reg_dmabuf(&u->reg.r, dmabuf, 0, SIZE, (uintptr_t)u->place.at);
	close(dmabuf);
	return u->kept;
}

static uint32_t key(struct reuse *u, struct vpeer_mr **mr)
{
	const struct vpeer_reg_options keep = { .flags = VPEER_REG_KEEP };

	*mr = NULL;
	if (u->naive)
		return register_for_ever(u)->rkey;
	*mr = reg_must(u->reg.context, u->place.at, SIZE, is_window(&u->place.now) ? NULL : &keep);
	CHECK_EQ(vpeer_mr_check(*mr, NULL), 0);
	return vpeer_mr_rkey(*mr);
}

/* Registers what is there and writes to it: whether that came to the memory that is there. */
static bool write_lands(struct reuse *u, struct vpeer_mr **mr)
{
	uint32_t rkey = key(u, mr);

	pattern_fill(u->reg.plain, SIZE, ++u->seed);
	CHECK(!place_holds(&u->place, &u->place.now, u->seed));
	if (rdma_write(&u->reg.r, u->reg.plain_mr, (uintptr_t)u->place.at, rkey, SIZE)) {
		rdma_connect(&u->reg.r);
		return false;
	}
	return place_holds(&u->place, &u->place.now, u->seed);
}

static void check_refused(struct reuse *u)
{
	struct vpeer_error error;
	struct vpeer_mr *mr;

	CHECK_EQ(vpeer_reg(u->reg.context, u->place.at, SIZE, NULL, &mr, &error), -ENODEV);
	CHECK_EQ(error.reason, VPEER_REASON_REVOKED);
}

/* Lets it go, after @mr was given back unless that is held on. */
static struct backing let_go(struct reuse *u, enum leave way, struct vpeer_mr *mr, bool held)
{
	struct backing old;

	if (!held)
		CHECK_EQ(vpeer_dereg(mr), 0);
	if (!is_window(&u->place.now) && !u->naive)
		CHECK_EQ(vpeer_invalidate(u->reg.context, u->place.at, SIZE), 1);
	old = place_let_go(&u->place, way, held || u->naive);
	if (way == REVOKE && !u->naive)
		check_refused(u);
	return old;
}

/* Who holds an MR of a window may use it until the window ends, whatever became of addresses. */
static void end_old(struct reuse *u, struct backing *old, enum leave way, struct vpeer_mr *mr,
		    bool held)
{
	if (held && is_window(old))
		CHECK_EQ(vpeer_mr_check(mr, NULL),
			 way == FREE || way == REVOKE ? -ESTALE : 0);
	if (held)
		CHECK_EQ(vpeer_dereg(mr), 0);
	if (u->kept)
		CHECK_EQ(ibv_dereg_mr(u->kept), 0);
	u->kept = NULL;
	place_retire(&u->place, old);
}

/* Whether the bytes came to the new memory; then the old must be as it was. */
static bool replace(struct reuse *u, enum leave way, enum next next, bool held)
{
	struct vpeer_mr *mr, *new_mr;
	struct backing old;
	uint64_t old_seed;
	bool lands;

	way = place_possible_leave(&u->place, way);
	next = place_possible_next(&u->place, way, next);
	/* Memory that is held cannot come again. */
	if (next == SAME_PLACE && (u->naive || held))
		next = OTHER_FILE;
	CHECK(write_lands(u, &mr));
	old_seed = u->seed;
	old = let_go(u, way, mr, held);
	place_come(&u->place, &old, next);
	lands = write_lands(u, &new_mr);
	if (lands && next != SAME_PLACE && (is_window(&old) || old.plain))
		CHECK(place_holds(&u->place, &old, old_seed));
	CHECK_EQ(vpeer_dereg(new_mr), 0);
	end_old(u, &old, way, mr, held);
	return lands;
}

static unsigned int reuses(void)
{
	const char *text = getenv("VPEER_TEST_REUSES");

	return text ? strtoul(text, NULL, 10) : 1000;
}

TEST(other_memory_at_the_address, 300)
{
	unsigned int times = reuses();
	struct vpeer_stats stats;
	struct reuse u;

	begin(&u);
	for (unsigned int i = 0; i < times; i++) {
		enum leave way = i % LEAVES;
		enum next next = i / LEAVES % NEXTS;

		if (!replace(&u, way, next, i / LEAVES / NEXTS % 2))
			test_fail(__FILE__, __LINE__, "round %u, way %u, next %u: lost",
				  i, way, next);
	}
	stats = reg_stats(u.reg.context);
	printf("registered %llu, hits %llu, stale %llu\n", (unsigned long long)stats.registered,
	       (unsigned long long)stats.hits, (unsigned long long)stats.stale);
	/* Each round's second registration mostly serves the next one's first. */
	CHECK(stats.hits >= times / 2);
	CHECK(stats.stale >= times / 2);
	end(&u);
}

/* The check sees stale MRs: one that was made before writes elsewhere, or not at all. */
TEST(kept_in_spite_of_all, 120)
{
	struct reuse u;

	begin(&u);
	u.naive = true;
	for (unsigned int i = 0; i < LEAVES * NEXTS; i++) {
		enum leave way = i % LEAVES;
		enum next next = i / LEAVES;

		if (replace(&u, way, next, false))
			test_fail(__FILE__, __LINE__, "way %u, next %u: not seen", way, next);
	}
	end(&u);
}

/* What a caller gets who breaks the promise of VPEER_REG_KEEP, and one who keeps it. */
TEST(broken_promise, 30)
{
	struct vpeer_mr *old, *mr;
	struct backing window;
	struct reuse u;

	begin(&u);
	window = u.place.now;
	for (int broken = 1; broken >= 0; broken--) {
		place_put_plain(&u.place);
		CHECK(write_lands(&u, &old));
		CHECK_EQ(vpeer_dereg(old), 0);
		if (!broken)
			CHECK_EQ(vpeer_invalidate(u.reg.context, u.place.at, SIZE), 1);
		place_put_plain(&u.place);
		CHECK_EQ(write_lands(&u, &mr), !broken);
		if (broken)
			CHECK(mr == old && all_zero(u.place.at, SIZE));
		CHECK_EQ(vpeer_dereg(mr), 0);
		CHECK_EQ(vpeer_invalidate(u.reg.context, u.place.at, SIZE), 1);
	}
	u.place.now = window;
	end(&u);
}
