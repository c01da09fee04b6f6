// SPDX-License-Identifier: GPL-2.0-only
/* A context belongs to the process that made it. */
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"

#define SIZE	(64 * KIB)

struct forked {
	struct reg t;
	struct vpeer_mr *kept, *loose;
	struct vpeer_flush *flush;
};

static void in_child(void *argument)
{
	struct forked *f = argument;
	struct vpeer_range range = { f->t.window, SIZE };
	struct vpeer_error error;
	struct vpeer_mr *mr;

	CHECK_EQ(vpeer_reg(f->t.context, f->t.window, SIZE, NULL, &mr, &error), -ECHILD);
	CHECK_EQ(error.reason, VPEER_REASON_FORKED);
	CHECK(error.message[0] && error.remedy[0]);
	CHECK_EQ(vpeer_reg(f->t.context, f->t.plain, SIZE, NULL, &mr, NULL), -ECHILD);
	CHECK_EQ(vpeer_reg_dmabuf(f->t.context, 0, 0, SIZE, 0, NULL, &mr, &error), -ECHILD);
	CHECK_EQ(vpeer_reg_rails(&f->t.context, 1, f->t.window, SIZE, NULL, &mr, &error), -ECHILD);
	CHECK_EQ(vpeer_reg_batch(f->t.context, &range, 1, NULL, &mr, &error), -ECHILD);
	CHECK_EQ(vpeer_dereg(f->kept), -ECHILD);
	CHECK_EQ(vpeer_dereg(f->loose), -ECHILD);
	CHECK_EQ(vpeer_mr_work_begin(f->kept), -ECHILD);
	CHECK_EQ(vpeer_mr_check(f->kept, &error), -ECHILD);
	CHECK_EQ(vpeer_invalidate(f->t.context, f->t.window, SIZE), -ECHILD);
	CHECK_EQ(vpeer_context_trim(f->t.context, 0), -ECHILD);
	CHECK_EQ(vpeer_context_reclaim(f->t.context), -ECHILD);
	CHECK_EQ(vpeer_context_destroy(f->t.context, &error), 0);
}

/* What the child does, and that it ends, changes nothing for the parent. */
TEST(child, 60)
{
	struct vpeer_reg_options alone = { .flags = VPEER_REG_NO_CACHE };
	struct vpeer_stats before;
	struct forked f;

	reg_begin(&f.t, NULL);
	f.kept = reg_must(f.t.context, f.t.window, SIZE, NULL);
	f.loose = reg_must(f.t.context, f.t.window + SIZE, SIZE, &alone);
	CHECK_EQ(vpeer_dereg(reg_must(f.t.context, f.t.window + 2 * SIZE, SIZE, NULL)), 0);
	before = reg_stats(f.t.context);
	for (int i = 0; i < 3; i++)
		test_in_child(in_child, &f);
	CHECK_EQ(reg_stats(f.t.context).entries, before.entries);
	CHECK_EQ(reg_stats(f.t.context).deregistered, 0);
	reg_check_window(&f.t, 0, vpeer_mr_rkey(f.kept), SIZE);
	reg_check_window(&f.t, SIZE, vpeer_mr_rkey(f.loose), SIZE);
	CHECK_EQ(reg_must(f.t.context, f.t.window, SIZE, NULL), f.kept);
	CHECK_EQ(vpeer_dereg(f.kept), 0);
	CHECK_EQ(vpeer_dereg(f.kept), 0);
	CHECK_EQ(vpeer_dereg(f.loose), 0);
	reg_end(&f.t);
}

static void with_its_own(void *argument)
{
	struct reg *parents = argument, t;
	struct vpeer_mr *mr;

	CHECK_EQ(vpeer_context_destroy(parents->context, NULL), 0);
	reg_open_device(&t.r);
	CHECK_EQ(vpeer_context_create(&t.context, t.r.pd, NULL, NULL), 0);
	mr = reg_must(t.context, parents->plain, SIZE, NULL);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(vpeer_context_destroy(t.context, NULL), 0);
	rdma_close(&t.r);
}

TEST(childs_own, 60)
{
	struct reg t;

	reg_begin(&t, NULL);
	test_in_child(with_its_own, &t);
	reg_end(&t);
}
