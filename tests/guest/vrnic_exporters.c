// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions of vrnic on DMA-bufs of other drivers, which vpeer has no part in: memory of a GPU's driver. The
 * group vrnic_mr has those of udmabuf, vrnic_exporters_vfio those of VFIO.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "exporter.h"
#include "harness.h"
#include "vgem.h"
#include "vrnic.h"

#define PAGE	4096
#define PAGES	48
#define SIZE	(PAGES * PAGE)

struct bench {
	struct exporter e;
	struct exporter_owner owner;
	void *memory;
};

static void fill(void *context, uint64_t at, uint64_t size, uint64_t word)
{
	uint64_t *words = (uint64_t *)((char *)((struct bench *)context)->memory + at);

	for (uint64_t i = 0; i < size / sizeof(word); i++)
		words[i] = word;
}

static bool holds(void *context, const void *image)
{
	return !memcmp(((struct bench *)context)->memory, image, SIZE);
}

static void bench_begin(struct bench *b)
{
	int dmabuf = vgem_make(PAGES, &b->memory);

	b->owner = (struct exporter_owner){ .context = b, .fill = fill, .holds = holds };
	exporter_begin(&b->e, &b->owner, dmabuf, SIZE);
}

static void bench_end(struct bench *b)
{
	exporter_end(&b->e);
	munmap(b->memory, SIZE);
}

static void check_mode(const char *mode)
{
	struct bench b;
	uint32_t rkey;

	bench_begin(&b);
	CHECK_EQ(exporter_reg(&b.e, mode, 0, SIZE), 0);
	exporter_check(&b.e);
	exporter_dereg(&b.e);
	/* Neither begin nor end is a page's. */
	CHECK_EQ(exporter_reg(&b.e, mode, 3 * PAGE + 17, SIZE - 5 * PAGE), 0);
	exporter_check(&b.e);
	rkey = b.e.mr->rkey;
	exporter_dereg(&b.e);
	exporter_check_dead(&b.e, rkey);
	exporter_check_end(&b.e);
	bench_end(&b);
}

TEST(vgem_dynamic, 60)
{
	check_mode("dynamic");
}

TEST(vgem_pinned, 60)
{
	check_mode("pinned");
}

TEST(vgem_revocable, 60)
{
	struct bench b;

	if (vrnic_can_revoke()) {
		check_mode("revocable");
		return;
	}
	bench_begin(&b);
	CHECK_EQ(exporter_reg(&b.e, "revocable", 0, SIZE), EOPNOTSUPP);
	CHECK_EQ(exporter_reg(&b.e, "pinned", 0, SIZE), 0);
	bench_end(&b);
}

/* The MR needs it no more. */
TEST(vgem_descriptor_closed, 60)
{
	struct bench b;

	bench_begin(&b);
	CHECK_EQ(exporter_reg(&b.e, "dynamic", PAGE, SIZE - PAGE), 0);
	close(b.e.dmabuf);
	b.e.dmabuf = -1;
	exporter_check(&b.e);
	bench_end(&b);
}
