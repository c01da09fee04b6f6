// SPDX-License-Identifier: GPL-2.0-only
/* DMA-bufs in a guest booted with swiotlb=force, in which all DMA is bounced. */
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "importer.h"
#include "kmsg.h"
#include "path.h"
#include "refusal.h"

static void check_refused(const char *pci, int dmabuf, enum importer_mode mode)
{
	int importer = importer_open(pci, mode, NULL), mark = kmsg_mark();

	CHECK_EQ(importer_attach(importer, dmabuf), -EOPNOTSUPP);
	CHECK_EQ(kmsg_count(mark, "vpeer.*not imported.*swiotlb=force", NULL, 0), 1);
	close(mark);
	close(importer);
}

static void check_report(int owner, const char *pci)
{
	struct vpeer_path_report report = path_ask(owner, pci);

	path_check(&report, aperture_pci(), pci, VPEER_REASON_NONE);
	CHECK(report.facts & VPEER_PATH_BOUNCED);
	CHECK_EQ(report.dmabuf_reason, VPEER_REASON_SWIOTLB_FORCE);
	CHECK_EQ(report.pages_reason, VPEER_REASON_SWIOTLB_FORCE);
}

/* An aperture that was forced takes no importer, since what it moved would go elsewhere. */
TEST(import_is_refused, 30)
{
	const char *pci = getenv("VPEER_NVME_VF");
	int owner, dmabuf;

	need_function(pci);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, VPEER_ATTACH_FORCE, NULL));
	owner = aperture_open();
	CHECK_OK(window_alloc_at(owner, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(owner, 0, GRANULE);
	check_refused(pci, dmabuf, IMPORTER_DYNAMIC);
	check_refused(pci, dmabuf, IMPORTER_PINNED);
	check_report(owner, pci);
	close(dmabuf);
	close(owner);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}
