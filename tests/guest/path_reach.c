// SPDX-License-Identifier: GPL-2.0-only
/* The reasons of path reports are those that importers meet. Needs the device models. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "exported.h"
#include "harness.h"
#include "importer.h"
#include "path.h"
#include "vrnic.h"

#define ROUNDS	10

/* The last granule of the aperture, whose address is the highest. */
static void export_end(struct exported *e)
{
	exported_attach();
	exported_make(e, aperture_stat("size") - GRANULE, GRANULE, 0, GRANULE);
}

/* Bits of the largest DMA mask that ends before it, or of the least that the kernel takes. */
static unsigned int bits_short_of(const struct exported *e)
{
	return 63 - __builtin_clzll(e->physical + e->size - 1);
}

/* Under a mask of so many bits the report and the DMA-buf must say the same. */
static uint32_t both_say(unsigned int vrnic, const struct exported *e, unsigned int bits)
{
	struct importer_setup setup = { .mask_bits = bits };
	int importer = importer_open(vrnic_pci(vrnic), IMPORTER_DYNAMIC, &setup);
	int ret = importer_attach(importer, e->fd);
	struct vpeer_path_report report = path_ask(e->owner, vrnic_pci(vrnic));

	path_check(&report, aperture_pci(), vrnic_pci(vrnic), VPEER_REASON_NONE);
	CHECK_EQ(report.initiator.dma_mask, UINT64_MAX >> (64 - bits));
	printf("%u bits: attach %d, reason %u\n", bits, ret, report.dmabuf_reason);
	CHECK_EQ(ret, report.dmabuf_reason == VPEER_REASON_NONE ? 0 : -ERANGE);
	close(importer);
	return report.dmabuf_reason;
}

static void check_masks(unsigned int vrnic, bool translated)
{
	struct exported e;

	export_end(&e);
	CHECK_EQ(both_say(vrnic, &e, bits_short_of(&e)),
		 translated ? VPEER_REASON_NONE : VPEER_REASON_DMA_MASK);
	CHECK_EQ(both_say(vrnic, &e, bits_short_of(&e) + 1), VPEER_REASON_NONE);
	CHECK_EQ(both_say(vrnic, &e, 64), VPEER_REASON_NONE);
	exported_end(&e);
}

static uint32_t iommu_of(unsigned int vrnic)
{
	struct vpeer_path_report report;
	struct exported e;

	export_end(&e);
	report = path_ask(e.owner, vrnic_pci(vrnic));
	exported_end(&e);
	return report.initiator.iommu;
}

static bool translates(uint32_t iommu)
{
	return iommu == VPEER_IOMMU_DMA || iommu == VPEER_IOMMU_DMA_LAZY;
}

TEST(mask, 60)
{
	check_masks(0, translates(iommu_of(0)));
}

static void bind(unsigned int vrnic)
{
	CHECK(vrnic_bind(vrnic));
	vrnic_wait(vrnic);
}

static void set_type(unsigned int vrnic, const char *type)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group/type",
		 vrnic_pci(vrnic));
	vrnic_unbind(vrnic);
	CHECK(sysfs_write(path, type));
	bind(vrnic);
}

/* Its IOMMU is to let addresses through, then to translate them again. */
TEST(mask_without_translation, 120)
{
	uint32_t iommu = iommu_of(1);

	if (!translates(iommu))
		test_skip("no translating IOMMU, so that 'mask' has shown it");
	set_type(1, "identity");
	CHECK_EQ(iommu_of(1), VPEER_IOMMU_IDENTITY);
	check_masks(1, false);
	set_type(1, "DMA");
	CHECK_EQ(iommu_of(1), VPEER_IOMMU_DMA);
	check_masks(1, true);
	if (iommu != VPEER_IOMMU_DMA)
		set_type(1, "DMA-FQ");
	CHECK_EQ(iommu_of(1), iommu);
}

TEST(driver_comes_and_goes, 60)
{
	struct vpeer_path_report report;
	struct exported e;

	export_end(&e);
	CHECK_EQ(path_ask(e.owner, vrnic_pci(0)).dmabuf_reason, VPEER_REASON_NONE);
	vrnic_unbind(0);
	report = path_ask(e.owner, vrnic_pci(0));
	CHECK_EQ(report.dmabuf_reason, VPEER_REASON_NO_DMA_DRIVER);
	CHECK_EQ(report.pages_reason, VPEER_REASON_NO_DMA_DRIVER);
	CHECK_EQ(report.initiator.driver[0], 0);
	path_check(&report, aperture_pci(), vrnic_pci(0), VPEER_REASON_NONE);
	bind(0);
	CHECK_EQ(path_ask(e.owner, vrnic_pci(0)).dmabuf_reason, VPEER_REASON_NONE);
	exported_end(&e);
}

static void come_and_go(void)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		vrnic_unbind(1);
		bind(1);
	}
	_exit(0);
}

/* Whatever a report says was so at one moment. */
TEST(driver_comes_and_goes_meanwhile, 120)
{
	unsigned int with = 0, without = 0;
	struct vpeer_path_report report;
	struct exported e;
	int status = 0;
	pid_t pid;

	export_end(&e);
	pid = test_fork();
	if (!pid)
		come_and_go();
	while (!waitpid(pid, &status, WNOHANG)) {
		report = path_ask(e.owner, vrnic_pci(1));
		if (*report.initiator.driver) {
			CHECK_EQ(report.dmabuf_reason, VPEER_REASON_NONE);
			with++;
		} else {
			CHECK_EQ(report.dmabuf_reason, VPEER_REASON_NO_DMA_DRIVER);
			without++;
		}
	}
	CHECK_EQ(status, 0);
	printf("%u reports with driver, %u without\n", with, without);
	CHECK(with && without);
	exported_end(&e);
}
