// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process with few descriptors registers again and again. VPEER_TEST_REGISTRATIONS (2000) sets how often.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"

#define SIZE	(64 * KIB)
#define LIMIT	256

static unsigned int registrations(void)
{
	const char *text = getenv("VPEER_TEST_REGISTRATIONS");

	return text ? strtoul(text, NULL, 10) : 2000;
}

/* Of every kind, kept and not, in turn; refused ones among them. */
static void reg_one(struct reg *t, unsigned int i)
{
	struct vpeer_reg_options alone = { .flags = VPEER_REG_NO_CACHE };
	struct vpeer_reg_options forbidden = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM) };
	struct vpeer_mr *mr;
	int fd;

	switch (i % 4) {
	case 0:
		CHECK_EQ(vpeer_dereg(reg_must(t->context, t->window, SIZE, &alone)), 0);
		break;
	case 1:
		CHECK_EQ(vpeer_dereg(reg_must(t->context, t->window, SIZE, NULL)), 0);
		if (i % 8 == 1)
			CHECK_EQ(vpeer_context_trim(t->context, 0), 1);
		break;
	case 2:
		CHECK_EQ(vpeer_dereg(reg_must(t->context, t->plain, SIZE, NULL)), 0);
		CHECK_EQ(vpeer_reg(t->context, t->window, SIZE, &forbidden, &mr, NULL), -EPERM);
		break;
	default:
		fd = dmabuf_export(t->fd, REG_AT, SIZE);
		if (!vpeer_reg_dmabuf(t->context, fd, 0, SIZE, 0, NULL, &mr, NULL))
			CHECK_EQ(vpeer_dereg(mr), 0);
		else
			CHECK(!t->imports);
		close(fd);
	}
}

TEST(few, 1500)
{
	struct rlimit limit = { LIMIT, LIMIT };
	unsigned int before, count = registrations();
	struct vpeer_stats stats;
	struct reg t;

	CHECK(count > 2 * LIMIT);
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	reg_begin(&t, NULL);
	for (unsigned int i = 0; i < 8; i++)
		reg_one(&t, i);
	before = descriptors();
	for (unsigned int i = 0; i < count; i++)
		reg_one(&t, i);
	CHECK_EQ(descriptors(), before);
	stats = reg_stats(t.context);
	CHECK(stats.registered > count / 2);
	CHECK(!t.imports || stats.exports > 2 * LIMIT);
	reg_end(&t);
}

/* The same loop with a leak of one descriptor each would not end well. */
TEST(none_left, 60)
{
	struct rlimit limit = { LIMIT, LIMIT };
	struct vpeer_error error;
	struct vpeer_mr *mr;
	int fds[LIMIT], count = 0;
	struct reg t;

	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	reg_begin(&t, NULL);
	while ((fds[count] = dup(t.fd)) >= 0)
		count++;
	CHECK_ERRNO(-1, EMFILE);
	CHECK_EQ(vpeer_reg(t.context, t.window, SIZE, NULL, &mr, &error), -EMFILE);
	CHECK_EQ(error.reason, VPEER_REASON_TOO_MANY_FILES);
	CHECK(error.remedy[0]);
	while (count)
		close(fds[--count]);
	CHECK_EQ(vpeer_dereg(reg_must(t.context, t.window, SIZE, NULL)), 0);
	reg_end(&t);
}
