// SPDX-License-Identifier: GPL-2.0-only
/* One range in several contexts, and many ranges at once. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"
#include "vrnic.h"

#define SIZE	(64 * KIB)
#define RAILS	3

struct rails {
	struct reg t;
	struct rdma r[RAILS];	/* of others than the first, each a device or a domain of its own */
	struct vpeer_context *contexts[RAILS];
};

static void begin(struct rails *s, const struct vpeer_context_options *last)
{
	reg_begin(&s->t, NULL);
	s->contexts[0] = s->t.context;
	for (unsigned int i = 1; i < RAILS; i++) {
		if (s->t.imports)
			rdma_open_device(&s->r[i], vrnic_device(i));
		else
			rdma_open(&s->r[i]);
		CHECK_EQ(vpeer_context_create(&s->contexts[i], s->r[i].pd,
					      i == RAILS - 1 ? last : NULL, NULL), 0);
	}
}

static void end(struct rails *s)
{
	for (unsigned int i = 1; i < RAILS; i++) {
		CHECK_EQ(vpeer_context_destroy(s->contexts[i], NULL), 0);
		rdma_close(&s->r[i]);
	}
	reg_end(&s->t);
}

static void check_rail(struct rails *s, unsigned int i, uint64_t offset, uint32_t rkey)
{
	struct rdma *r = i ? &s->r[i] : &s->t.r;
	struct ibv_mr *local = rdma_reg(r, s->t.plain, SIZE);

	pattern_fill(s->t.plain, SIZE, 900 + i);
	CHECK_EQ(rdma_write(r, local, (uintptr_t)s->t.window + offset, rkey, SIZE),
		 IBV_WC_SUCCESS);
	CHECK(reg_owner_is(&s->t, offset, s->t.plain, SIZE));
	CHECK_EQ(ibv_dereg_mr(local), 0);
}

TEST(all, 90)
{
	struct vpeer_mr *mrs[RAILS], *again[RAILS];
	struct vpeer_error error;
	unsigned int before;
	uint64_t exports = 0;
	struct rails s;

	begin(&s, NULL);
	before = reg_descriptors();
	if (vpeer_reg_rails(s.contexts, RAILS, s.t.window + 4096, SIZE, NULL, mrs, &error))
		test_fail(__FILE__, __LINE__, "%s", error.message);
	for (unsigned int i = 0; i < RAILS; i++) {
		check_rail(&s, i, 4096, vpeer_mr_rkey(mrs[i]));
		exports += reg_stats(s.contexts[i]).exports;
	}
	CHECK_EQ(exports, s.t.imports);
	CHECK_EQ(vpeer_reg_rails(s.contexts, RAILS, s.t.window + 4096, SIZE, NULL, again, NULL), 0);
	for (unsigned int i = 0; i < RAILS; i++) {
		CHECK_EQ(again[i], mrs[i]);
		CHECK_EQ(reg_stats(s.contexts[i]).registered, 1);
		CHECK_EQ(vpeer_dereg(mrs[i]), 0);
		CHECK_EQ(vpeer_dereg(mrs[i]), 0);
		CHECK_EQ(vpeer_context_trim(s.contexts[i], 0), 1);
	}
	vpeer_context_reclaim(s.t.context);
	/* An owner of the window for each context, and no DMA-buf. */
	CHECK(reg_descriptors() <= before + RAILS);
	end(&s);
}

/* Each context hears of the revocation. */
TEST(revoked, 90)
{
	struct vpeer_mr *mrs[RAILS];
	struct rails s;
	uint64_t pinned;

	begin(&s, NULL);
	CHECK_EQ(vpeer_reg_rails(s.contexts, RAILS, s.t.window, SIZE, NULL, mrs, NULL), 0);
	for (unsigned int i = 0; i < RAILS; i++)
		CHECK_EQ(vpeer_dereg(mrs[i]), 0);
	CHECK_OK(window_revoke(s.t.fd, REG_AT, 10000, &pinned));
	CHECK_EQ(pinned, 0);
	for (unsigned int i = 0; i < RAILS; i++)
		CHECK_WITHIN(reg_stats(s.contexts[i]).deregistered == 1, 10000);
	munmap(s.t.window, REG_SIZE);
	CHECK_OK(reg_window_free(s.t.fd, REG_AT));
	reg_window_make(&s.t);
	end(&s);
}

/* The last one may not: none is held. */
TEST(all_or_nothing, 90)
{
	struct vpeer_context_options last = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM) };
	struct vpeer_mr *mrs[RAILS] = { (void *)1, (void *)1, (void *)1 };
	struct vpeer_error error;
	struct rails s;

	begin(&s, &last);
	CHECK_EQ(vpeer_reg_rails(s.contexts, RAILS, s.t.window, SIZE, NULL, mrs, &error), -EPERM);
	CHECK_EQ(error.reason, VPEER_REASON_ROUTE_FORBIDDEN);
	CHECK(strstr(error.message, s.t.imports ? vrnic_device(RAILS - 1) : "rxe0"));
	for (unsigned int i = 0; i < RAILS; i++)
		CHECK(!mrs[i]);
	CHECK_EQ(vpeer_reg_rails(s.contexts, 0, s.t.window, SIZE, NULL, mrs, &error), -EINVAL);
	CHECK_EQ(vpeer_reg_rails(s.contexts, RAILS, s.t.window, 0, NULL, mrs, &error), -EINVAL);
	/* Which it would refuse while one was. */
	end(&s);
}

#define RANGES	64

/* Pairs that touch, some of which overlap, backwards. */
static void fill_ranges(char *base, struct vpeer_range ranges[RANGES])
{
	for (int i = 0; i < RANGES; i += 2) {
		char *at = base + (RANGES - 2 - i) / 2 * 16384;

		ranges[i] = (struct vpeer_range){ at + 4096, 4096 };
		ranges[i + 1] = (struct vpeer_range){ at, i % 4 ? 4096 : 6000 };
	}
}

static void check_ranges(struct reg *t, const struct vpeer_range ranges[RANGES],
			 struct vpeer_mr *mrs[RANGES])
{
	uint64_t start, length;

	for (int i = 0; i < RANGES; i++) {
		uint64_t first = (uintptr_t)ranges[i].address;

		CHECK_EQ(mrs[i], mrs[i & ~1]);
		CHECK(i < 2 || mrs[i] != mrs[i - 2]);
		vpeer_mr_range(mrs[i], &start, &length);
		CHECK(start <= first && first + ranges[i].length <= start + length);
		CHECK_EQ(length, 8192);
		reg_check_window(t, first - (uintptr_t)t->window, vpeer_mr_rkey(mrs[i]), 4096);
	}
}

TEST(batch, 90)
{
	struct vpeer_range ranges[RANGES];
	struct vpeer_mr *mrs[RANGES], *again[RANGES];
	struct vpeer_error error;
	struct reg t;

	reg_begin(&t, NULL);
	fill_ranges(t.window, ranges);
	if (vpeer_reg_batch(t.context, ranges, RANGES, NULL, mrs, &error))
		test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_EQ(reg_stats(t.context).registered, RANGES / 2);
	check_ranges(&t, ranges, mrs);
	CHECK_EQ(vpeer_reg_batch(t.context, ranges, RANGES, NULL, again, &error), 0);
	CHECK(!memcmp(mrs, again, sizeof(mrs)));
	CHECK_EQ(reg_stats(t.context).registered, RANGES / 2);
	for (int i = 0; i < RANGES; i++) {
		CHECK_EQ(vpeer_context_trim(t.context, 0), i && !(i % 2));
		CHECK_EQ(vpeer_dereg(mrs[i]), 0);
		CHECK_EQ(vpeer_dereg(again[i]), 0);
	}
	CHECK_EQ(vpeer_context_trim(t.context, 0), 1);
	CHECK_EQ(reg_stats(t.context).deregistered, RANGES / 2);
	reg_end(&t);
}

/* Ordinary memory is not kept: the last holder ends the MR. */
TEST(batch_of_host_memory, 90)
{
	struct vpeer_range ranges[3];
	struct vpeer_mr *mrs[3];
	struct reg t;
	char *memory;

	reg_begin(&t, NULL);
	memory = plain_memory(SIZE);
	ranges[0] = (struct vpeer_range){ memory + 8192, 8192 };
	ranges[1] = (struct vpeer_range){ memory, 8192 };
	ranges[2] = (struct vpeer_range){ memory + 100, 100 };
	CHECK_EQ(vpeer_reg_batch(t.context, ranges, 3, NULL, mrs, NULL), 0);
	CHECK(mrs[0] == mrs[1] && mrs[1] == mrs[2]);
	CHECK_EQ(vpeer_dereg(mrs[1]), 0);
	CHECK_EQ(vpeer_dereg(mrs[0]), 0);
	CHECK_EQ(reg_stats(t.context).deregistered, 0);
	reg_check_plain(&t, memory, vpeer_mr_rkey(mrs[2]), 16384);
	CHECK_EQ(vpeer_dereg(mrs[2]), 0);
	CHECK_EQ(reg_stats(t.context).deregistered, 1);
	munmap(memory, SIZE);
	reg_end(&t);
}

TEST(batch_all_or_nothing, 90)
{
	struct vpeer_range ranges[RANGES];
	struct vpeer_mr *mrs[RANGES];
	struct vpeer_error error;
	struct reg t;
	/* So low that nothing is mapped there unless it is asked for. */
	char *hole = (char *)0x10000000;

	reg_begin(&t, NULL);
	fill_ranges(t.window, ranges);
	ranges[17] = (struct vpeer_range){ hole, 4096 };
	memset(mrs, 1, sizeof(mrs));
	CHECK_EQ(vpeer_reg_batch(t.context, ranges, RANGES, NULL, mrs, &error), -EFAULT);
	CHECK_EQ(error.reason, VPEER_REASON_NOT_MAPPED);
	CHECK(strstr(error.message, "range 17, "));
	for (int i = 0; i < RANGES; i++)
		CHECK(!mrs[i]);
	ranges[17].length = 0;
	CHECK_EQ(vpeer_reg_batch(t.context, ranges, RANGES, NULL, mrs, &error), -EINVAL);
	CHECK(strstr(error.message, "range 17, "));
	CHECK_EQ(vpeer_reg_batch(t.context, ranges, 0, NULL, mrs, &error), -EINVAL);
	reg_end(&t);
}
