// SPDX-License-Identifier: GPL-2.0-only
/* Host memory in the place of a window, and reads that flush. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lib/mr.h"
#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"

#define SIZE	(64 * KIB)
#define OFF	(4096 + 24)
#define WAIT_MS	10000

static const struct vpeer_reg_options staged = {
	.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING),
};

struct logged {
	unsigned int warnings;
	char last[256];
};

static void log_it(void *argument, int level, const char *text)
{
	struct logged *logged = argument;

	if (level != VPEER_LOG_WARNING)
		return;
	logged->warnings++;
	snprintf(logged->last, sizeof(logged->last), "%s", text);
}

/* Bytes arrive at the memory's owner when they are copied there, and not before. */
TEST(copies, 60)
{
	struct logged logged = { 0 };
	struct vpeer_context_options options = {
		.log_level = VPEER_LOG_WARNING,
		.log = log_it,
		.log_argument = &logged,
	};
	char *at;
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, &options);
	at = t.window + OFF;
	mr = reg_must(t.context, at, SIZE, &staged);
	CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_STAGING);
	CHECK_EQ(logged.warnings, 1);
	CHECK(strstr(logged.last, "host memory"));
	pattern_fill(t.plain, SIZE, 61);
	CHECK_EQ(rdma_write(&t.r, t.plain_mr, (uintptr_t)at, vpeer_mr_rkey(mr), SIZE),
		 IBV_WC_SUCCESS);
	CHECK(!reg_owner_is(&t, OFF, t.plain, SIZE));
	CHECK_EQ(vpeer_mr_copy(mr, VPEER_COPY_FROM_STAGE, at, SIZE, NULL), 0);
	CHECK(reg_owner_is(&t, OFF, t.plain, SIZE));
	pattern_fill(at + 100, 1000, 62);
	CHECK_EQ(vpeer_mr_copy(mr, VPEER_COPY_TO_STAGE, at + 100, 1000, NULL), 0);
	memset(t.plain, 0, SIZE);
	CHECK_EQ(rdma_read(&t.r, t.plain_mr, (uintptr_t)at + 100, vpeer_mr_rkey(mr), 1000),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(t.plain, 1000, 62));
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_end(&t);
}

TEST(copies_refused, 60)
{
	struct vpeer_error error;
	struct vpeer_mr *mr, *direct;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, t.window, SIZE, &staged);
	direct = reg_must(t.context, t.window, SIZE, NULL);
	CHECK(direct != mr);
	CHECK_EQ(vpeer_mr_copy(direct, VPEER_COPY_TO_STAGE, t.window, 8, &error), -EOPNOTSUPP);
	CHECK_EQ(error.reason, VPEER_REASON_STAGED);
	CHECK(strstr(error.message, "the MR is not staged"));
	CHECK_EQ(vpeer_mr_copy(mr, VPEER_COPY_TO_STAGE, t.window, SIZE + 1, &error), -EINVAL);
	CHECK(strstr(error.message, "leave the registration"));
	CHECK_EQ(vpeer_mr_copy(mr, VPEER_COPY_TO_STAGE, t.window - 1, 8, &error), -EINVAL);
	CHECK_EQ(vpeer_mr_copy(mr, 3, t.window, 8, &error), -EINVAL);
	CHECK(strstr(error.message, "no way 3"));
	CHECK_EQ(window_revoke(t.fd, REG_AT, 0, NULL) && errno != EINPROGRESS, 0);
	CHECK_EQ(vpeer_mr_copy(mr, VPEER_COPY_TO_STAGE, t.window, 8, &error), -ESTALE);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(vpeer_dereg(direct), 0);
	CHECK_EQ(vpeer_context_destroy(t.context, NULL), 0);
	munmap(t.window, REG_SIZE);
	CHECK_OK(reg_window_free(t.fd, REG_AT));
	reg_window_make(&t);
	reg_end_without(&t);
}

/* Only if nothing direct works, and only where it is allowed. */
TEST(last_of_routes, 60)
{
	struct vpeer_reg_options options = { .flags = VPEER_REG_STAGING };
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, t.window, SIZE, &options);
	CHECK(vpeer_mr_route(mr) != VPEER_ROUTE_STAGING);
	CHECK_EQ(vpeer_dereg(mr), 0);
	options.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM);
	CHECK_EQ(vpeer_reg(t.context, t.window, SIZE, &(struct vpeer_reg_options){
		.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM) }, &mr, NULL), -EPERM);
	mr = reg_must(t.context, t.window, SIZE, &options);
	CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_STAGING);
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_end(&t);
}

TEST(flush, 60)
{
	struct vpeer_flush *flush;
	struct vpeer_error error;
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, t.window + OFF, SIZE, NULL);
	if (vpeer_flush_create(&flush, t.context, 1, &error))
		test_fail(__FILE__, __LINE__, "%s", error.message);
	for (int i = 0; i < 100; i++)
		if (vpeer_flush(flush, mr, WAIT_MS, &error))
			test_fail(__FILE__, __LINE__, "%s", error.message);
	reg_check_window(&t, OFF, vpeer_mr_rkey(mr), SIZE);
	vpeer_flush_destroy(flush);
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_end(&t);
}

/* The queue pair is in the context's own protection domain, so that neither ends. */
TEST(flush_remains, 60)
{
	struct vpeer_context *context;
	struct vpeer_flush *flush;
	struct vpeer_error error;
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, NULL);
	CHECK_EQ(vpeer_context_open(&context, t.r.pd->context, NULL, NULL), 0);
	CHECK_EQ(vpeer_flush_create(&flush, context, 1, NULL), 0);
	CHECK_EQ(vpeer_context_destroy(context, &error), -EBUSY);
	CHECK_EQ(error.err, EBUSY);
	CHECK(strstr(error.message, "protection domain is in use"));
	CHECK_EQ(vpeer_reg(context, t.window + OFF, SIZE, NULL, &mr, &error), 0);
	CHECK_EQ(vpeer_flush(flush, mr, WAIT_MS, &error), 0);
	vpeer_flush_destroy(flush);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(vpeer_context_destroy(context, &error), 0);
	reg_end(&t);
}

TEST(flush_refused, 60)
{
	struct vpeer_reg_options writes = {
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
	struct vpeer_context *other;
	struct vpeer_flush *flush;
	struct vpeer_error error;
	struct vpeer_mr *mr, *deaf, *stage;
	struct reg t;

	reg_begin(&t, NULL);
	CHECK(vpeer_flush_create(&flush, t.context, 200, &error) < 0);
	CHECK(strstr(error.message, "port 200"));
	CHECK(error.remedy[0]);
	CHECK_EQ(error.mender, VPEER_MENDER_PROGRAM);
	CHECK(!flush);
	CHECK_EQ(vpeer_context_create(&other, t.r.pd, NULL, NULL), 0);
	CHECK_EQ(vpeer_flush_create(&flush, other, 1, NULL), 0);
	mr = reg_must(t.context, t.window, SIZE, NULL);
	CHECK_EQ(vpeer_flush(flush, mr, WAIT_MS, &error), -EINVAL);
	vpeer_flush_destroy(flush);
	CHECK_EQ(vpeer_context_destroy(other, NULL), 0);

	CHECK_EQ(vpeer_flush_create(&flush, t.context, 1, NULL), 0);
	deaf = reg_must(t.context, t.window + SIZE, SIZE, &writes);
	CHECK_EQ(vpeer_flush(flush, mr, WAIT_MS, &error), 0);
	stage = reg_must(t.context, t.window, SIZE, &staged);
	CHECK_EQ(vpeer_flush(flush, stage, WAIT_MS, &error), -EOPNOTSUPP);
	CHECK_EQ(error.reason, VPEER_REASON_STAGED);
	CHECK(strstr(error.message, "the MR is staged"));
	CHECK_EQ(vpeer_dereg(stage), 0);
	CHECK_EQ(vpeer_flush(flush, deaf, WAIT_MS, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_ACCESS);
	CHECK_EQ(vpeer_flush(flush, mr, WAIT_MS, &error), 0);
	/* Only the device knows better. */
	deaf->access |= IBV_ACCESS_REMOTE_READ;
	CHECK_EQ(vpeer_flush(flush, deaf, WAIT_MS, &error), -EIO);
	CHECK_EQ(error.reason, VPEER_REASON_FLUSH_FAILED);
	CHECK_EQ(vpeer_flush(flush, mr, WAIT_MS, &error), -EIO);
	vpeer_flush_destroy(flush);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(vpeer_dereg(deaf), 0);
	reg_end(&t);
}
