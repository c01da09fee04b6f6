// SPDX-License-Identifier: GPL-2.0-only
/* Windows, registered by the library, by every route that the device takes. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"

#define SIZE	(64 * KIB)
#define OFF	(GRANULE - 8192 + 512)	/* over the granules' border, within a page */

static unsigned int direct(const struct reg *t)
{
	return t->imports ? VPEER_ROUTE_DMABUF : VPEER_ROUTE_PAGES;
}

TEST(write_and_read, 60)
{
	uint64_t start, length;
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, t.window + OFF, SIZE, NULL);
	CHECK_EQ(vpeer_mr_kind(mr), VPEER_MEMORY_WINDOW);
	CHECK_EQ(vpeer_mr_route(mr), direct(&t));
	vpeer_mr_range(mr, &start, &length);
	CHECK_EQ(start, (uintptr_t)t.window + OFF);
	CHECK_EQ(length, SIZE);
	reg_check_window(&t, OFF, vpeer_mr_rkey(mr), SIZE);
	reg_check_window(&t, OFF + 8192, vpeer_mr_rkey(mr), 8);
	CHECK_EQ(reg_stats(t.context).routes[direct(&t)], 1);
	CHECK_EQ(reg_stats(t.context).exports, t.imports);
	CHECK_EQ(reg_stats(t.context).probes, 1);
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_end(&t);
}

/* An address in work requests is the process's, as the sender's side too. */
TEST(by_lkey, 60)
{
	struct vpeer_mr *mr;
	struct ibv_mr local;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, t.window + OFF, SIZE, NULL);
	local = *vpeer_mr_ibv(mr);
	local.addr = t.window + OFF;
	pattern_fill(t.window + OFF, SIZE, 7);
	CHECK_EQ(rdma_write(&t.r, &local, (uintptr_t)t.plain, t.plain_mr->rkey, SIZE),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(t.plain, SIZE, 7));
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_end(&t);
}

static void check_untouched(struct reg *t, const char *expected)
{
	CHECK(reg_owner_is(t, 0, expected, REG_SIZE));
}

TEST(denied, 90)
{
	struct vpeer_reg_options read_only = { .access = IBV_ACCESS_REMOTE_READ };
	char *before = plain_memory(REG_SIZE);
	struct vpeer_mr *mr;
	uint32_t rkey;
	struct reg t;

	reg_begin(&t, NULL);
	pattern_fill(before, REG_SIZE, 8);
	memcpy(t.window, before, REG_SIZE);
	pattern_fill(t.plain, REG_PLAIN, 9);
	mr = reg_must(t.context, t.window + GRANULE, SIZE, NULL);
	rkey = vpeer_mr_rkey(mr);
	reg_check_denied(&t, t.window + GRANULE, rkey ^ 1, 4096);
	reg_check_denied(&t, t.window + GRANULE + SIZE - 8, rkey, 16);
	reg_check_denied(&t, t.window + GRANULE - 8, rkey, 8);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(vpeer_context_trim(t.context, 0), 1);
	reg_check_denied(&t, t.window + GRANULE, rkey, 4096);
	mr = reg_must(t.context, t.window, SIZE, &read_only);
	reg_check_denied(&t, t.window, vpeer_mr_rkey(mr), 4096);
	check_untouched(&t, before);
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_end(&t);
	munmap(before, REG_SIZE);
}

TEST(pages, 60)
{
	struct vpeer_reg_options options = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES) };
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, t.window + OFF, SIZE, &options);
	CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_PAGES);
	reg_check_window(&t, OFF, vpeer_mr_rkey(mr), SIZE);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(reg_stats(t.context).exports, 0);
	reg_end(&t);
}

/* The first refusal, and what was left out. */
TEST(no_import, 60)
{
	struct vpeer_reg_options options = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) };
	struct vpeer_error error;
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, NULL);
	if (t.imports) {
		mr = reg_must(t.context, t.window, SIZE, &options);
		CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_DMABUF);
		CHECK_EQ(vpeer_dereg(mr), 0);
	}
	for (int i = 0; !t.imports && i < 3; i++) {
		CHECK_EQ(vpeer_reg(t.context, t.window, SIZE, &options, &mr, &error), -EOPNOTSUPP);
		CHECK_EQ(error.reason, VPEER_REASON_NO_DMABUF_IMPORT);
		CHECK(strstr(error.message, "rxe0: dmabuf: "));
		CHECK(!strcmp(error.who, "rxe0"));
		CHECK(strstr(error.remedy, "allow the route pages"));
	}
	CHECK_EQ(reg_stats(t.context).probes, 1);
	reg_end(&t);
}

TEST(whole, 60)
{
	struct vpeer_reg_options whole = { .flags = VPEER_REG_WHOLE };
	struct vpeer_mr *mr, *other;
	uint64_t start, length;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, t.window + OFF, 8, &whole);
	vpeer_mr_range(mr, &start, &length);
	CHECK_EQ(start, (uintptr_t)t.window);
	CHECK_EQ(length, REG_SIZE);
	reg_check_window(&t, REG_SIZE - SIZE, vpeer_mr_rkey(mr), SIZE);
	other = reg_must(t.context, t.window + SIZE, SIZE, NULL);
	CHECK_EQ(other, mr);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(vpeer_dereg(other), 0);
	reg_end(&t);
}

TEST(read_only_mapping, 60)
{
	struct vpeer_reg_options reads = { .access = IBV_ACCESS_REMOTE_READ };
	struct vpeer_error error;
	struct vpeer_mr *mr;
	struct reg t;
	void *mapped;

	reg_begin(&t, NULL);
	mapped = mmap(NULL, GRANULE, PROT_READ, MAP_SHARED, t.fd, REG_AT);
	CHECK_OK((long)mapped);
	CHECK_EQ(vpeer_reg(t.context, mapped, SIZE, NULL, &mr, &error), -EACCES);
	CHECK_EQ(error.reason, VPEER_REASON_ACCESS);
	if (t.imports) {
		mr = reg_must(t.context, mapped, SIZE, &reads);
		CHECK_EQ(vpeer_dereg(mr), 0);
	}
	munmap(mapped, GRANULE);
	reg_end(&t);
}

TEST(more_than_the_window, 60)
{
	struct vpeer_error error;
	struct vpeer_mr *mr;
	char *space;
	struct reg t;
	int fd;

	reg_begin(&t, NULL);
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, REG_AT + REG_SIZE, GRANULE, NULL));
	space = mmap(NULL, 2 * GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK_OK((long)space);
	CHECK(mmap(space, GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, t.fd,
		   REG_AT + GRANULE) == space);
	CHECK(mmap(space + GRANULE, GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		   REG_AT + REG_SIZE) == space + GRANULE);
	CHECK_EQ(vpeer_reg(t.context, space + GRANULE - 4096, 8192, NULL, &mr, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_MIXED_MEMORY);
	CHECK_EQ(vpeer_dereg(reg_must(t.context, space + GRANULE - 4096, 4096, NULL)), 0);
	CHECK_EQ(vpeer_dereg(reg_must(t.context, space + GRANULE, 4096, NULL)), 0);
	munmap(space, 2 * GRANULE);
	reg_end(&t);
	close(fd);
}
