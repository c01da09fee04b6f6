// SPDX-License-Identifier: GPL-2.0-only
/* Registrations that are kept: found again, bounded, and never found when they are stale. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"

#define SIZE	(64 * KIB)

static void drop(struct vpeer_mr *mr)
{
	CHECK_EQ(vpeer_dereg(mr), 0);
}

TEST(hits, 60)
{
	struct vpeer_mr *mr, *part;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, t.window + 4096, SIZE, NULL);
	for (int i = 0; i < 10; i++) {
		part = reg_must(t.context, t.window + 4096 + i, SIZE - 2 * i, NULL);
		CHECK_EQ(part, mr);
		drop(part);
	}
	CHECK_EQ(reg_stats(t.context).hits, 10);
	CHECK_EQ(reg_stats(t.context).misses, 1);
	CHECK_EQ(reg_stats(t.context).registered, 1);
	part = reg_must(t.context, t.window + 4095, 2, NULL);
	CHECK(part != mr);
	drop(part);
	part = reg_must(t.context, t.window + 4095 + SIZE, 2, NULL);
	CHECK(part != mr);
	drop(part);
	drop(mr);
	CHECK_EQ(reg_stats(t.context).registered, 3);
	CHECK_EQ(reg_stats(t.context).entries, 3);
	CHECK_EQ(reg_stats(t.context).bytes, SIZE + 4);
	CHECK_EQ(reg_stats(t.context).deregistered, 0);
	reg_check_window(&t, 4096, vpeer_mr_rkey(mr), SIZE);
	CHECK_EQ(vpeer_context_trim(t.context, 1), 2);
	CHECK_EQ(reg_stats(t.context).entries, 1);
	CHECK_EQ(reg_stats(t.context).deregistered, 2);
	reg_end(&t);
}

/* Only one that permits at least as much, in the same way, will do. */
TEST(access_and_hints, 60)
{
	struct vpeer_reg_options reads = { .access = IBV_ACCESS_REMOTE_READ };
	struct vpeer_reg_options atomics = {
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};
	struct vpeer_reg_options strict = { .relaxed_ordering = VPEER_ORDERING_STRICT };
	struct vpeer_reg_options pages = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES) };
	struct vpeer_reg_options alone = { .flags = VPEER_REG_NO_CACHE };
	struct vpeer_mr *mr, *other;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, t.window, SIZE, NULL);
	other = reg_must(t.context, t.window, SIZE, &reads);
	CHECK_EQ(other, mr);
	drop(other);
	other = reg_must(t.context, t.window, SIZE, &atomics);
	CHECK(other != mr);
	drop(other);
	other = reg_must(t.context, t.window, SIZE, &strict);
	CHECK(other != mr);
	drop(other);
	other = reg_must(t.context, t.window, SIZE, &pages);
	CHECK(other != mr);
	CHECK_EQ(vpeer_mr_route(other), VPEER_ROUTE_PAGES);
	drop(other);
	other = reg_must(t.context, t.window, SIZE, &alone);
	CHECK(other != mr);
	CHECK_EQ(reg_stats(t.context).deregistered, 0);
	drop(other);
	CHECK_EQ(reg_stats(t.context).deregistered, 1);
	drop(mr);
	reg_end(&t);
}

TEST(no_cache, 60)
{
	struct vpeer_context_options options = { .flags = VPEER_CONTEXT_NO_CACHE };
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, &options);
	for (unsigned int i = 1; i <= 3; i++) {
		mr = reg_must(t.context, t.window, SIZE, NULL);
		CHECK_EQ(vpeer_mr_kind(mr), VPEER_MEMORY_WINDOW);
		drop(mr);
		CHECK_EQ(reg_stats(t.context).deregistered, i);
	}
	CHECK_EQ(reg_stats(t.context).hits, 0);
	CHECK_EQ(reg_stats(t.context).entries, 0);
	reg_end(&t);
}

TEST(bounded_by_entries, 60)
{
	struct vpeer_context_options options = { .max_entries = 4 };
	struct vpeer_mr *held[5];
	struct reg t;

	reg_begin(&t, &options);
	for (int i = 0; i < 8; i++)
		drop(reg_must(t.context, t.window + i * SIZE, SIZE, NULL));
	CHECK_EQ(reg_stats(t.context).entries, 4);
	CHECK_EQ(reg_stats(t.context).evicted, 4);
	CHECK_EQ(reg_stats(t.context).deregistered, 4);
	/* The latest are there. */
	drop(reg_must(t.context, t.window + 7 * SIZE, SIZE, NULL));
	CHECK_EQ(reg_stats(t.context).hits, 1);
	/* If all are held, one more is handed out, and not kept. */
	for (int i = 0; i < 5; i++)
		held[i] = reg_must(t.context, t.window + i * SIZE, SIZE, NULL);
	CHECK_EQ(reg_stats(t.context).uncached, 1);
	CHECK_EQ(reg_stats(t.context).entries, 5);
	for (int i = 0; i < 5; i++) {
		reg_check_window(&t, i * SIZE, vpeer_mr_rkey(held[i]), SIZE);
		drop(held[i]);
	}
	CHECK_EQ(reg_stats(t.context).entries, 4);
	reg_end(&t);
}

TEST(bounded_by_bytes, 60)
{
	struct vpeer_context_options options = { .max_bytes = 2 * SIZE };
	struct reg t;

	reg_begin(&t, &options);
	for (int i = 0; i < 4; i++)
		drop(reg_must(t.context, t.window + i * SIZE, SIZE, NULL));
	CHECK_EQ(reg_stats(t.context).bytes, 2 * SIZE);
	CHECK_EQ(reg_stats(t.context).evicted, 2);
	drop(reg_must(t.context, t.window, 3 * SIZE, NULL));
	CHECK_EQ(reg_stats(t.context).uncached, 1);
	reg_end(&t);
}

/* One percent of the aperture is all that may be kept. */
TEST(bounded_by_share, 60)
{
	struct vpeer_context_options options = { .aperture_percent = 1 };
	uint64_t share;
	struct reg t;
	size_t i;

	reg_begin(&t, &options);
	share = aperture_stat("size") / 100;
	for (i = 0; (i + 1) * SIZE <= REG_SIZE; i++) {
		drop(reg_must(t.context, t.window + i * SIZE, SIZE, NULL));
		CHECK(reg_stats(t.context).bytes <= share);
	}
	CHECK(reg_stats(t.context).evicted || share >= REG_SIZE);
	reg_end(&t);
}

/* What an unmapped address meant before is of no account. */
TEST(mapped_elsewhere, 60)
{
	struct vpeer_mr *before, *after;
	struct reg t;
	void *again;

	reg_begin(&t, NULL);
	before = reg_must(t.context, t.window, SIZE, NULL);
	again = mmap(t.window, GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, t.fd,
		     REG_AT + GRANULE);
	CHECK(again == t.window);
	CHECK_EQ(vpeer_mr_check(before, NULL), 0);
	after = reg_must(t.context, t.window, SIZE, NULL);
	CHECK(after != before);
	CHECK_EQ(vpeer_mr_check(after, NULL), 0);
	pattern_fill(t.plain, SIZE, 31);
	CHECK_EQ(rdma_write(&t.r, t.plain_mr, (uintptr_t)t.window, vpeer_mr_rkey(after), SIZE),
		 IBV_WC_SUCCESS);
	CHECK(reg_owner_is(&t, GRANULE, t.plain, SIZE));
	CHECK(!reg_owner_is(&t, 0, t.plain, SIZE));
	/* The one from before, which is held, is of the memory from before. */
	if (vpeer_mr_route(before) == VPEER_ROUTE_PAGES) {
		pattern_fill(t.plain, SIZE, 32);
		CHECK_EQ(rdma_write(&t.r, t.plain_mr, (uintptr_t)t.window, vpeer_mr_rkey(before),
				    SIZE), IBV_WC_SUCCESS);
		CHECK(reg_owner_is(&t, 0, t.plain, SIZE));
		CHECK(!reg_owner_is(&t, GRANULE, t.plain, SIZE));
	}
	drop(before);
	drop(after);
	reg_end(&t);
}
