// SPDX-License-Identifier: GPL-2.0-only
/*
 * What importers get of a window's dma-buf: who is taken, and the addresses.
 * Exporters of ordinary memory are asked the same where that is possible.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "exported.h"
#include "harness.h"
#include "importer.h"
#include "kmsg.h"
#include "mover.h"
#include "vrnic.h"

#define PAGE	4096ULL
#define SIZE	(4 * MIB)
#define GIB4	(1ULL << 32)

/* Behind an IOMMU no address is the BAR's own. */
static void check_address(int importer, const struct exported *e, uint64_t address)
{
	if (!importer_state(importer).translated)
		CHECK_EQ(address, e->physical);
	else
		CHECK(address >= e->physical + e->size || address + e->size <= e->physical);
}

static void check_mapping(int importer, const struct exported *e)
{
	struct importer_list list = importer_list(importer);

	check_address(importer, e, importer_check_pieces(&list, e->size));
	importer_check_place(importer, e->physical);
	free(list.segments);
}

TEST(whole_window, 30)
{
	struct importer_check check;
	struct exported e;
	uint64_t address;
	struct importer_list list;
	int importer;

	exported_begin(&e, SIZE);
	importer = importer_open(vrnic_pci(0), IMPORTER_DYNAMIC, NULL);
	importer_take(importer, e.fd);
	importer_check_state(importer, 0, true, false);
	list = importer_list(importer);
	CHECK_EQ(list.head.count, 1);
	check_mapping(importer, &e);
	/* The measure tells another place. */
	check = importer_places(importer, e.physical + PAGE, PAGE);
	CHECK_EQ(check.checked, SIZE / PAGE + 1);
	CHECK_EQ(check.wrong, check.checked);
	CHECK_EQ(check.offset, 0);
	CHECK_EQ(check.found, e.physical);

	address = list.segments[0].address;
	CHECK_EQ(importer_resolve(importer, address + SIZE - 1), e.physical + SIZE - 1);
	CHECK_EQ(importer_do(importer, IMPORTER_UNMAP), 0);
	if (importer_state(importer).translated)
		CHECK_EQ(importer_resolve(importer, address), 0);
	CHECK_EQ(importer_do(importer, IMPORTER_MAP), 0);
	check_mapping(importer, &e);
	free(list.segments);
	close(importer);
	exported_end(&e);
}

TEST(part_of_window, 30)
{
	struct exported e;
	int importer;

	exported_attach();
	exported_make(&e, 6 * MIB, 4 * MIB, GRANULE - 3 * PAGE, 7 * PAGE);
	importer = importer_open(vrnic_pci(0), IMPORTER_DYNAMIC, NULL);
	importer_take(importer, e.fd);
	check_mapping(importer, &e);
	CHECK_EQ(window_info(e.owner, e.window).mapped_bytes, 7 * PAGE);
	close(importer);
	exported_end(&e);
}

/* What only memory with pages has. */
static void check_pages_import(enum importer_mode mode)
{
	int importer = importer_open(vrnic_pci(0), mode, NULL);
	struct importer_list list;
	uint64_t size = 0;
	struct mover m;

	mover_make(&m, 64 * KIB);
	importer_take(importer, m.fd);
	CHECK_EQ(mover_do(&m, MOVER_MAPPED), 1);
	list = importer_list(importer);
	CHECK(list.head.orig_nents > 0);
	CHECK(list.head.pages >= list.head.orig_nents);
	for (uint32_t i = 0; i < list.head.count; i++)
		size += list.segments[i].length;
	CHECK_EQ(size, 64 * KIB);
	importer_check_place(importer, IMPORTER_ITS_PAGES);
	CHECK(importer_places(importer, list.segments[0].address + 64 * MIB, PAGE).wrong);
	free(list.segments);
	close(importer);
	CHECK_EQ(mover_do(&m, MOVER_MAPPED), 0);
	mover_close(&m);
}

/* Whom the exporter does not take, and what it says of it. */
static void check_not_taken(enum importer_mode mode)
{
	int mark = kmsg_mark(), importer, other;
	struct exported e;

	exported_begin(&e, GRANULE);
	importer = importer_open(vrnic_pci(0), mode, NULL);
	CHECK_EQ(importer_attach(importer, e.fd), -EOPNOTSUPP);
	CHECK_EQ(importer_do(importer, IMPORTER_MAP), -ENXIO);
	CHECK_EQ(kmsg_count(mark, "vpeer.*not imported.*peer-to-peer", NULL, 0), 1);
	CHECK_EQ(window_info(e.owner, e.window).mapped_bytes, 0);
	other = importer_open(vrnic_pci(0), IMPORTER_DYNAMIC, NULL);
	importer_take(other, e.fd);
	check_mapping(other, &e);
	close(other);
	close(importer);
	close(mark);
	exported_end(&e);
}

TEST(static_importer, 30)
{
	check_pages_import(IMPORTER_STATIC);
	check_not_taken(IMPORTER_STATIC);
}

TEST(importer_without_peer_to_peer, 30)
{
	check_pages_import(IMPORTER_NO_PEER);
	check_not_taken(IMPORTER_NO_PEER);
}

TEST(pages_by_every_mode, 30)
{
	check_pages_import(IMPORTER_DYNAMIC);
	check_pages_import(IMPORTER_PINNED);
	if (importer_can_revoke(vrnic_pci(0)))
		check_pages_import(IMPORTER_REVOCABLE);
}

struct limits {
	uint32_t max_segment;
	uint64_t boundary;
};

/* Neither limit can be less than a page. */
static const struct limits limits[] = {
	{ 64 * KIB, 0 },
	{ 4 * KIB, 0 },
	{ 12 * KIB, 0 },
	{ 100000, 0 },
	{ 1 * MIB + 1, 0 },
	{ 3 * MIB, 0 },
	{ 64 * MIB, 0 },
	{ UINT32_MAX, 0 },
	{ 0, 64 * KIB },
	{ 0, 4 * KIB },
	{ 0, 1 * MIB },
	{ 0, 8 * GIB4 },
	{ 48 * KIB, 64 * KIB },
	{ 100000, 128 * KIB },
	{ 1 * MIB, 64 * KIB },
};

/* As few as the limit allows. */
static void check_count(const struct importer_list *list, const struct limits *l, uint64_t size)
{
	uint64_t longest = l->max_segment / PAGE * PAGE;

	if (l->max_segment && !l->boundary)
		CHECK_EQ(list->head.count, (size + longest - 1) / longest);
	if (l->boundary && !l->max_segment)
		CHECK(list->head.count <= size / l->boundary + 1 + !!(size % l->boundary));
}

static int limited(const struct limits *l, enum importer_mode mode)
{
	struct importer_setup setup = {
		.max_segment = l->max_segment,
		.boundary = l->boundary,
	};

	printf("at most %#x, boundary %#llx\n", l->max_segment, (unsigned long long)l->boundary);
	return importer_open(vrnic_pci(0), mode, &setup);
}

TEST(segment_limits, 60)
{
	struct exported e;

	exported_begin(&e, SIZE);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		int importer = limited(&limits[i], IMPORTER_DYNAMIC);
		struct importer_list list;

		importer_take(importer, e.fd);
		list = importer_list(importer);
		importer_check_limits(&list, limits[i].max_segment, limits[i].boundary);
		check_count(&list, &limits[i], SIZE);
		free(list.segments);
		check_mapping(importer, &e);
		close(importer);
	}
	exported_end(&e);
}

/* The limits end with the importer. */
TEST(limits_are_the_importers, 30)
{
	struct limits small = { 64 * KIB, 0 };
	struct importer_list list;
	struct exported e;
	int importer;

	exported_begin(&e, GRANULE);
	importer = limited(&small, IMPORTER_PINNED);
	importer_take(importer, e.fd);
	list = importer_list(importer);
	CHECK_EQ(list.head.count, GRANULE / (64 * KIB));
	free(list.segments);
	close(importer);
	importer = importer_open(vrnic_pci(0), IMPORTER_PINNED, NULL);
	importer_take(importer, e.fd);
	list = importer_list(importer);
	CHECK_EQ(list.head.count, 1);
	free(list.segments);
	close(importer);
	exported_end(&e);
}

/* Bits of the largest DMA mask that ends before the BAR's last byte. */
static unsigned int bits_short_of(const struct exported *e)
{
	return 63 - __builtin_clzll(e->physical + e->size - 1);
}

/* Most functions that do not reach have 32. */
static unsigned int bits_too_few(const struct exported *e)
{
	unsigned int bits = bits_short_of(e);

	return bits < 32 ? bits : 32;
}

static void check_out_of_reach(int importer, const struct exported *e, unsigned int bits)
{
	int mark = kmsg_mark(), ret = importer_attach(importer, e->fd);
	struct importer_list list;

	if (importer_state(importer).translated) {
		CHECK_EQ(ret, 0);
		CHECK_EQ(importer_do(importer, IMPORTER_MAP), 0);
		list = importer_list(importer);
		CHECK(list.segments[0].address + e->size <= 1ULL << bits);
		free(list.segments);
		check_mapping(importer, e);
	} else {
		CHECK_EQ(ret, -ERANGE);
		CHECK_EQ(kmsg_count(mark, "vpeer.*DMA mask", NULL, 0), 1);
	}
	close(mark);
}

/* Without translation a function must form the BAR's address. */
static void check_dma_mask(unsigned int vrnic)
{
	struct importer_setup setup = { 0 };
	struct exported e;
	int importer;

	exported_begin(&e, GRANULE);
	setup.mask_bits = bits_too_few(&e);
	importer = importer_open(vrnic_pci(vrnic), IMPORTER_DYNAMIC, &setup);
	check_out_of_reach(importer, &e, setup.mask_bits);
	close(importer);
	setup.mask_bits = bits_short_of(&e) + 1;
	importer = importer_open(vrnic_pci(vrnic), IMPORTER_DYNAMIC, &setup);
	importer_take(importer, e.fd);
	check_mapping(importer, &e);
	close(importer);
	exported_end(&e);
}

TEST(dma_mask, 30)
{
	check_dma_mask(0);
}

static bool translated(unsigned int vrnic)
{
	int importer = importer_open(vrnic_pci(vrnic), IMPORTER_DYNAMIC, NULL);
	bool translates = importer_state(importer).translated;

	close(importer);
	return translates;
}

/* Where there is an IOMMU, it is to let this function's addresses through. */
TEST(dma_mask_without_translation, 30)
{
	char path[128], type[32];
	bool changed = translated(1);

	vrnic_unbind(1);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group/type", vrnic_pci(1));
	if (changed) {
		CHECK(sysfs_read(path, type, sizeof(type)));
		CHECK(sysfs_write(path, "identity"));
	}
	CHECK(!translated(1));
	check_dma_mask(1);
	if (changed)
		CHECK(sysfs_write(path, type));
	CHECK_EQ(translated(1), changed);
	CHECK(vrnic_bind(1));
	vrnic_wait(1);
}

/* Whom it is imported for need not have a driver. */
TEST(function_without_driver, 30)
{
	struct exported e;
	int importer;

	exported_begin(&e, GRANULE);
	vrnic_unbind(1);
	importer = importer_open(vrnic_pci(1), IMPORTER_DYNAMIC, NULL);
	importer_take(importer, e.fd);
	check_mapping(importer, &e);
	CHECK_OK(window_revoke(e.owner, e.window, 1000, NULL));
	importer_check_state(importer, 1, false, false);
	close(importer);
	CHECK(vrnic_bind(1));
	vrnic_wait(1);
	exported_end(&e);
}

static void check_maps(const struct exported *e, unsigned int maps)
{
	CHECK_EQ(aperture_stat("dmabuf_maps"), maps);
	CHECK_EQ(aperture_stat("dmabuf_bytes_mapped"), maps * e->size);
	CHECK_EQ(window_info(e->owner, e->window).mapped_bytes, maps * e->size);
}

/* Of two functions, and one of them twice. */
TEST(several_importers, 30)
{
	const unsigned int functions[] = { 0, 1, 0 };
	int importers[ARRAY_SIZE(functions)];
	struct exported e;

	exported_begin(&e, GRANULE);
	check_maps(&e, 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(functions); i++) {
		importers[i] = importer_open(vrnic_pci(functions[i]), IMPORTER_DYNAMIC, NULL);
		importer_take(importers[i], e.fd);
		check_maps(&e, i + 1);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(functions); i++)
		check_mapping(importers[i], &e);
	CHECK_EQ(importer_do(importers[0], IMPORTER_UNMAP), 0);
	check_maps(&e, 2);
	CHECK_EQ(importer_do(importers[0], IMPORTER_DETACH), 0);
	check_mapping(importers[1], &e);
	check_mapping(importers[2], &e);
	close(importers[1]);
	check_maps(&e, 1);
	check_mapping(importers[2], &e);
	close(importers[2]);
	check_maps(&e, 0);
	close(importers[0]);
	exported_end(&e);
}

/* Two dma-bufs of the same bytes. */
TEST(exported_twice, 30)
{
	struct exported e, again;
	int first, second;

	exported_begin(&e, GRANULE);
	again = e;
	again.fd = dmabuf_export(e.owner, e.offset, e.size);
	CHECK_EQ(aperture_stat("dmabufs"), 2);
	first = importer_open(vrnic_pci(0), IMPORTER_DYNAMIC, NULL);
	second = importer_open(vrnic_pci(0), IMPORTER_PINNED, NULL);
	importer_take(first, e.fd);
	importer_take(second, again.fd);
	check_mapping(first, &e);
	check_mapping(second, &again);
	check_maps(&e, 2);
	close(again.fd);
	close(first);
	check_mapping(second, &e);
	check_maps(&e, 1);
	close(second);
	CHECK_WITHIN(aperture_stat("dmabufs") == 1, 5000);
	exported_end(&e);
}

/* Importers keep a dma-buf, and it the window, when all descriptors are gone. */
TEST(importer_keeps_the_window, 30)
{
	struct exported e;
	int importer, other;

	exported_begin(&e, GRANULE);
	importer = importer_open(vrnic_pci(0), IMPORTER_DYNAMIC, NULL);
	importer_take(importer, e.fd);
	close(e.fd);
	close(e.owner);
	check_mapping(importer, &e);
	other = aperture_open();
	CHECK_ERRNO(window_alloc_at(other, e.window, GRANULE, NULL), EBUSY);
	close(importer);
	CHECK_WITHIN(!window_alloc_at(other, e.window, GRANULE, NULL), 5000);
	e.owner = other;
	e.fd = open("/dev/null", O_RDONLY);
	exported_end(&e);
}

static void allow_pinned(bool allowed)
{
	module_parameter("allow_pinned_importers", allowed);
}

/* Linux tells who can be told from 7.1 on at attach, before that by how it maps. */
static int try_pinned(int importer, int dmabuf)
{
	return importer_attach(importer, dmabuf) ?: importer_do(importer, IMPORTER_MAP);
}

TEST(pinned_importers_not_allowed, 30)
{
	int importer, mark = kmsg_mark();
	struct exported e;

	exported_begin(&e, GRANULE);
	allow_pinned(false);
	importer = importer_open(vrnic_pci(0), IMPORTER_PINNED, NULL);
	CHECK_EQ(try_pinned(importer, e.fd), -EPERM);
	close(importer);
	CHECK_EQ(kmsg_count(mark, "vpeer.*allow_pinned_importers is off; set", NULL, 0), 1);
	check_maps(&e, 0);
	importer = importer_open(vrnic_pci(0), IMPORTER_DYNAMIC, NULL);
	importer_take(importer, e.fd);
	check_mapping(importer, &e);
	close(importer);
	if (importer_can_revoke(vrnic_pci(0))) {
		importer = importer_open(vrnic_pci(0), IMPORTER_REVOCABLE, NULL);
		importer_take(importer, e.fd);
		check_mapping(importer, &e);
		close(importer);
	}
	allow_pinned(true);
	importer = importer_open(vrnic_pci(0), IMPORTER_PINNED, NULL);
	CHECK_EQ(try_pinned(importer, e.fd), 0);
	check_mapping(importer, &e);
	close(importer);
	close(mark);
	exported_end(&e);
}
