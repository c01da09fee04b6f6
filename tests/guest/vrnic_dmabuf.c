// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA between two functions and the memory of a GPU that neither has: windows of its aperture as DMA-bufs,
 * which the target reaches by rkey and the initiator by lkey. What is there is compared by the GPU's own engine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aperture.h"
#include "gpu_window.h"
#include "harness.h"
#include "memory.h"
#include "passing.h"
#include "rdma.h"
#include "sim.h"
#include "vgpu.h"
#include "vrnic.h"

#define PAGE		4096
#define GIB		(1024 * MIB)
#define AT		(3 * GRANULE)
#define WINDOW		(4 * GRANULE)
#define PLAIN		(WINDOW / 2)
#define HUGE_WINDOW	(8 * GIB)
#define IOVA		0x7654321000	/* unlike any address of memory */
#define GUARD		64		/* bytes beside a transfer that must stay */
#define EMPTY		0x5a		/* of ordinary memory that is received in */

/* Ordinary memory at both ends; the window is neither's. */
struct bench {
	struct gpu_window w;
	struct rdma r, far;
	char *near, *remote;
	struct ibv_mr *near_mr, *remote_mr;
};

/* What an MR makes of the window. */
struct region {
	struct ibv_mr *mr;
	uint64_t iova;		/* of the first byte */
	uint64_t at;		/* of that in the GPU's memory */
	uint64_t size;
};

static void bench_begin_at(struct bench *b, unsigned int vgpu, uint64_t at, uint64_t size)
{
	gpu_window_open(&b->w, vgpu, at, size);
	rdma_open_far(&b->far, vrnic_device(1));
	rdma_open_to(&b->r, vrnic_device(0), &b->far);
	b->near = plain_memory(PLAIN);
	b->remote = plain_memory(PLAIN);
	b->near_mr = rdma_reg(&b->r, b->near, PLAIN);
	b->remote_mr = rdma_reg(&b->far, b->remote, PLAIN);
}

static void bench_begin(struct bench *b, const char *mode)
{
	sim_begin();
	vrnic_dmabuf_mode(mode);
	gpu_attach(0, 0);
	bench_begin_at(b, 0, AT, WINDOW);
}

static void bench_end(struct bench *b)
{
	CHECK_EQ(ibv_dereg_mr(b->near_mr), 0);
	CHECK_EQ(ibv_dereg_mr(b->remote_mr), 0);
	rdma_close(&b->r);
	rdma_close(&b->far);
	munmap(b->near, PLAIN);
	munmap(b->remote, PLAIN);
	gpu_window_close(&b->w);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_EQ(sim_logged(" (unmapped|denied|off|error) "), 0);
}

/* [offset, offset + size) of a DMA-buf that starts at START of the window. */
static struct region region_of(struct rdma *end, const struct bench *b, int dmabuf, uint64_t start,
			       uint64_t offset, uint64_t size)
{
	struct region region = {
		.iova = IOVA + offset % PAGE,
		.at = b->w.at + start + offset,
		.size = size,
	};

	region.mr = rdma_reg_dmabuf(end, dmabuf, offset, size, region.iova);
	return region;
}

static void drop(struct region *region)
{
	CHECK_EQ(ibv_dereg_mr(region->mr), 0);
	region->mr = NULL;
}

/* As much beside the transfer as is in the window. */
static uint64_t before(const struct bench *b, uint64_t at)
{
	return at - b->w.at < GUARD ? at - b->w.at : GUARD;
}

static uint64_t behind(const struct bench *b, uint64_t end)
{
	uint64_t left = b->w.at + b->w.size - end;

	return left < GUARD ? left : GUARD;
}

static void poison(struct bench *b, uint64_t at, uint64_t size)
{
	gpu_poison(&b->w, at - before(b, at), before(b, at) + size + behind(b, at + size));
}

static void check_guards(struct bench *b, uint64_t at, uint64_t size)
{
	CHECK(gpu_is_poison(&b->w, at - before(b, at), before(b, at)));
	CHECK(gpu_is_poison(&b->w, at + size, behind(b, at + size)));
}

static void fill(char *memory, uint64_t size)
{
	static uint64_t seed;

	pattern_fill(memory, (size + 7) & ~7ULL, ++seed);
}

static void empty(char *memory, uint64_t size)
{
	memset(memory, EMPTY, size + GUARD <= PLAIN ? size + GUARD : PLAIN);
}

static void check_received(struct bench *b, const char *memory, uint64_t at, uint64_t size)
{
	CHECK(gpu_holds(&b->w, at, memory, size));
	for (uint64_t i = size; i < size + GUARD && i < PLAIN; i++)
		CHECK_EQ(memory[i], EMPTY);
}

static enum ibv_wc_status put(struct bench *b, uint64_t iova, uint32_t rkey, uint32_t size)
{
	return rdma_write(&b->r, b->near_mr, iova, rkey, size);
}

static enum ibv_wc_status get(struct bench *b, uint64_t iova, uint32_t rkey, uint32_t size)
{
	return rdma_read(&b->r, b->near_mr, iova, rkey, size);
}

static void check_write(struct bench *b, const struct region *target, uint64_t offset, uint64_t size)
{
	uint64_t at = target->at + offset;

	poison(b, at, size);
	fill(b->near, size);
	CHECK_EQ(put(b, target->iova + offset, target->mr->rkey, size), IBV_WC_SUCCESS);
	CHECK(gpu_holds(&b->w, at, b->near, size));
	check_guards(b, at, size);
}

static void check_read(struct bench *b, const struct region *target, uint64_t offset, uint64_t size)
{
	uint64_t at = target->at + offset;

	gpu_scribble(&b->w, at, size);
	empty(b->near, size);
	CHECK_EQ(get(b, target->iova + offset, target->mr->rkey, size), IBV_WC_SUCCESS);
	check_received(b, b->near, at, size);
}

/* An MR that libibverbs knows the address of. */
static struct ibv_mr local_mr(const struct region *source, uint64_t offset)
{
	struct ibv_mr mr = *source->mr;

	mr.addr = (void *)(uintptr_t)(source->iova + offset);
	return mr;
}

static void check_local_write(struct bench *b, const struct region *source, uint64_t offset,
			      uint64_t size)
{
	struct ibv_mr mr = local_mr(source, offset);

	gpu_scribble(&b->w, source->at + offset, size);
	empty(b->remote, size);
	CHECK_EQ(rdma_write(&b->r, &mr, (uintptr_t)b->remote, b->remote_mr->rkey, size),
		 IBV_WC_SUCCESS);
	check_received(b, b->remote, source->at + offset, size);
}

static void check_local_read(struct bench *b, const struct region *sink, uint64_t offset,
			     uint64_t size)
{
	struct ibv_mr mr = local_mr(sink, offset);

	poison(b, sink->at + offset, size);
	fill(b->remote, size);
	CHECK_EQ(rdma_read(&b->r, &mr, (uintptr_t)b->remote, b->remote_mr->rkey, size),
		 IBV_WC_SUCCESS);
	CHECK(gpu_holds(&b->w, sink->at + offset, b->remote, size));
	check_guards(b, sink->at + offset, size);
}

/* The word of the window there, and what was said that it had been. */
static void check_word(struct bench *b, uint64_t at, uint64_t now, uint64_t was)
{
	CHECK_EQ(*(uint64_t *)b->near, was);
	CHECK(gpu_holds(&b->w, at, &now, sizeof(now)));
	check_guards(b, at, sizeof(now));
}

static void check_atomics(struct bench *b, const struct region *target, uint64_t offset)
{
	uint64_t word = 0x0102030405060708, at = target->at + offset, iova = target->iova + offset;
	uint32_t rkey = target->mr->rkey;

	poison(b, at, sizeof(word));
	vgpu_fill(&b->w.gpu, at, sizeof(word), word);
	CHECK_EQ(rdma_add(&b->r, b->near_mr, iova, rkey, 7), IBV_WC_SUCCESS);
	check_word(b, at, word + 7, word);
	CHECK_EQ(rdma_swap(&b->r, b->near_mr, iova, rkey, word, 1), IBV_WC_SUCCESS);
	check_word(b, at, word + 7, word + 7);
	CHECK_EQ(rdma_swap(&b->r, b->near_mr, iova, rkey, word + 7, ~word), IBV_WC_SUCCESS);
	check_word(b, at, ~word, word + 7);
}

/* What the other side's word had been lands in the window. */
static void check_local_atomics(struct bench *b, const struct region *sink, uint64_t offset)
{
	struct ibv_mr mr = local_mr(sink, offset);
	uint64_t word = 0x1112131415161718, *remote = (uint64_t *)b->remote;

	*remote = word;
	poison(b, sink->at + offset, sizeof(word));
	CHECK_EQ(rdma_add(&b->r, &mr, (uintptr_t)remote, b->remote_mr->rkey, 3), IBV_WC_SUCCESS);
	CHECK_EQ(*remote, word + 3);
	CHECK(gpu_holds(&b->w, sink->at + offset, &word, sizeof(word)));
	check_guards(b, sink->at + offset, sizeof(word));
	word += 3;
	CHECK_EQ(rdma_swap(&b->r, &mr, (uintptr_t)remote, b->remote_mr->rkey, word, 9),
		 IBV_WC_SUCCESS);
	CHECK_EQ(*remote, 9);
	CHECK(gpu_holds(&b->w, sink->at + offset, &word, sizeof(word)));
}

static void check_place(struct bench *b, const struct region *target, const struct region *local,
			uint64_t offset, uint64_t size)
{
	check_write(b, target, offset, size);
	check_read(b, target, offset, size);
	check_local_write(b, local, offset, size);
	check_local_read(b, local, offset, size);
}

/* The first place in a region from OFFSET on where a word may be. */
static uint64_t word_at(const struct region *region, uint64_t offset)
{
	return offset + -(region->iova + offset) % sizeof(uint64_t);
}

static void check_region(struct bench *b, const struct region *target,
			 const struct region *local)
{
	const uint64_t size = 64 * KIB + 11;

	check_place(b, target, local, 0, size);
	check_place(b, target, local, target->size - size, size);
	check_atomics(b, target, word_at(target, PAGE + 100));
	check_local_atomics(b, local, word_at(local, 2 * PAGE + 100));
}

/* Both functions import the same one. */
static void check_part(struct bench *b, int dmabuf, uint64_t start, uint64_t offset, uint64_t size)
{
	struct region target = region_of(&b->far, b, dmabuf, start, offset, size);
	struct region local = region_of(&b->r, b, dmabuf, start, offset, size);

	check_region(b, &target, &local);
	drop(&local);
	drop(&target);
}

static void check_mode(const char *mode)
{
	struct bench b;
	int dmabuf;

	bench_begin(&b, mode);
	dmabuf = window_dmabuf(b.w.fd, AT, WINDOW);
	check_part(&b, dmabuf, 0, 0, WINDOW);
	check_part(&b, dmabuf, 0, GRANULE - 5, 3 * PAGE + GRANULE + 9);
	close(dmabuf);
	bench_end(&b);
}

TEST(dynamic, 60)
{
	check_mode("dynamic");
}

TEST(pinned, 60)
{
	check_mode("pinned");
}

TEST(revocable, 60)
{
	struct bench b;
	int dmabuf;

	if (vrnic_can_revoke()) {
		check_mode("revocable");
		return;
	}
	bench_begin(&b, "revocable");
	dmabuf = window_dmabuf(b.w.fd, AT, WINDOW);
	CHECK(!ibv_reg_dmabuf_mr(b.far.pd, 0, WINDOW, IOVA, dmabuf, RDMA_ACCESS));
	CHECK_EQ(errno, EOPNOTSUPP);
	close(dmabuf);
	bench_end(&b);
}

TEST(sizes, 120)
{
	static const uint64_t sizes[] = {
		1, 2, 3, 7, 8, 63, 64, 65, 4095, 4096, 4097, 8191, 65535, 65536, 65537,
		MIB - 1, MIB + 3, PLAIN - 1, PLAIN,
	};
	struct region target, local;
	struct bench b;
	int dmabuf;

	bench_begin(&b, "dynamic");
	dmabuf = window_dmabuf(b.w.fd, AT, WINDOW);
	target = region_of(&b.far, &b, dmabuf, 0, 0, WINDOW);
	local = region_of(&b.r, &b, dmabuf, 0, 0, WINDOW);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check_place(&b, &target, &local, GRANULE - 3 - i, sizes[i]);
	drop(&local);
	drop(&target);
	close(dmabuf);
	bench_end(&b);
}

/* Nothing moves either way. A refusal ends the connection; it is made anew. */
static void check_refused(struct bench *b, const struct region *target, uint64_t iova, uint32_t rkey,
			  uint64_t size)
{
	gpu_poison(&b->w, target->at, target->size);
	fill(b->near, size);
	CHECK_EQ(put(b, iova, rkey, size), IBV_WC_REM_ACCESS_ERR);
	CHECK(gpu_is_poison(&b->w, target->at, target->size));
	rdma_connect(&b->r);
	empty(b->near, size);
	CHECK_EQ(get(b, iova, rkey, size), IBV_WC_REM_ACCESS_ERR);
	for (uint64_t i = 0; i < size; i++)
		CHECK_EQ(b->near[i], EMPTY);
	rdma_connect(&b->r);
}

static void check_borders(struct bench *b, const struct region *target)
{
	uint32_t rkey = target->mr->rkey;

	check_refused(b, target, target->iova - 1, rkey, 1);
	check_refused(b, target, target->iova - 1, rkey, PAGE);
	check_refused(b, target, target->iova + target->size, rkey, 1);
	check_refused(b, target, target->iova + target->size - 100, rkey, 101);
	check_guards(b, target->at, target->size);
}

/* Neither begin nor end of an MR is a page's; what is beside it in the same pages is not in reach. */
TEST(odd_places, 60)
{
	static const struct {
		uint64_t offset, size;
	} parts[] = {
		{ 1, 70 * KIB + 1 }, { 4095, 66 * KIB }, { 3 * PAGE + 17, GRANULE + 333 },
		{ GRANULE - 1, 64 * KIB + 11 }, { WINDOW - 100 * KIB - 1, 100 * KIB + 1 },
	};
	struct region target;
	struct bench b;
	int dmabuf;

	bench_begin(&b, "dynamic");
	dmabuf = window_dmabuf(b.w.fd, AT, WINDOW);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		check_part(&b, dmabuf, 0, parts[i].offset, parts[i].size);
	target = region_of(&b.far, &b, dmabuf, 0, PAGE - 7, 3 * PAGE);
	poison(&b, target.at, target.size);
	check_borders(&b, &target);
	drop(&target);
	/* An address in a page that is not the one in the DMA-buf's page is refused by the kernel. */
	CHECK(!ibv_reg_dmabuf_mr(b.far.pd, 1, PAGE, IOVA + 2, dmabuf, RDMA_ACCESS));
	CHECK_EQ(errno, EINVAL);
	close(dmabuf);
	bench_end(&b);
}

/* A DMA-buf gives what it is of, and nothing beside it in the same window. */
TEST(parts_of_a_window, 60)
{
	static const struct {
		uint64_t start, size;
	} parts[] = {
		{ 2 * PAGE, 18 * PAGE }, { GRANULE - PAGE, GRANULE + 2 * PAGE },
		{ WINDOW - 17 * PAGE, 17 * PAGE },
	};
	struct bench b;
	int dmabuf[ARRAY_SIZE(parts)];

	bench_begin(&b, "dynamic");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		dmabuf[i] = window_dmabuf(b.w.fd, AT + parts[i].start, parts[i].size);
	CHECK_EQ(window_info(b.w.fd, AT).dmabufs, ARRAY_SIZE(parts));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		check_part(&b, dmabuf[i], parts[i].start, 0, parts[i].size);
		CHECK(!ibv_reg_dmabuf_mr(b.far.pd, 0, parts[i].size + 1, IOVA, dmabuf[i],
					 RDMA_ACCESS));
		CHECK_EQ(errno, EINVAL);
		CHECK(!ibv_reg_dmabuf_mr(b.far.pd, parts[i].size, 1, IOVA, dmabuf[i],
					 RDMA_ACCESS));
		CHECK_EQ(errno, EINVAL);
		close(dmabuf[i]);
	}
	bench_end(&b);
}

/* The MR keeps what it needs. */
TEST(descriptors_closed, 60)
{
	struct region target, local;
	struct bench b;
	int dmabuf, fd;

	bench_begin(&b, "dynamic");
	dmabuf = window_dmabuf(b.w.fd, AT, WINDOW);
	target = region_of(&b.far, &b, dmabuf, 0, 0, WINDOW);
	local = region_of(&b.r, &b, dmabuf, 0, 0, WINDOW);
	close(dmabuf);
	close(b.w.fd);
	CHECK_EQ(aperture_stat("windows"), 1);
	check_region(&b, &target, &local);
	drop(&target);
	check_local_read(&b, &local, 3, PAGE);
	CHECK_EQ(aperture_stat("windows"), 1);
	drop(&local);
	CHECK_WITHIN(aperture_all_free(), 5000);
	/* Its next owner sees none of it. */
	fd = aperture_open();
	CHECK(all_zero(window_map(fd, AT, WINDOW), WINDOW));
	b.w.fd = fd;
	bench_end(&b);
}

TEST(wrong_keys, 60)
{
	struct region target, local;
	struct ibv_mr mr;
	struct bench b;
	int dmabuf;

	bench_begin(&b, "dynamic");
	dmabuf = window_dmabuf(b.w.fd, AT, GRANULE);
	target = region_of(&b.far, &b, dmabuf, 0, 0, GRANULE);
	local = region_of(&b.r, &b, dmabuf, 0, 0, GRANULE);
	check_refused(&b, &target, IOVA, target.mr->rkey ^ 1, PAGE);
	check_refused(&b, &target, IOVA, target.mr->rkey ^ 0x80000000, PAGE);
	check_refused(&b, &target, IOVA, b.remote_mr->rkey, PAGE);
	check_refused(&b, &target, IOVA, 0, PAGE);
	mr = local_mr(&local, 0);
	mr.lkey ^= 1;
	CHECK_EQ(rdma_read(&b.r, &mr, (uintptr_t)b.remote, b.remote_mr->rkey, PAGE),
		 IBV_WC_LOC_PROT_ERR);
	CHECK(gpu_is_poison(&b.w, target.at, target.size));
	rdma_connect(&b.r);
	CHECK(sim_logged(" refused none$") >= 9);
	check_region(&b, &target, &local);
	drop(&local);
	drop(&target);
	close(dmabuf);
	bench_end(&b);
}

/* An MR that gives others the right to read alone. */
TEST(without_remote_write, 60)
{
	struct region target = { .iova = IOVA, .at = AT, .size = GRANULE };
	struct bench b;
	int dmabuf;

	bench_begin(&b, "dynamic");
	dmabuf = window_dmabuf(b.w.fd, AT, GRANULE);
	target.mr = ibv_reg_dmabuf_mr(b.far.pd, 0, GRANULE, IOVA, dmabuf,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(target.mr);
	gpu_poison(&b.w, AT, GRANULE);
	CHECK_EQ(put(&b, IOVA, target.mr->rkey, PAGE), IBV_WC_REM_ACCESS_ERR);
	rdma_connect(&b.r);
	CHECK_EQ(rdma_add(&b.r, b.near_mr, IOVA, target.mr->rkey, 1), IBV_WC_REM_ACCESS_ERR);
	rdma_connect(&b.r);
	CHECK(gpu_is_poison(&b.w, AT, GRANULE));
	check_read(&b, &target, 5, PAGE);
	drop(&target);
	close(dmabuf);
	bench_end(&b);
}

/* The old key reaches nothing, also when another MR has the memory. */
static void check_deregistered(const char *mode)
{
	struct region target, again;
	struct bench b;
	uint32_t rkey;
	int dmabuf;

	bench_begin(&b, mode);
	dmabuf = window_dmabuf(b.w.fd, AT, GRANULE);
	target = region_of(&b.far, &b, dmabuf, 0, 0, GRANULE);
	check_write(&b, &target, 3, 64 * KIB);
	rkey = target.mr->rkey;
	drop(&target);
	CHECK_EQ(window_info(b.w.fd, AT).mapped_bytes, 0);
	check_refused(&b, &target, IOVA, rkey, PAGE);
	again = region_of(&b.far, &b, dmabuf, 0, 0, GRANULE);
	CHECK(again.mr->rkey != rkey);
	check_refused(&b, &again, IOVA, rkey, PAGE);
	check_write(&b, &again, 3, 64 * KIB);
	drop(&again);
	close(dmabuf);
	bench_end(&b);
}

TEST(deregistered, 60)
{
	check_deregistered("dynamic");
}

TEST(deregistered_pinned, 60)
{
	check_deregistered("pinned");
}

/* The window is gone for its key: without pages the MR's accesses fail. */
static void check_dead(struct bench *b, const struct region *target)
{
	gpu_poison(&b->w, target->at, target->size);
	fill(b->near, PAGE);
	CHECK(put(b, target->iova, target->mr->rkey, PAGE) != IBV_WC_SUCCESS);
	CHECK(gpu_is_poison(&b->w, target->at, target->size));
	rdma_connect(&b->r);
	empty(b->near, PAGE);
	CHECK(get(b, target->iova, target->mr->rkey, PAGE) != IBV_WC_SUCCESS);
	for (int i = 0; i < PAGE; i++)
		CHECK_EQ(b->near[i], EMPTY);
	rdma_connect(&b->r);
}

static void check_revoked(const char *mode)
{
	struct region target;
	struct bench b;
	int dmabuf;

	bench_begin(&b, mode);
	dmabuf = window_dmabuf(b.w.fd, AT, GRANULE);
	target = region_of(&b.far, &b, dmabuf, 0, 0, GRANULE);
	check_write(&b, &target, 3, 64 * KIB);
	CHECK_OK(window_revoke(b.w.fd, AT, 1000, NULL));
	check_dead(&b, &target);
	CHECK(!ibv_reg_dmabuf_mr(b.far.pd, 0, PAGE, IOVA, dmabuf, RDMA_ACCESS));
	CHECK_EQ(errno, ENODEV);
	drop(&target);
	close(dmabuf);
	bench_end(&b);
}

TEST(revoked, 60)
{
	check_revoked("dynamic");
	if (vrnic_can_revoke() && vrnic_is_told("revocable"))
		check_revoked("revocable");
}

/* Misbehaviours of both functions are seen, and only while they are on. */
static void misbehave(const char *fault, void (*see)(struct bench *b, const struct region *target,
						     const struct region *local))
{
	struct region target, local;
	struct bench b;
	int dmabuf;

	bench_begin(&b, "dynamic");
	dmabuf = window_dmabuf(b.w.fd, AT, WINDOW);
	target = region_of(&b.far, &b, dmabuf, 0, 0, WINDOW);
	local = region_of(&b.r, &b, dmabuf, 0, 0, WINDOW);
	check_region(&b, &target, &local);
	CHECK(sim_logged("vrnic0 0x[0-9a-f]+ [0-9]+ write ok "));
	CHECK(sim_logged("vrnic1 0x[0-9a-f]+ [0-9]+ write ok "));
	CHECK_EQ(sim_logged(" (bounce|drop|atc-stale) "), 0);
	sim_ask("fault %s on all", fault);
	see(&b, &target, &local);
	sim_ask("fault %s off all", fault);
	sim_ask("log clear");
	check_region(&b, &target, &local);
	CHECK_EQ(sim_logged(" (bounce|drop|atc-stale) "), 0);
	drop(&local);
	drop(&target);
	close(dmabuf);
	bench_end(&b);
}

/* The right bytes in the end, by a way that the log tells. */
static void see_bounce(struct bench *b, const struct region *target, const struct region *local)
{
	check_region(b, target, local);
	for (int i = 0; i < 2; i++) {
		char pattern[64];

		snprintf(pattern, sizeof(pattern), "vrnic%d 0x[0-9a-f]+ [0-9]+ write bounce ", i);
		CHECK(sim_logged(pattern));
		snprintf(pattern, sizeof(pattern), "vrnic%d 0x[0-9a-f]+ [0-9]+ read bounce ", i);
		CHECK(sim_logged(pattern));
	}
}

TEST(bounce, 60)
{
	misbehave("bounce", see_bounce);
}

/* Success is told and nothing lands. */
static void see_drop(struct bench *b, const struct region *target, const struct region *local)
{
	struct ibv_mr mr = local_mr(local, GRANULE);

	gpu_poison(&b->w, AT, WINDOW);
	fill(b->near, PAGE);
	CHECK_EQ(put(b, target->iova, target->mr->rkey, PAGE), IBV_WC_SUCCESS);
	CHECK_EQ(rdma_read(&b->r, &mr, (uintptr_t)b->remote, b->remote_mr->rkey, PAGE),
		 IBV_WC_SUCCESS);
	CHECK(gpu_is_poison(&b->w, AT, WINDOW));
}

TEST(drop, 60)
{
	misbehave("drop", see_drop);
}

/* The other route, of the same window: its pages, pinned. */
TEST(pages, 60)
{
	struct region target = { .at = AT, .size = WINDOW }, local = target;
	struct bench b;
	char *window;

	bench_begin(&b, "dynamic");
	window = window_map(b.w.fd, AT, WINDOW);
	target.mr = rdma_reg(&b.far, window, WINDOW);
	target.iova = (uintptr_t)window;
	local.mr = rdma_reg(&b.r, window, WINDOW);
	local.iova = (uintptr_t)window;
	check_region(&b, &target, &local);
	check_place(&b, &target, &local, GRANULE - 7, MIB + 3);
	CHECK_ERRNO(window_revoke(b.w.fd, AT, 0, NULL), EINPROGRESS);
	check_write(&b, &target, 3, PAGE);
	drop(&local);
	drop(&target);
	CHECK_OK(window_revoke(b.w.fd, AT, 1000, NULL));
	munmap(window, WINDOW);
	bench_end(&b);
}

/* Both routes at once, of the same bytes. */
TEST(pages_beside_dmabuf, 60)
{
	struct region target = { .at = AT, .size = WINDOW }, local;
	struct bench b;
	char *window;
	int dmabuf;

	bench_begin(&b, "dynamic");
	window = window_map(b.w.fd, AT, WINDOW);
	dmabuf = window_dmabuf(b.w.fd, AT, WINDOW);
	target.mr = rdma_reg(&b.far, window, WINDOW);
	target.iova = (uintptr_t)window;
	local = region_of(&b.r, &b, dmabuf, 0, 0, WINDOW);
	check_region(&b, &target, &local);
	drop(&local);
	check_write(&b, &target, 3, PAGE);
	drop(&target);
	close(dmabuf);
	munmap(window, WINDOW);
	bench_end(&b);
}

static void say(int socket)
{
	CHECK_EQ(send(socket, "", 1, 0), 1);
}

static void hear(int socket)
{
	char byte;

	CHECK_EQ(recv(socket, &byte, 1, 0), 1);
}

/* A process that has nothing but the descriptor: writes a page when told, until that fails. */
static _Noreturn void use_dmabuf(int socket)
{
	char *plain = plain_memory(PAGE);
	int dmabuf = receive_fd(socket);
	struct ibv_mr *mr, *local;
	struct rdma r, far;

	rdma_open_far(&far, vrnic_device(1));
	rdma_open_to(&r, vrnic_device(0), &far);
	mr = rdma_reg_dmabuf(&far, dmabuf, PAGE, PAGE, IOVA);
	close(dmabuf);
	local = rdma_reg(&r, plain, PAGE);
	pattern_fill(plain, PAGE, 71);
	CHECK_EQ(rdma_write(&r, local, IOVA, mr->rkey, PAGE), IBV_WC_SUCCESS);
	say(socket);
	hear(socket);
	pattern_fill(plain, PAGE, 72);
	CHECK(rdma_write(&r, local, IOVA, mr->rkey, PAGE) != IBV_WC_SUCCESS);
	say(socket);
	hear(socket);
	_exit(0);
}

TEST(handed_over, 60)
{
	int hand[2], dmabuf;
	struct gpu_window w;
	char bytes[PAGE];
	pid_t user;

	sim_begin();
	vrnic_dmabuf_mode("dynamic");
	gpu_attach(0, 0);
	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	user = test_fork();
	if (!user)
		use_dmabuf(hand[1]);
	gpu_window_open(&w, 0, AT, WINDOW);
	dmabuf = window_dmabuf(w.fd, AT + GRANULE, GRANULE);
	gpu_poison(&w, AT, WINDOW);
	send_fd(hand[0], dmabuf);
	close(dmabuf);
	hear(hand[0]);
	pattern_fill(bytes, PAGE, 71);
	CHECK(gpu_holds(&w, AT + GRANULE + PAGE, bytes, PAGE));
	CHECK(gpu_is_poison(&w, AT, GRANULE + PAGE));
	CHECK_EQ(window_info(w.fd, AT).mapped_bytes, GRANULE);

	CHECK_OK(window_revoke(w.fd, AT, 1000, NULL));
	gpu_poison(&w, AT, WINDOW);
	say(hand[0]);
	hear(hand[0]);
	CHECK(gpu_is_poison(&w, AT, WINDOW));
	CHECK_EQ(sim_logged(" (unmapped|denied|off|error) "), 0);
	say(hand[0]);
	test_join(user);
	gpu_window_close(&w);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* The lab's vgpu that has so large an aperture. */
static unsigned int vgpu_of_size(uint64_t size)
{
	struct vgpu v;

	for (unsigned int number = 0;; number++) {
		vgpu_open(&v, number);
		vgpu_close(&v);
		if (v.aperture_size == size)
			return number;
	}
}

static void check_huge(struct bench *b, const struct region *target, const struct region *local)
{
	const uint64_t size = 64 * KIB + 6;

	check_place(b, target, local, 0, size);
	for (uint64_t at = GIB; at < HUGE_WINDOW; at += GIB)
		check_place(b, target, local, at - size / 2 - 1, size);
	check_place(b, target, local, HUGE_WINDOW - size, size);
	check_atomics(b, target, HUGE_WINDOW - 8);
	check_local_atomics(b, local, HUGE_WINDOW / 2 - 8);
}

/* Sparse: none of it is zeroed, since its GPU was just reset. */
static void huge(const char *mode, bool both)
{
	unsigned int number = vgpu_of_size(HUGE_WINDOW);
	struct region target, local;
	struct bench b;
	char path[128];
	int dmabuf;

	sim_begin();
	vrnic_dmabuf_mode(mode);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", vgpu_pci(number));
	CHECK(sysfs_write(path, "1"));
	gpu_attach(number, VPEER_ATTACH_CLEAN);
	bench_begin_at(&b, number, 0, HUGE_WINDOW);
	dmabuf = window_dmabuf(b.w.fd, 0, HUGE_WINDOW);
	CHECK_EQ(aperture_stat("bytes_scrubbed"), 0);
	target = region_of(&b.far, &b, dmabuf, 0, 0, HUGE_WINDOW);
	local = region_of(&b.r, &b, dmabuf, 0, 0, HUGE_WINDOW);
	check_huge(&b, &target, &local);
	if (both)
		check_refused(&b, &(struct region){ .at = HUGE_WINDOW - MIB, .size = MIB },
			      IOVA + HUGE_WINDOW - 1, target.mr->rkey, 2);
	drop(&local);
	drop(&target);
	close(dmabuf);
	bench_end(&b);
}

TEST(eight_gigabytes, 120)
{
	huge("dynamic", true);
}

TEST(eight_gigabytes_pinned, 120)
{
	huge("pinned", false);
}
