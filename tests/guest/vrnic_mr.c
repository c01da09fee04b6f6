// SPDX-License-Identifier: GPL-2.0-only
/* Memory regions of vrnic on ordinary memory and on dma-bufs: what they give access to, and what not. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "sim.h"
#include "udmabuf.h"
#include "vrnic.h"

#define SIZE	(64 * KIB)
#define LARGE	(64 * MIB)
#define IOVA	0x7654321000		/* unlike any address of memory */
#define POISON	0xee

/* Bytes that are sent from or received in, and those that the other side gives access to. */
struct bench {
	struct rdma r;
	char *plain;
	struct ibv_mr *plain_mr;
	char *target;
	struct ibv_mr *target_mr;
	uint64_t remote;		/* address of the target in its MR */
	int fd;				/* of a dma-buf, or -1 */
};

static void bench_open(struct bench *b)
{
	sim_begin();
	rdma_open_device(&b->r, vrnic_device(0));
	b->plain = plain_memory(SIZE);
	b->plain_mr = rdma_reg(&b->r, b->plain, SIZE);
	b->fd = -1;
}

static void bench_begin(struct bench *b)
{
	bench_open(b);
	b->target = plain_memory(SIZE);
	b->target_mr = rdma_reg(&b->r, b->target, SIZE);
	b->remote = (uintptr_t)b->target;
	memset(b->target, POISON, SIZE);
}

static void reg_dmabuf(struct bench *b)
{
	b->target_mr = ibv_reg_dmabuf_mr(b->r.pd, 0, SIZE, IOVA, b->fd, RDMA_ACCESS);
	if (!b->target_mr)
		test_fail(__FILE__, __LINE__, "ibv_reg_dmabuf_mr: %s", strerrorname_np(errno));
}

static void bench_open_dmabuf(struct bench *b, const char *mode)
{
	void *memory;

	bench_open(b);
	vrnic_dmabuf_mode(mode);
	b->fd = udmabuf_make(SIZE, &memory);
	b->target = memory;
	b->remote = IOVA;
	b->target_mr = NULL;
	memset(b->target, POISON, SIZE);
}

static void bench_begin_dmabuf(struct bench *b, const char *mode)
{
	bench_open_dmabuf(b, mode);
	reg_dmabuf(b);
}

static void bench_end(struct bench *b)
{
	if (b->target_mr)
		CHECK_EQ(ibv_dereg_mr(b->target_mr), 0);
	CHECK_EQ(ibv_dereg_mr(b->plain_mr), 0);
	rdma_close(&b->r);
	if (b->fd >= 0)
		close(b->fd);
	munmap(b->target, SIZE);
	munmap(b->plain, SIZE);
}

static bool still_poison(const struct bench *b)
{
	for (size_t i = 0; i < SIZE; i++)
		if ((unsigned char)b->target[i] != POISON)
			return false;
	return true;
}

static enum ibv_wc_status put(struct bench *b, uint64_t remote, uint32_t rkey, uint32_t size)
{
	return rdma_write(&b->r, b->plain_mr, remote, rkey, size);
}

static enum ibv_wc_status get(struct bench *b, uint64_t remote, uint32_t rkey, uint32_t size)
{
	return rdma_read(&b->r, b->plain_mr, remote, rkey, size);
}

/* Only the bytes that were meant, to an odd place. */
static void check_write(struct bench *b)
{
	const uint32_t size = SIZE / 2, at = 4096 + 3;

	sim_ask("log clear");
	pattern_fill(b->plain, SIZE, 61);
	CHECK_EQ(put(b, b->remote + at, b->target_mr->rkey, size), IBV_WC_SUCCESS);
	CHECK(!memcmp(b->target + at, b->plain, size));
	CHECK_EQ((unsigned char)b->target[at - 1], POISON);
	CHECK_EQ((unsigned char)b->target[at + size], POISON);
	CHECK_EQ(sim_logged(" (refused|unmapped|denied|off|error) "), 0);
}

static void check_read(struct bench *b)
{
	pattern_fill(b->target, SIZE, 62);
	memset(b->plain, 0, SIZE);
	CHECK_EQ(get(b, b->remote, b->target_mr->rkey, SIZE / 2), IBV_WC_SUCCESS);
	CHECK(pattern_is(b->plain, SIZE / 2, 62));
	CHECK(all_zero(b->plain + SIZE / 2, SIZE / 2));
}

static void check_atomics(struct bench *b)
{
	uint64_t value = 0x0102030405060708, *word = (uint64_t *)b->target + 5;
	uint64_t remote = b->remote + 5 * sizeof(*word);
	uint32_t rkey = b->target_mr->rkey;

	*word = value;
	CHECK_EQ(rdma_add(&b->r, b->plain_mr, remote, rkey, 7), IBV_WC_SUCCESS);
	CHECK_EQ(*(uint64_t *)b->plain, value);
	CHECK_EQ(*word, value + 7);
	CHECK_EQ(rdma_swap(&b->r, b->plain_mr, remote, rkey, value, 1), IBV_WC_SUCCESS);
	CHECK_EQ(*(uint64_t *)b->plain, value + 7);
	CHECK_EQ(*word, value + 7);
	CHECK_EQ(rdma_swap(&b->r, b->plain_mr, remote, rkey, value + 7, 1), IBV_WC_SUCCESS);
	CHECK_EQ(*word, 1);
}

/* The target's MR is what is sent from and received in. */
static void check_local(struct bench *b)
{
	struct ibv_mr mr = *b->target_mr;
	uint64_t remote = (uintptr_t)b->plain;

	mr.addr = (void *)(uintptr_t)b->remote;
	pattern_fill(b->target, SIZE, 63);
	CHECK_EQ(rdma_write(&b->r, &mr, remote, b->plain_mr->rkey, SIZE), IBV_WC_SUCCESS);
	CHECK(pattern_is(b->plain, SIZE, 63));
	pattern_fill(b->plain, SIZE, 64);
	CHECK_EQ(rdma_read(&b->r, &mr, remote, b->plain_mr->rkey, SIZE), IBV_WC_SUCCESS);
	CHECK(pattern_is(b->target, SIZE, 64));
}

/* Nothing is reached, and the log shows that it was tried. */
static unsigned int attempts(const char *operation, uint64_t remote, uint32_t size)
{
	char pattern[128];

	snprintf(pattern, sizeof(pattern), " vrnic0 0x%llx %u %s refused none$",
		 (unsigned long long)remote, size, operation);
	return sim_logged(pattern);
}

/* A refusal ends the connection; it is made anew. */
static void check_refused(struct bench *b, uint64_t remote, uint32_t rkey, uint32_t size)
{
	sim_ask("log clear");
	pattern_fill(b->plain, SIZE, 65);
	CHECK_EQ(put(b, remote, rkey, size), IBV_WC_REM_ACCESS_ERR);
	CHECK(still_poison(b));
	rdma_connect(&b->r);
	CHECK_EQ(get(b, remote, rkey, size), IBV_WC_REM_ACCESS_ERR);
	CHECK(pattern_is(b->plain, SIZE, 65));
	rdma_connect(&b->r);
	CHECK(attempts("write", remote, size));
	CHECK(attempts("read", remote, size));
}

TEST(write, 30)
{
	struct bench b;

	bench_begin(&b);
	check_write(&b);
	bench_end(&b);
}

TEST(read, 30)
{
	struct bench b;

	bench_begin(&b);
	check_read(&b);
	bench_end(&b);
}

TEST(atomics, 30)
{
	struct bench b;

	bench_begin(&b);
	check_atomics(&b);
	bench_end(&b);
}

TEST(wrong_rkey, 30)
{
	struct bench b;

	bench_begin(&b);
	check_refused(&b, b.remote, b.target_mr->rkey ^ 1, 4096);
	check_refused(&b, b.remote, b.target_mr->rkey ^ 0x80000000, 4096);
	check_refused(&b, b.remote, b.plain_mr->rkey, 4096);
	check_refused(&b, b.remote, 0, 4096);
	check_write(&b);
	bench_end(&b);
}

TEST(wrong_lkey, 30)
{
	struct bench b;
	struct ibv_mr mr;

	bench_begin(&b);
	mr = *b.plain_mr;
	mr.lkey ^= 1;
	CHECK_EQ(rdma_write(&b.r, &mr, b.remote, b.target_mr->rkey, 4096), IBV_WC_LOC_PROT_ERR);
	CHECK(still_poison(&b));
	rdma_connect(&b.r);
	check_write(&b);
	bench_end(&b);
}

TEST(beyond_registration, 30)
{
	struct bench b;

	bench_begin(&b);
	check_refused(&b, b.remote + SIZE - 4096, b.target_mr->rkey, 4097);
	check_refused(&b, b.remote - 1, b.target_mr->rkey, 1);
	check_refused(&b, b.remote - 4096, b.target_mr->rkey, SIZE);
	check_write(&b);
	bench_end(&b);
}

TEST(rights, 30)
{
	struct ibv_mr *mr;
	struct bench b;

	bench_begin(&b);
	mr = ibv_reg_mr(b.r.pd, b.target, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(mr);
	CHECK_EQ(put(&b, b.remote, mr->rkey, 4096), IBV_WC_REM_ACCESS_ERR);
	CHECK(still_poison(&b));
	rdma_connect(&b.r);
	CHECK_EQ(rdma_add(&b.r, b.plain_mr, b.remote, mr->rkey, 1), IBV_WC_REM_ACCESS_ERR);
	CHECK(still_poison(&b));
	rdma_connect(&b.r);
	CHECK_EQ(get(&b, b.remote, mr->rkey, 4096), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(b.r.pd, b.target, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(mr);
	CHECK_EQ(get(&b, b.remote, mr->rkey, 4096), IBV_WC_REM_ACCESS_ERR);
	rdma_connect(&b.r);
	CHECK_EQ(put(&b, b.remote, mr->rkey, 4096), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	bench_end(&b);
}

/* What is read from elsewhere is a write to the memory that it lands in. */
TEST(local_rights, 30)
{
	struct ibv_mr *mr;
	struct bench b;

	bench_begin(&b);
	mr = ibv_reg_mr(b.r.pd, b.target, SIZE, IBV_ACCESS_REMOTE_READ);
	CHECK(mr);
	CHECK_EQ(rdma_read(&b.r, mr, (uintptr_t)b.plain, b.plain_mr->rkey, 4096),
		 IBV_WC_LOC_PROT_ERR);
	CHECK(still_poison(&b));
	rdma_connect(&b.r);
	CHECK_EQ(rdma_write(&b.r, mr, (uintptr_t)b.plain, b.plain_mr->rkey, 4096), IBV_WC_SUCCESS);
	CHECK(!memcmp(b.plain, b.target, 4096));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	bench_end(&b);
}

/* A key of another protection domain is none. */
TEST(other_domain, 30)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct bench b;

	bench_begin(&b);
	pd = ibv_alloc_pd(b.r.context);
	CHECK(pd);
	mr = ibv_reg_mr(pd, b.target, SIZE, RDMA_ACCESS);
	CHECK(mr);
	check_refused(&b, b.remote, mr->rkey, 4096);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	bench_end(&b);
}

/* Also not when the next MR takes the place of the old one in the device's table. */
static void check_gone(struct bench *b, bool again)
{
	uint32_t rkey = b->target_mr->rkey;

	check_write(b);
	memset(b->target, POISON, SIZE);
	CHECK_EQ(ibv_dereg_mr(b->target_mr), 0);
	b->target_mr = NULL;
	check_refused(b, b->remote, rkey, 4096);
	if (!again)
		return;
	b->target_mr = rdma_reg(&b->r, b->target, SIZE);
	CHECK(b->target_mr->rkey != rkey);
	check_refused(b, b->remote, rkey, 4096);
}

TEST(after_deregistration, 30)
{
	struct bench b;

	bench_begin(&b);
	check_gone(&b, true);
	bench_end(&b);
}

/* Neighbours in it are none in memory: without an IOMMU the device is told of it in several commands. */
static char *scattered_memory(void)
{
	char *memory = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	CHECK(memory != MAP_FAILED);
	CHECK_OK(madvise(memory, LARGE, MADV_NOHUGEPAGE));
	for (size_t i = 0; i < LARGE; i += 8192)
		memory[i] = 1;
	for (size_t i = 4096; i < LARGE; i += 8192)
		memory[i] = 1;
	return memory;
}

TEST(large, 30)
{
	char *memory = scattered_memory();
	struct ibv_mr *mr;
	struct bench b;

	bench_begin(&b);
	mr = rdma_reg(&b.r, memory, LARGE);
	for (size_t at = 0; at < LARGE; at += LARGE / 32 + 12289) {
		pattern_fill(b.plain, SIZE, at);
		CHECK_EQ(put(&b, (uintptr_t)memory + at, mr->rkey, SIZE), IBV_WC_SUCCESS);
		CHECK(pattern_is(memory + at, SIZE, at));
	}
	CHECK_EQ(put(&b, (uintptr_t)memory + LARGE - SIZE, mr->rkey, SIZE), IBV_WC_SUCCESS);
	CHECK(!memcmp(memory + LARGE - SIZE, b.plain, SIZE));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	bench_end(&b);
	munmap(memory, LARGE);
}

static void run_dmabuf(const char *mode)
{
	struct bench b;

	bench_begin_dmabuf(&b, mode);
	check_write(&b);
	check_read(&b);
	check_atomics(&b);
	check_local(&b);
	memset(b.target, POISON, SIZE);
	check_refused(&b, IOVA + SIZE - 4096, b.target_mr->rkey, 4097);
	check_gone(&b, false);
	/* The descriptor still serves. */
	reg_dmabuf(&b);
	check_write(&b);
	bench_end(&b);
}

TEST(dmabuf_dynamic, 60)
{
	run_dmabuf("dynamic");
}

TEST(dmabuf_revocable, 60)
{
	struct bench b;

	if (vrnic_can_revoke()) {
		run_dmabuf("revocable");
		return;
	}
	bench_open_dmabuf(&b, "revocable");
	CHECK(!ibv_reg_dmabuf_mr(b.r.pd, 0, SIZE, IOVA, b.fd, RDMA_ACCESS));
	CHECK_EQ(errno, EOPNOTSUPP);
	bench_end(&b);
}

TEST(dmabuf_pinned, 60)
{
	run_dmabuf("pinned");
}

/* The MR keeps the memory, whoever else lets it go. */
TEST(dmabuf_descriptor_closed, 30)
{
	struct bench b;

	bench_begin_dmabuf(&b, "dynamic");
	close(b.fd);
	b.fd = -1;
	check_write(&b);
	bench_end(&b);
}

TEST(dmabuf_part, 30)
{
	struct bench b;

	bench_begin_dmabuf(&b, "dynamic");
	CHECK_EQ(ibv_dereg_mr(b.target_mr), 0);
	b.target_mr = ibv_reg_dmabuf_mr(b.r.pd, 8192 + 64, 4096, 64, b.fd, RDMA_ACCESS);
	CHECK(b.target_mr);
	pattern_fill(b.plain, SIZE, 66);
	CHECK_EQ(put(&b, 64, b.target_mr->rkey, 4096), IBV_WC_SUCCESS);
	CHECK(!memcmp(b.target + 8192 + 64, b.plain, 4096));
	CHECK_EQ((unsigned char)b.target[8192 + 63], POISON);
	CHECK_EQ((unsigned char)b.target[8192 + 64 + 4096], POISON);
	bench_end(&b);
}

TEST(dmabuf_refused, 30)
{
	struct bench b;

	bench_begin_dmabuf(&b, "dynamic");
	CHECK(!ibv_reg_dmabuf_mr(b.r.pd, 4096, SIZE, IOVA, b.fd, RDMA_ACCESS));
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_reg_dmabuf_mr(b.r.pd, 0, SIZE, IOVA + 8, b.fd, RDMA_ACCESS));
	CHECK(!ibv_reg_dmabuf_mr(b.r.pd, 0, SIZE, IOVA, STDOUT_FILENO, RDMA_ACCESS));
	check_write(&b);
	bench_end(&b);
}
