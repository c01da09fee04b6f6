// SPDX-License-Identifier: GPL-2.0-only
/* Memory regions of vrnic on dma-bufs that their exporter moves or takes away. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "memory.h"
#include "mover.h"
#include "rdma.h"
#include "sim.h"
#include "vrnic.h"

#define SIZE	(64 * KIB)
#define IOVA	0x7654321000
#define POISON	0xee

struct bench {
	struct rdma r;
	struct mover mover;
	struct ibv_mr *mr;	/* of the dma-buf */
	char *plain;
	struct ibv_mr *plain_mr;
};

static struct ibv_mr *try_reg(struct bench *b)
{
	return ibv_reg_dmabuf_mr(b->r.pd, 0, SIZE, IOVA, b->mover.fd, RDMA_ACCESS);
}

static void reg(struct bench *b)
{
	b->mr = try_reg(b);
	if (!b->mr)
		test_fail(__FILE__, __LINE__, "ibv_reg_dmabuf_mr: %s", strerrorname_np(errno));
}

static void bench_open(struct bench *b, const char *mode)
{
	sim_begin();
	mover_make(&b->mover, SIZE);
	vrnic_dmabuf_mode(mode);
	rdma_open_device(&b->r, vrnic_device(0));
	b->plain = plain_memory(SIZE);
	b->plain_mr = rdma_reg(&b->r, b->plain, SIZE);
	b->mr = NULL;
}

static void bench_begin(struct bench *b, const char *mode)
{
	bench_open(b, mode);
	reg(b);
}

static void bench_end(struct bench *b)
{
	if (b->mr)
		CHECK_EQ(ibv_dereg_mr(b->mr), 0);
	CHECK_EQ(mover_do(&b->mover, MOVER_MAPPED), 0);
	CHECK_EQ(ibv_dereg_mr(b->plain_mr), 0);
	rdma_close(&b->r);
	mover_close(&b->mover);
	munmap(b->plain, SIZE);
}

static bool memory_is(const struct bench *b, uint64_t at, uint64_t seed)
{
	static char bytes[SIZE];

	mover_read(&b->mover, bytes, at, SIZE);
	return pattern_is(bytes, SIZE, seed);
}

static enum ibv_wc_status put(struct bench *b, uint64_t seed)
{
	pattern_fill(b->plain, SIZE, seed);
	return rdma_write(&b->r, b->plain_mr, IOVA, b->mr->rkey, SIZE);
}

static void check_put(struct bench *b, uint64_t seed)
{
	CHECK_EQ(put(b, seed), IBV_WC_SUCCESS);
	CHECK(memory_is(b, 0, seed));
}

/* And what was there stays. */
static void check_no_put(struct bench *b, uint64_t there)
{
	CHECK(put(b, 999) != IBV_WC_SUCCESS);
	CHECK(memory_is(b, 0, there));
	rdma_connect(&b->r);
}

TEST(dynamic_moves, 30)
{
	struct bench b;

	bench_begin(&b, "dynamic");
	check_put(&b, 1);
	CHECK_EQ(mover_do(&b.mover, MOVER_MAPPED), 1);
	CHECK_EQ(mover_do(&b.mover, MOVER_MOVE), 0);
	CHECK_EQ(mover_do(&b.mover, MOVER_MAPPED), 0);
	CHECK(memory_is(&b, 0, 1));
	check_put(&b, 2);
	CHECK_EQ(mover_do(&b.mover, MOVER_MAPPED), 1);
	CHECK(memory_is(&b, MOVER_OLD, 1));
	bench_end(&b);
}

/* What is read and sent from it, too. */
TEST(dynamic_moves_as_source, 30)
{
	static char bytes[SIZE];
	struct ibv_mr source;
	struct bench b;

	bench_begin(&b, "dynamic");
	/* libibverbs does not know the address. */
	source = *b.mr;
	source.addr = (void *)IOVA;
	pattern_fill(bytes, SIZE, 3);
	mover_write(&b.mover, bytes, 0, SIZE);
	CHECK_EQ(mover_do(&b.mover, MOVER_MOVE), 0);
	CHECK_EQ(rdma_read(&b.r, b.plain_mr, IOVA, b.mr->rkey, SIZE), IBV_WC_SUCCESS);
	CHECK(pattern_is(b.plain, SIZE, 3));
	CHECK_EQ(mover_do(&b.mover, MOVER_MOVE), 0);
	pattern_fill(bytes, SIZE, 4);
	mover_write(&b.mover, bytes, 0, SIZE);
	CHECK_EQ(rdma_write(&b.r, &source, (uintptr_t)b.plain, b.plain_mr->rkey, SIZE),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(b.plain, SIZE, 4));
	bench_end(&b);
}

TEST(dynamic_comes_back, 30)
{
	struct bench b;

	bench_begin(&b, "dynamic");
	check_put(&b, 1);
	CHECK_EQ(mover_do(&b.mover, MOVER_REVOKE), 0);
	CHECK_EQ(mover_do(&b.mover, MOVER_MAPPED), 0);
	CHECK_EQ(sim_logged(" no-pages "), 0);
	check_no_put(&b, 1);
	CHECK(sim_logged(" write no-pages none"));
	CHECK_EQ(mover_do(&b.mover, MOVER_RESTORE), 0);
	test_sleep_ms(500);
	check_put(&b, 2);
	bench_end(&b);
}

TEST(dynamic_of_nothing, 30)
{
	struct bench b;

	bench_begin(&b, "dynamic");
	CHECK_EQ(mover_do(&b.mover, MOVER_REVOKE), 0);
	CHECK(!try_reg(&b));
	CHECK_EQ(errno, ENODEV);
	CHECK_EQ(mover_do(&b.mover, MOVER_RESTORE), 0);
	check_put(&b, 1);
	bench_end(&b);
}

/* Each write has landed where the memory was then, or is now. */
TEST(dynamic_moves_under_load, 60)
{
	atomic_uint *moves = mmap(NULL, sizeof(*moves), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct bench b;
	pid_t mover;

	CHECK(moves != MAP_FAILED);
	bench_begin(&b, "dynamic");
	mover = test_fork();
	if (!mover) {
		while (*moves < 300) {
			CHECK_EQ(mover_do(&b.mover, MOVER_MOVE), 0);
			++*moves;
		}
		_exit(0);
	}
	for (uint64_t seed = 1; *moves < 300; seed++)
		check_put(&b, seed);
	test_join(mover);
	bench_end(&b);
}

TEST(revocable_goes_for_good, 30)
{
	struct bench b;

	bench_open(&b, "revocable");
	if (!vrnic_can_revoke()) {
		CHECK(!try_reg(&b));
		CHECK_EQ(errno, EOPNOTSUPP);
		bench_end(&b);
		return;
	}
	reg(&b);
	check_put(&b, 1);
	CHECK_EQ(mover_do(&b.mover, MOVER_REVOKE), 0);
	CHECK_EQ(mover_do(&b.mover, MOVER_MAPPED), 0);
	check_no_put(&b, 1);
	CHECK_EQ(mover_do(&b.mover, MOVER_RESTORE), 0);
	check_no_put(&b, 1);
	CHECK_EQ(ibv_dereg_mr(b.mr), 0);
	reg(&b);
	check_put(&b, 2);
	bench_end(&b);
}

TEST(pinned_stays, 30)
{
	struct bench b;

	bench_begin(&b, "pinned");
	check_put(&b, 1);
	CHECK_EQ(mover_do(&b.mover, MOVER_MOVE), -EBUSY);
	CHECK_EQ(mover_do(&b.mover, MOVER_REVOKE), -EBUSY);
	check_put(&b, 2);
	bench_end(&b);
}
