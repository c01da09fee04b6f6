// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions of vrnic on DMA-bufs that VFIO makes of a GPU's BAR, with which vpeer has nothing to do. Linux maps
 * them only where it trusts the host bridge with peer-to-peer traffic, which it tells by the processor.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "exporter.h"
#include "harness.h"
#include "memory.h"
#include "sim.h"
#include "vfio.h"
#include "vgpu.h"

#define PAGE		4096
#define APERTURE	2	/* the BAR */
#define POISON		0x7777777777777777

struct bench {
	struct exporter e;
	struct exporter_owner owner;
	struct vfio v;
	struct vgpu gpu;
	uint64_t start;		/* of the DMA-buf in the aperture */
	char *whole;		/* what all of the aperture is to hold */
};

static void fill(void *context, uint64_t at, uint64_t size, uint64_t word)
{
	struct bench *b = context;

	vgpu_fill(&b->gpu, b->start + at, size, word);
}

static bool holds(void *context, const void *image)
{
	struct bench *b = context;

	memcpy(b->whole + b->start, image, b->e.size);
	return vgpu_checksum(&b->gpu, 0, b->gpu.aperture_size) ==
	       vgpu_sum_of(b->whole, b->gpu.aperture_size);
}

/* Sizes are those of the DMA-buf; 0 for all that there is. */
static void bench_begin(struct bench *b, uint64_t start, uint64_t size)
{
	int dmabuf;

	vfio_open(&b->v, vgpu_pci(0));
	vgpu_open_mapped(&b->gpu, 0, vfio_map_bar(&b->v, 0, PAGE));
	b->start = start;
	b->whole = plain_memory(b->gpu.aperture_size);
	dmabuf = vfio_dmabuf(&b->v, APERTURE, start, size ?: b->gpu.aperture_size);
	CHECK_OK(dmabuf);
	b->owner = (struct exporter_owner){ .context = b, .fill = fill, .holds = holds };
	exporter_begin(&b->e, &b->owner, dmabuf, size ?: b->gpu.aperture_size);
}

/* The function's registers keep it open. */
static void leave_vfio(struct bench *b)
{
	vgpu_close(&b->gpu);
	vfio_close(&b->v);
}

static void bench_end(struct bench *b)
{
	exporter_end(&b->e);
	munmap(b->whole, b->gpu.aperture_size);
	leave_vfio(b);
}

static void check_part(const char *mode, uint64_t start, uint64_t size)
{
	struct bench b;
	uint32_t rkey;

	bench_begin(&b, start, size);
	CHECK_EQ(exporter_reg(&b.e, mode, 0, b.e.size), 0);
	exporter_check(&b.e);
	exporter_find_address(&b.e);
	exporter_check_poke(&b.e, true);
	rkey = b.e.mr->rkey;
	exporter_dereg(&b.e);
	exporter_check_dead(&b.e, rkey);
	exporter_check_poke(&b.e, false);
	CHECK_EQ(exporter_reg(&b.e, mode, 5 * PAGE + 3, b.e.size - 7 * PAGE), 0);
	exporter_check(&b.e);
	exporter_dereg(&b.e);
	exporter_check_end(&b.e);
	bench_end(&b);
}

TEST(whole, 60)
{
	check_part("dynamic", 0, 0);
}

TEST(whole_revocable, 60)
{
	check_part("revocable", 0, 0);
}

/* What is beside it in the aperture is not in reach. */
TEST(part, 60)
{
	check_part("dynamic", 3 * PAGE, 40 * PAGE);
}

TEST(part_revocable, 60)
{
	check_part("revocable", 17 * PAGE, 40 * PAGE);
}

/* An importer that cannot be told of a revocation gets none of it. */
TEST(pinned_refused, 60)
{
	struct bench b;

	bench_begin(&b, 0, 0);
	CHECK_EQ(exporter_reg(&b.e, "pinned", 0, b.e.size), EOPNOTSUPP);
	CHECK_EQ(exporter_reg(&b.e, "revocable", 0, b.e.size), 0);
	exporter_check(&b.e);
	bench_end(&b);
}

/* The boot has a processor with which Linux trusts no such host bridge; with another one the same calls work. */
TEST(host_bridge_refused, 60)
{
	struct bench b;

	bench_begin(&b, 0, 0);
	CHECK_EQ(exporter_reg(&b.e, "dynamic", 0, b.e.size), EINVAL);
	CHECK_EQ(exporter_reg(&b.e, "revocable", 0, b.e.size), EINVAL);
	CHECK_EQ(sim_logged(" vrnic1 "), 0);
	bench_end(&b);
}

static void begin_revocation(struct bench *b, const char *mode)
{
	bench_begin(b, PAGE, 0x40 * PAGE);
	CHECK_EQ(exporter_reg(&b->e, mode, 0, b->e.size), 0);
	exporter_check(&b->e);
	exporter_find_address(&b->e);
	exporter_check_poke(&b->e, true);
}

/* Afterwards it is the GPU's memory of old, or that of one just reset. */
static void check_gone(struct bench *b)
{
	exporter_poison(&b->e, POISON);
	exporter_check_dead(&b->e, b->e.mr->rkey);
	exporter_check_poke(&b->e, false);
}

/* The MR of an importer that can do without pages gets them again; any other is dead for good. */
static void check_back(struct bench *b, bool dynamic)
{
	if (dynamic) {
		/* The function does not ask twice within 250 ms. */
		test_sleep_ms(300);
		exporter_check(&b->e);
		return;
	}
	check_gone(b);
	exporter_dereg(&b->e);
	CHECK_EQ(exporter_reg(&b->e, "revocable", 0, b->e.size), 0);
	exporter_check(&b->e);
}

static void check_reset(const char *mode, bool dynamic)
{
	struct bench b;

	begin_revocation(&b, mode);
	vfio_reset(&b.v);
	memset(b.whole, 0, b.gpu.aperture_size);
	memset(b.e.image, 0, b.e.size);
	CHECK(holds(&b, b.e.image));
	check_back(&b, dynamic);
	bench_end(&b);
}

TEST(reset, 60)
{
	check_reset("dynamic", true);
}

TEST(reset_revocable, 60)
{
	check_reset("revocable", false);
}

/* While the device does not answer there is nothing to reach. */
static void check_memory_off(const char *mode, bool dynamic)
{
	struct bench b;

	begin_revocation(&b, mode);
	vfio_memory(&b.v, false);
	CHECK(rdma_write(&b.e.near, b.e.plain_mr, b.e.iova, b.e.mr->rkey, 64) != IBV_WC_SUCCESS);
	rdma_connect(&b.e.near);
	CHECK(!ibv_reg_dmabuf_mr(b.e.far.pd, 0, PAGE, 0, b.e.dmabuf, RDMA_ACCESS));
	CHECK_EQ(errno, ENODEV);
	vfio_memory(&b.v, true);
	check_back(&b, dynamic);
	bench_end(&b);
}

TEST(memory_off, 60)
{
	check_memory_off("dynamic", true);
}

TEST(memory_off_revocable, 60)
{
	check_memory_off("revocable", false);
}

/* Neither the DMA-buf nor the MR keeps the function from its next driver, nor sees what that one does. */
static void check_closed(const char *mode)
{
	struct bench b;

	begin_revocation(&b, mode);
	leave_vfio(&b);
	vgpu_open(&b.gpu, 0);
	memset(b.whole, 0, b.gpu.aperture_size);
	vgpu_fill(&b.gpu, 0, b.gpu.aperture_size, 0);
	check_gone(&b);
	exporter_dereg(&b.e);
	CHECK_EQ(exporter_reg(&b.e, mode, 0, b.e.size), ENODEV);
	exporter_end(&b.e);
	munmap(b.whole, b.gpu.aperture_size);
	vgpu_close(&b.gpu);
}

TEST(closed, 60)
{
	check_closed("dynamic");
}

TEST(closed_revocable, 60)
{
	check_closed("revocable");
}
