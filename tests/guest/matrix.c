// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cells of tests/lab/matrix that this guest has: RDMA between two functions and a GPU's memory, looked at by
 * the GPU's own engine; then a revocation, and what must hold after it. A case's log ends with the cell's outcome.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "apertures.h"
#include "cell.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "sim.h"
#include "vgpu.h"
#include "vrnic.h"

#define SIZE	(32 * KIB)
#define AT	(3 * 4096 + 64)		/* in the window; not the start of a page */
#define IOVA	(0x7654321000 + 64)	/* unlike any address of memory */
#define WORD	(AT + 40)
#define POISON	0xeeeeeeeeeeeeeeee
#define POKED	0x5a5a5a5a5a5a5a5a

struct bench {
	struct cell cell;
	struct vgpu gpu;
	struct rdma near, far;		/* the function that asks, and the one that reaches the GPU */
	char *plain;
	struct ibv_mr *plain_mr;
	int fd;
	uint64_t offset;		/* of the window, a granule */
	char *window;			/* of pages */
	int dmabuf;
	struct ibv_mr *mr;		/* of the window, from AT on */
	uint64_t remote;
	char *image;			/* what the window is to hold */
};

static uint64_t *word(struct bench *b)
{
	return (uint64_t *)(b->image + WORD);
}

/* Of the whole window: what was not meant is as it was. */
static void check_memory(struct bench *b)
{
	CHECK_EQ(vgpu_checksum(&b->gpu, b->offset, GRANULE), vgpu_sum_of(b->image, GRANULE));
}

static void poison(struct bench *b)
{
	memset(b->image, 0xee, GRANULE);
	vgpu_fill(&b->gpu, b->offset, GRANULE, POISON);
}

static void bench_begin(struct bench *b)
{
	sim_begin();
	setenv("VPEER_AP_PCI", vgpu_pci(0), 1);
	if (!pci_bound(vgpu_pci(0)))
		CHECK_OK(control_attach(vgpu_pci(0), 2, 0, NULL));
	/* A virtio IOMMU takes up a function when its driver does. */
	cell_find(&b->cell);
	vgpu_open(&b->gpu, 0);
	rdma_open_far(&b->far, vrnic_device(1));
	rdma_open_to(&b->near, vrnic_device(0), &b->far);
	b->plain = plain_memory(SIZE);
	b->plain_mr = rdma_reg(&b->near, b->plain, SIZE);
	b->image = plain_memory(GRANULE);
	b->fd = aperture_open();
	b->offset = window_alloc(b->fd, GRANULE);
	b->window = NULL;
	b->dmabuf = -1;
	b->mr = NULL;
}

static void dereg(struct bench *b)
{
	if (b->mr)
		CHECK_EQ(ibv_dereg_mr(b->mr), 0);
	b->mr = NULL;
}

static void bench_end(struct bench *b)
{
	dereg(b);
	CHECK_EQ(ibv_dereg_mr(b->plain_mr), 0);
	rdma_close(&b->near);
	rdma_close(&b->far);
	if (b->window)
		munmap(b->window, GRANULE);
	if (b->dmabuf >= 0)
		close(b->dmabuf);
	close(b->fd);
	munmap(b->image, GRANULE);
	munmap(b->plain, SIZE);
	vgpu_close(&b->gpu);
	CHECK_OK(control_detach(vgpu_pci(0), NULL, NULL));
}

static void export(struct bench *b)
{
	struct vpeer_dmabuf arg = {
		.argsz = sizeof(arg),
		.fd = -1,
		.offset = b->offset,
		.size = GRANULE,
	};

	CHECK_OK(ioctl(b->fd, VPEER_IOCTL_DMABUF, &arg));
	b->dmabuf = arg.fd;
}

/* Of a route and a mode, which pages have none of: 0, or the errno of a refusal. */
static int reg(struct bench *b)
{
	if (!strcmp(b->cell.route, "pages")) {
		b->window = window_map(b->fd, b->offset, GRANULE);
		b->remote = (uintptr_t)b->window + AT;
		b->mr = ibv_reg_mr(b->far.pd, b->window + AT, SIZE, RDMA_ACCESS);
	} else {
		export(b);
		vrnic_dmabuf_mode(b->cell.mode);
		b->remote = IOVA;
		b->mr = ibv_reg_dmabuf_mr(b->far.pd, AT, SIZE, IOVA, b->dmabuf, RDMA_ACCESS);
	}
	return b->mr ? 0 : errno;
}

static enum ibv_wc_status put(struct bench *b, uint32_t rkey, uint64_t seed)
{
	pattern_fill(b->plain, SIZE, seed);
	return rdma_write(&b->near, b->plain_mr, b->remote, rkey, SIZE);
}

static void check_write(struct bench *b, uint64_t seed)
{
	CHECK_EQ(put(b, b->mr->rkey, seed), IBV_WC_SUCCESS);
	memcpy(b->image + AT, b->plain, SIZE);
	check_memory(b);
}

/* What the GPU put there. */
static void check_read(struct bench *b)
{
	memset(b->image + AT, 0x77, SIZE);
	vgpu_fill(&b->gpu, b->offset + AT, SIZE, 0x7777777777777777);
	CHECK_EQ(rdma_read(&b->near, b->plain_mr, b->remote, b->mr->rkey, SIZE), IBV_WC_SUCCESS);
	CHECK(!memcmp(b->plain, b->image + AT, SIZE));
}

static void check_atomics(struct bench *b)
{
	uint64_t remote = b->remote + WORD - AT, before = *word(b);

	CHECK_EQ(rdma_add(&b->near, b->plain_mr, remote, b->mr->rkey, 5), IBV_WC_SUCCESS);
	CHECK_EQ(*(uint64_t *)b->plain, before);
	*word(b) += 5;
	check_memory(b);
	CHECK_EQ(rdma_swap(&b->near, b->plain_mr, remote, b->mr->rkey, before + 5, 9),
		 IBV_WC_SUCCESS);
	CHECK_EQ(*(uint64_t *)b->plain, before + 5);
	*word(b) = 9;
	check_memory(b);
}

/* Where the device has the MR's first byte: translated, or as the processor has it. */
static uint64_t device_address(struct bench *b)
{
	uint64_t address = bar_start() + b->offset + AT;
	unsigned long long seen;
	const char *line;

	CHECK_EQ(sim_logged(" vrnic1 .* (unmapped|denied|off|error|refused) "), 0);
	line = strstr(sim_ask("log"), " vrnic1 0x");
	CHECK(line);
	CHECK_EQ(sscanf(line, " vrnic1 %llx ", &seen), 1);
	if (b->cell.translated)
		CHECK(seen != address);
	else
		CHECK_EQ(seen, address);
	return seen;
}

/* An IOMMU stops a device that was not told or does not listen; lazily, a moment later. None does otherwise. */
static void check_poke(struct bench *b, uint64_t address)
{
	uint64_t at = address + WORD - AT;

	if (b->cell.lazy)
		CHECK_WITHIN(!sim_poke("vrnic1", at, *word(b)), 5000);
	CHECK_EQ(sim_poke("vrnic1", at, POKED), !b->cell.translated);
	if (!b->cell.translated)
		*word(b) = POKED;
	check_memory(b);
}

/* By an old key: the function itself refuses, or has no pages. No IOMMU was needed for it. */
static void check_dead(struct bench *b, uint32_t rkey)
{
	sim_ask("log clear");
	CHECK(put(b, rkey, 4) != IBV_WC_SUCCESS);
	check_memory(b);
	rdma_connect(&b->near);
	CHECK(rdma_read(&b->near, b->plain_mr, b->remote, rkey, SIZE) != IBV_WC_SUCCESS);
	CHECK(pattern_is(b->plain, SIZE, 4));
	CHECK_EQ(sim_logged(" vrnic1 .* (refused|no-pages) none$"), 2);
	CHECK_EQ(sim_logged(" vrnic1 .* (ok|unmapped|error) "), 0);
}

/* Kept memory is still reached, and is no one else's until it is let go. */
static void check_kept(struct bench *b)
{
	uint64_t pinned;

	check_write(b, 3);
	dereg(b);
	CHECK_OK(window_revoke(b->fd, b->offset, 2000, &pinned));
	CHECK_EQ(pinned, 0);
}

static bool is_told(const struct cell *cell)
{
	return !strcmp(cell->mode, "dynamic") || !strcmp(cell->mode, "revocable");
}

/* NULL, or an importer that was to be told is not. */
static const char *check_revocation(struct bench *b, uint64_t address)
{
	bool told = is_told(&b->cell);
	uint32_t rkey = b->mr->rkey;
	uint64_t pinned;
	int ret;

	ret = window_revoke(b->fd, b->offset, told ? 2000 : 0, &pinned);
	if (ret || !told)
		CHECK_ERRNO(ret, EINPROGRESS);
	CHECK_EQ(!pinned, !ret);
	if (ret)
		check_kept(b);
	check_dead(b, rkey);
	check_poke(b, address);
	return ret && told ? "EINPROGRESS" : NULL;
}

/* The function finds no translation. */
static bool is_unmapped(struct bench *b)
{
	if (put(b, b->mr->rkey, 1) == IBV_WC_SUCCESS)
		return false;
	check_memory(b);
	CHECK(sim_logged(" vrnic1 .* write unmapped none$"));
	rdma_connect(&b->near);
	return true;
}

/* NULL, or why not all of it is so. */
static const char *check_all(struct bench *b)
{
	uint64_t address;

	poison(b);
	if (is_unmapped(b))
		return "unmapped";
	check_write(b, 2);
	address = device_address(b);
	check_read(b);
	check_atomics(b);
	return check_revocation(b, address);
}

static void run(const char *mode, const char *route)
{
	struct bench b = { .cell = { .mode = mode, .route = route } };
	const char *refused;
	int error;

	bench_begin(&b);
	error = reg(&b);
	refused = error ? strerrorname_np(error) : check_all(&b);
	bench_end(&b);
	if (!strcmp(mode, "revocable") && !vrnic_can_revoke()) {
		CHECK_EQ(error, EOPNOTSUPP);
		cell_tell(&b.cell, "absent");
	} else if (refused) {
		cell_tell(&b.cell, "refuse %s", refused);
	} else {
		cell_tell(&b.cell, "pass");
	}
}

TEST(dmabuf_dynamic, 60)
{
	run("dynamic", "dmabuf");
}

TEST(dmabuf_revocable, 60)
{
	run("revocable", "dmabuf");
}

TEST(dmabuf_pinned, 60)
{
	run("pinned", "dmabuf");
}

TEST(pages, 60)
{
	run("-", "pages");
}
