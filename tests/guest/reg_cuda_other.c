// SPDX-License-Identifier: GPL-2.0-only
/* CUDA memory on a device that imports no DMA-bufs, and the kinds of it that have pages. */
#include "cuda_reg.h"
#include "harness.h"
#include "memory.h"

#define UNIT	CUDA_UNIT

/* Why neither way works, the first one first. */
TEST(refused, 30)
{
	struct vpeer_error error;
	struct cuda_reg t;

	cuda_reg_begin(&t, NULL);
	error = cuda_reg_refused(&t, cuda_alloc(UNIT), UNIT, NULL, -EOPNOTSUPP);
	CHECK_EQ(error.reason, VPEER_REASON_NO_DMABUF_IMPORT);
	CHECK(strstr(error.message, "peermem"));
	cuda_reg_end(&t);
}

TEST(no_peermem, 30)
{
	struct vpeer_reg_options peermem = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM) };
	struct vpeer_error error;
	struct cuda_reg t;

	cuda_reg_begin(&t, NULL);
	error = cuda_reg_refused(&t, cuda_alloc(UNIT), UNIT, &peermem, -EFAULT);
	CHECK_EQ(error.reason, VPEER_REASON_NO_PEERMEM);
	CHECK(strstr(error.message, "nvidia-peermem is not loaded"));
	cuda_reg_end(&t);
}

/* To the GPU and back by way of host memory, but only when that is allowed. */
static void check_staged(struct cuda_reg *t, uint64_t at, size_t length)
{
	struct vpeer_reg_options staging = { .flags = VPEER_REG_STAGING };
	struct vpeer_mr *mr = cuda_reg_must(t, at, length, &staging);
	struct vpeer_error error;

	CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_STAGING);
	pattern_fill(t->plain, length, 91);
	CHECK_EQ(rdma_write(&t->r, t->plain_mr, at, vpeer_mr_rkey(mr), length), IBV_WC_SUCCESS);
	CHECK(!cuda_reg_holds(t, at, t->plain, length));
	if (vpeer_mr_copy(mr, VPEER_COPY_FROM_STAGE, (void *)at, length, &error))
		test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK(cuda_reg_holds(t, at, t->plain, length));

	pattern_fill(t->plain, length, 92);
	CHECK_EQ(cuda.from_host(at, t->plain, length), 0);
	CHECK_EQ(vpeer_mr_copy(mr, VPEER_COPY_TO_STAGE, (void *)at, length, &error), 0);
	memset(t->plain, 0, length);
	CHECK_EQ(rdma_read(&t->r, t->plain_mr, at, vpeer_mr_rkey(mr), length), IBV_WC_SUCCESS);
	CHECK(pattern_is(t->plain, length, 92));
	CHECK_EQ(vpeer_dereg(mr), 0);
}

TEST(staged, 30)
{
	struct cuda_reg t;

	cuda_reg_begin(&t, NULL);
	check_staged(&t, cuda_alloc(UNIT) + 512, UNIT - 4096);
	cuda_reg_end(&t);
}

/* The driver moves it about: no direct route is right. */
TEST(managed, 30)
{
	struct vpeer_error error;
	struct cuda_reg t;
	uint64_t at;

	cuda_reg_begin(&t, NULL);
	CHECK_EQ(cuda.mem_managed(&at, UNIT, 1), 0);
	error = cuda_reg_refused(&t, at, UNIT, NULL, -EPERM);
	CHECK_EQ(error.reason, VPEER_REASON_ROUTE_FORBIDDEN);
	CHECK(strstr(error.message, "managed CUDA memory") && strstr(error.message, "staging"));
	check_staged(&t, at, UNIT);
	cuda_reg_end(&t);
}

TEST(host, 30)
{
	struct cuda_reg t;
	struct vpeer_mr *mr;
	void *host;

	cuda_reg_begin(&t, NULL);
	CHECK_EQ(cuda.mem_host(&host, 3 * 4096, 0), 0);
	mr = cuda_reg_must(&t, (uintptr_t)host + 8, 2 * 4096, NULL);
	CHECK_EQ(vpeer_mr_kind(mr), VPEER_MEMORY_CUDA_HOST);
	CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_PAGES);
	pattern_fill(t.plain, 8192, 93);
	CHECK_EQ(rdma_write(&t.r, t.plain_mr, (uintptr_t)host + 8, vpeer_mr_rkey(mr), 8192),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is((char *)host + 8, 8192, 93));
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(cuda.mem_free_host(host), 0);
	cuda_reg_end(&t);
}
