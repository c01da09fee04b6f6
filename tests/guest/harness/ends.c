// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "aperture.h"
#include "ends.h"
#include "harness.h"
#include "memory.h"
#include "sim.h"
#include "vrnic.h"

#define PAGE	4096
#define GUARD	64	/* bytes beside a transfer that must stay */

void ends_begin_at(struct ends *e, unsigned int vgpu, uint64_t at, uint64_t size)
{
	gpu_window_open(&e->w, vgpu, at, size);
	rdma_open_far(&e->far, vrnic_device(1));
	rdma_open_to(&e->r, vrnic_device(0), &e->far);
	e->near = plain_memory(ENDS_PLAIN);
	e->remote = plain_memory(ENDS_PLAIN);
	e->near_mr = rdma_reg(&e->r, e->near, ENDS_PLAIN);
	e->remote_mr = rdma_reg(&e->far, e->remote, ENDS_PLAIN);
}

void ends_begin(struct ends *e, const char *mode, uint64_t at, uint64_t size)
{
	sim_begin();
	vrnic_dmabuf_mode(mode);
	gpu_attach(0, 0);
	ends_begin_at(e, 0, at, size);
}

void ends_end(struct ends *e)
{
	CHECK_EQ(ibv_dereg_mr(e->near_mr), 0);
	CHECK_EQ(ibv_dereg_mr(e->remote_mr), 0);
	rdma_close(&e->r);
	rdma_close(&e->far);
	munmap(e->near, ENDS_PLAIN);
	munmap(e->remote, ENDS_PLAIN);
	gpu_window_close(&e->w);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_EQ(sim_logged(" (unmapped|denied|off|error) "), 0);
}

/* [offset, offset + size) of a DMA-buf that starts at START of the window. */
struct region region_of(struct rdma *end, const struct ends *e, int dmabuf, uint64_t start,
			uint64_t offset, uint64_t size)
{
	struct region region = {
		.iova = ENDS_IOVA + offset % PAGE,
		.at = e->w.at + start + offset,
		.size = size,
	};

	region.mr = rdma_reg_dmabuf(end, dmabuf, offset, size, region.iova);
	return region;
}

void region_drop(struct region *region)
{
	CHECK_EQ(ibv_dereg_mr(region->mr), 0);
	region->mr = NULL;
}

/* As much beside the transfer as is in the window. */
static uint64_t before(const struct ends *e, uint64_t at)
{
	return at - e->w.at < GUARD ? at - e->w.at : GUARD;
}

static uint64_t behind(const struct ends *e, uint64_t end)
{
	uint64_t left = e->w.at + e->w.size - end;

	return left < GUARD ? left : GUARD;
}

void ends_poison(struct ends *e, uint64_t at, uint64_t size)
{
	gpu_poison(&e->w, at - before(e, at), before(e, at) + size + behind(e, at + size));
}

void check_guards(struct ends *e, uint64_t at, uint64_t size)
{
	CHECK(gpu_is_poison(&e->w, at - before(e, at), before(e, at)));
	CHECK(gpu_is_poison(&e->w, at + size, behind(e, at + size)));
}

void ends_fill(char *memory, uint64_t size)
{
	static uint64_t seed;

	pattern_fill(memory, (size + 7) & ~7ULL, ++seed);
}

void ends_empty(char *memory, uint64_t size)
{
	memset(memory, ENDS_EMPTY, size + GUARD <= ENDS_PLAIN ? size + GUARD : ENDS_PLAIN);
}

static void check_received(struct ends *e, const char *memory, uint64_t at, uint64_t size)
{
	CHECK(gpu_holds(&e->w, at, memory, size));
	for (uint64_t i = size; i < size + GUARD && i < ENDS_PLAIN; i++)
		CHECK_EQ(memory[i], ENDS_EMPTY);
}

enum ibv_wc_status ends_put(struct ends *e, uint64_t iova, uint32_t rkey, uint32_t size)
{
	return rdma_write(&e->r, e->near_mr, iova, rkey, size);
}

enum ibv_wc_status ends_get(struct ends *e, uint64_t iova, uint32_t rkey, uint32_t size)
{
	return rdma_read(&e->r, e->near_mr, iova, rkey, size);
}

void check_write(struct ends *e, const struct region *target, uint64_t offset, uint64_t size)
{
	uint64_t at = target->at + offset;

	ends_poison(e, at, size);
	ends_fill(e->near, size);
	CHECK_EQ(ends_put(e, target->iova + offset, target->mr->rkey, size), IBV_WC_SUCCESS);
	CHECK(gpu_holds(&e->w, at, e->near, size));
	check_guards(e, at, size);
}

void check_read(struct ends *e, const struct region *target, uint64_t offset, uint64_t size)
{
	uint64_t at = target->at + offset;

	gpu_scribble(&e->w, at, size);
	ends_empty(e->near, size);
	CHECK_EQ(ends_get(e, target->iova + offset, target->mr->rkey, size), IBV_WC_SUCCESS);
	check_received(e, e->near, at, size);
}

/* An MR that libibverbs knows the address of. */
struct ibv_mr local_mr(const struct region *source, uint64_t offset)
{
	struct ibv_mr mr = *source->mr;

	mr.addr = (void *)(uintptr_t)(source->iova + offset);
	return mr;
}

void check_local_write(struct ends *e, const struct region *source, uint64_t offset,
		       uint64_t size)
{
	struct ibv_mr mr = local_mr(source, offset);

	gpu_scribble(&e->w, source->at + offset, size);
	ends_empty(e->remote, size);
	CHECK_EQ(rdma_write(&e->r, &mr, (uintptr_t)e->remote, e->remote_mr->rkey, size),
		 IBV_WC_SUCCESS);
	check_received(e, e->remote, source->at + offset, size);
}

void check_local_read(struct ends *e, const struct region *sink, uint64_t offset,
		      uint64_t size)
{
	struct ibv_mr mr = local_mr(sink, offset);

	ends_poison(e, sink->at + offset, size);
	ends_fill(e->remote, size);
	CHECK_EQ(rdma_read(&e->r, &mr, (uintptr_t)e->remote, e->remote_mr->rkey, size),
		 IBV_WC_SUCCESS);
	CHECK(gpu_holds(&e->w, sink->at + offset, e->remote, size));
	check_guards(e, sink->at + offset, size);
}

/* The word of the window there, and what was said that it had been. */
static void check_word(struct ends *e, uint64_t at, uint64_t now, uint64_t was)
{
	CHECK_EQ(*(uint64_t *)e->near, was);
	CHECK(gpu_holds(&e->w, at, &now, sizeof(now)));
	check_guards(e, at, sizeof(now));
}

void check_atomics(struct ends *e, const struct region *target, uint64_t offset)
{
	uint64_t word = 0x0102030405060708, at = target->at + offset, iova = target->iova + offset;
	uint32_t rkey = target->mr->rkey;

	ends_poison(e, at, sizeof(word));
	vgpu_fill(&e->w.gpu, at, sizeof(word), word);
	CHECK_EQ(rdma_add(&e->r, e->near_mr, iova, rkey, 7), IBV_WC_SUCCESS);
	check_word(e, at, word + 7, word);
	CHECK_EQ(rdma_swap(&e->r, e->near_mr, iova, rkey, word, 1), IBV_WC_SUCCESS);
	check_word(e, at, word + 7, word + 7);
	CHECK_EQ(rdma_swap(&e->r, e->near_mr, iova, rkey, word + 7, ~word), IBV_WC_SUCCESS);
	check_word(e, at, ~word, word + 7);
}

/* What the other side's word had been lands in the window. */
void check_local_atomics(struct ends *e, const struct region *sink, uint64_t offset)
{
	struct ibv_mr mr = local_mr(sink, offset);
	uint64_t word = 0x1112131415161718, *remote = (uint64_t *)e->remote;

	*remote = word;
	ends_poison(e, sink->at + offset, sizeof(word));
	CHECK_EQ(rdma_add(&e->r, &mr, (uintptr_t)remote, e->remote_mr->rkey, 3), IBV_WC_SUCCESS);
	CHECK_EQ(*remote, word + 3);
	CHECK(gpu_holds(&e->w, sink->at + offset, &word, sizeof(word)));
	check_guards(e, sink->at + offset, sizeof(word));
	word += 3;
	CHECK_EQ(rdma_swap(&e->r, &mr, (uintptr_t)remote, e->remote_mr->rkey, word, 9),
		 IBV_WC_SUCCESS);
	CHECK_EQ(*remote, 9);
	CHECK(gpu_holds(&e->w, sink->at + offset, &word, sizeof(word)));
}

void check_place(struct ends *e, const struct region *target, const struct region *local,
		 uint64_t offset, uint64_t size)
{
	check_write(e, target, offset, size);
	check_read(e, target, offset, size);
	check_local_write(e, local, offset, size);
	check_local_read(e, local, offset, size);
}

/* The first place in a region from OFFSET on where a word may be. */
static uint64_t word_at(const struct region *region, uint64_t offset)
{
	return offset + -(region->iova + offset) % sizeof(uint64_t);
}

void check_region(struct ends *e, const struct region *target,
		  const struct region *local)
{
	const uint64_t size = 64 * KIB + 11;

	check_place(e, target, local, 0, size);
	check_place(e, target, local, target->size - size, size);
	check_atomics(e, target, word_at(target, PAGE + 100));
	check_local_atomics(e, local, word_at(local, 2 * PAGE + 100));
}
