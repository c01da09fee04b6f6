// SPDX-License-Identifier: GPL-2.0-only
/* More in one dma-buf than 32 bits can count, of an aperture most of which no one ever touches. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "exported.h"
#include "harness.h"
#include "importer.h"

#define GIB	(1ULL << 30)
#define SIZE	(8 * GIB)
#define AT	(21 * GIB)	/* as no limit of a function is */
#define NO_BOUNDARY	(1ULL << 63)

static const char *importing_function(void)
{
	const char *pci = getenv("VPEER_RDMA_VF");

	if (!pci || !*pci)
		test_skip("no function to import for: VPEER_RDMA_VF is not set");
	return pci;
}

/* Not zeroed, so that it stays without memory behind it. */
static void begin(struct exported *e)
{
	if (aperture_stat("size") < AT + SIZE)
		test_skip("aperture too small");
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, VPEER_ATTACH_CLEAN, NULL));
	exported_make(e, AT, SIZE, 0, SIZE);
}

static void end(struct exported *e)
{
	exported_end(e);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

static uint32_t import(const struct exported *e, uint32_t max_segment, uint64_t boundary)
{
	struct importer_setup setup = { .max_segment = max_segment, .boundary = boundary };
	int importer = importer_open(importing_function(), IMPORTER_DYNAMIC, &setup);
	struct importer_check check;
	struct importer_list list;

	importer_take(importer, e->fd);
	CHECK_EQ(window_info(e->owner, e->window).mapped_bytes, SIZE);
	list = importer_list(importer);
	importer_check_pieces(&list, SIZE);
	importer_check_limits(&list, max_segment, boundary);
	check = importer_places(importer, e->physical, GRANULE - 4096);
	CHECK_EQ(check.wrong, 0);
	CHECK(importer_places(importer, e->physical + GIB, GIB).wrong);
	printf("at most %#x, boundary %#llx: %u segments, %llu places right\n", max_segment,
	       (unsigned long long)boundary, list.head.count, (unsigned long long)check.checked);
	free(list.segments);
	close(importer);
	return list.head.count;
}

TEST(longest_segments, 60)
{
	struct exported e;

	begin(&e);
	/* 2 GiB each, however much the function can. */
	CHECK_EQ(import(&e, UINT32_MAX, NO_BOUNDARY), SIZE / (2 * GIB));
	CHECK(import(&e, UINT32_MAX, 4 * GIB) <= 4 * SIZE / (4 * GIB));
	CHECK(import(&e, UINT32_MAX, GIB) <= SIZE / GIB + 1);
	CHECK_EQ(import(&e, GIB, NO_BOUNDARY), SIZE / GIB);
	end(&e);
}

TEST(many_segments, 60)
{
	struct exported e;

	begin(&e);
	CHECK_EQ(import(&e, 64 * KIB, NO_BOUNDARY), SIZE / (64 * KIB));
	end(&e);
}

/* Held by the byte. */
TEST(pinned, 60)
{
	struct exported e;
	uint64_t pinned;
	int importer;

	begin(&e);
	importer = importer_open(importing_function(), IMPORTER_PINNED, NULL);
	importer_take(importer, e.fd);
	CHECK_ERRNO(window_revoke(e.owner, e.window, 100, &pinned), EINPROGRESS);
	CHECK_EQ(pinned, SIZE);
	CHECK_EQ(importer_do(importer, IMPORTER_UNMAP), 0);
	CHECK_OK(window_revoke(e.owner, e.window, 100, &pinned));
	CHECK_EQ(pinned, 0);
	close(importer);
	end(&e);
}
