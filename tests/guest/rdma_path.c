// SPDX-License-Identifier: GPL-2.0-only
/* RDMA to and from windows, compared from the owner's side; and what must fail. */
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#define SIZE	(64 * KIB)
#define AT	(3 * GRANULE + 8192)

/* A registered window of 2 granules, SIZE bytes of ordinary memory, a pair. */
struct bench {
	struct rdma r;
	int fd;
	char *window;		/* granules 3 and 4 */
	char *target;		/* AT in the aperture */
	char *plain;
	struct ibv_mr *window_mr;
	struct ibv_mr *plain_mr;
};

static void bench_begin(struct bench *b)
{
	rdma_open(&b->r);
	b->fd = aperture_open();
	b->window = window_map(b->fd, 3 * GRANULE, 2 * GRANULE);
	b->target = b->window + 8192;
	b->plain = plain_memory(SIZE);
	b->window_mr = rdma_reg(&b->r, b->window, 2 * GRANULE);
	b->plain_mr = rdma_reg(&b->r, b->plain, SIZE);
	memset(b->window, 0xee, GRANULE);
}

static void bench_end(struct bench *b)
{
	CHECK_EQ(ibv_dereg_mr(b->window_mr), 0);
	CHECK_EQ(ibv_dereg_mr(b->plain_mr), 0);
	rdma_close(&b->r);
	munmap(b->window, 2 * GRANULE);
	close(b->fd);
}

static bool still_poison(void)
{
	unsigned char bytes[SIZE];

	owner_read(AT, bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		if (bytes[i] != 0xee)
			return false;
	return true;
}

TEST(write, 30)
{
	struct bench b;

	bench_begin(&b);
	pattern_fill(b.plain, SIZE, 51);
	CHECK(still_poison());
	CHECK_EQ(rdma_write(&b.r, b.plain_mr, (uintptr_t)b.target, b.window_mr->rkey, SIZE),
		 IBV_WC_SUCCESS);
	CHECK(owner_is(AT, b.plain, SIZE));
	CHECK_EQ((unsigned char)b.target[-1], 0xee);
	CHECK_EQ((unsigned char)b.target[SIZE], 0xee);
	bench_end(&b);
}

/* What the owner itself put there. */
TEST(read, 30)
{
	struct bench b;
	char bytes[4096];

	bench_begin(&b);
	pattern_fill(bytes, sizeof(bytes), 52);
	owner_write(AT, bytes, sizeof(bytes));
	CHECK_EQ(rdma_read(&b.r, b.plain_mr, (uintptr_t)b.target, b.window_mr->rkey, 4096),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(b.plain, 4096, 52));
	CHECK_EQ(b.plain[4096], 0);
	bench_end(&b);
}

TEST(atomic, 30)
{
	uint64_t value = 0x0102030405060708;
	struct bench b;

	bench_begin(&b);
	owner_write(AT, &value, sizeof(value));
	CHECK_EQ(rdma_add(&b.r, b.plain_mr, (uintptr_t)b.target, b.window_mr->rkey, 5),
		 IBV_WC_SUCCESS);
	CHECK_EQ(*(uint64_t *)b.plain, value);
	value += 5;
	CHECK(owner_is(AT, &value, sizeof(value)));
	bench_end(&b);
}

/* Swaps once, and then no more, as another value is there. */
TEST(compare_and_swap, 30)
{
	uint64_t value = 0x0102030405060708, next = ~value;
	struct bench b;

	bench_begin(&b);
	owner_write(AT, &value, sizeof(value));
	for (int round = 0; round < 2; round++) {
		CHECK_EQ(rdma_swap(&b.r, b.plain_mr, (uintptr_t)b.target, b.window_mr->rkey,
				   value, next), IBV_WC_SUCCESS);
		CHECK_EQ(*(uint64_t *)b.plain, round ? next : value);
		CHECK(owner_is(AT, &next, sizeof(next)));
	}
	bench_end(&b);
}

/* The window is the sender's side too. */
TEST(from_window, 30)
{
	struct bench b;

	bench_begin(&b);
	pattern_fill(b.window, SIZE, 53);
	CHECK_EQ(rdma_write(&b.r, b.window_mr, (uintptr_t)b.plain, b.plain_mr->rkey, SIZE),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(b.plain, SIZE, 53));
	bench_end(&b);
}

static void check_denied(struct bench *b, uint64_t remote, uint32_t rkey, uint32_t size)
{
	pattern_fill(b->plain, SIZE, 54);
	CHECK_EQ(rdma_write(&b->r, b->plain_mr, remote, rkey, size), IBV_WC_REM_ACCESS_ERR);
	CHECK(still_poison());
	rdma_connect(&b->r);
	CHECK_EQ(rdma_write(&b->r, b->plain_mr, (uintptr_t)b->target, b->window_mr->rkey, 8),
		 IBV_WC_SUCCESS);
	memset(b->target, 0xee, 8);
}

TEST(wrong_rkey, 30)
{
	struct bench b;

	bench_begin(&b);
	check_denied(&b, (uintptr_t)b.target, b.window_mr->rkey ^ 0x1, 4096);
	check_denied(&b, (uintptr_t)b.target, b.plain_mr->rkey, 4096);
	bench_end(&b);
}

TEST(beyond_registration, 30)
{
	struct bench b;

	bench_begin(&b);
	check_denied(&b, (uintptr_t)b.window + 2 * GRANULE - 4096, b.window_mr->rkey, 8192);
	check_denied(&b, (uintptr_t)b.window - 4096, b.window_mr->rkey, 4096);
	bench_end(&b);
}

TEST(no_remote_write_allowed, 30)
{
	struct ibv_mr *mr;
	struct bench b;

	bench_begin(&b);
	mr = ibv_reg_mr(b.r.pd, b.window, GRANULE,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(mr);
	check_denied(&b, (uintptr_t)b.target, mr->rkey, 4096);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	bench_end(&b);
}

TEST(after_deregistration, 30)
{
	struct ibv_mr *mr;
	struct bench b;
	uint32_t rkey;

	bench_begin(&b);
	mr = rdma_reg(&b.r, b.window, GRANULE);
	rkey = mr->rkey;
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	check_denied(&b, (uintptr_t)b.target, rkey, 4096);
	bench_end(&b);
}

/* Revoked and deregistered: revoke gave 0 in the end, so nothing may land. */
TEST(after_revoke, 30)
{
	struct bench b;
	uint64_t pinned;
	uint32_t rkey;
	void *remote;

	bench_begin(&b);
	remote = b.target;
	rkey = b.window_mr->rkey;
	CHECK_ERRNO(window_revoke(b.fd, 3 * GRANULE, 0, NULL), EINPROGRESS);
	CHECK_EQ(ibv_dereg_mr(b.window_mr), 0);
	CHECK_OK(window_revoke(b.fd, 3 * GRANULE, 1000, &pinned));
	CHECK_EQ(pinned, 0);

	pattern_fill(b.plain, SIZE, 55);
	CHECK_EQ(rdma_write(&b.r, b.plain_mr, (uintptr_t)remote, rkey, 4096),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK(still_poison());
	CHECK(!ibv_reg_mr(b.r.pd, b.window, GRANULE, RDMA_ACCESS));
	CHECK_EQ(errno, EFAULT);
	CHECK_EQ(ibv_dereg_mr(b.plain_mr), 0);
	rdma_close(&b.r);
	close(b.fd);
}

/* Mappings of the two sizes, and one that begins off a granule's start. */
TEST(small_page_registration, 30)
{
	int fd = aperture_open();
	char *space = plain_memory(3 * GRANULE), *mapped;
	char *plain = plain_memory(SIZE);
	struct ibv_mr *mr, *local;
	struct rdma r;

	mapped = mmap((char *)(((uintptr_t)space | (GRANULE - 1)) + 1) + 4096, SIZE,
		      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, GRANULE + 16384);
	CHECK_OK((long)mapped);
	rdma_open(&r);
	mr = rdma_reg(&r, mapped, SIZE);
	local = rdma_reg(&r, plain, SIZE);
	pattern_fill(plain, SIZE, 56);
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped, mr->rkey, SIZE), IBV_WC_SUCCESS);
	CHECK(owner_is(GRANULE + 16384, plain, SIZE));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dereg_mr(local), 0);
	rdma_close(&r);
	munmap(mapped, SIZE);
	close(fd);
}
