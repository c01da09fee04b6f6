// SPDX-License-Identifier: GPL-2.0-only
/* DMA-bufs in a guest booted with swiotlb=force, in which all DMA is bounced. */
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "importer.h"
#include "kmsg.h"
#include "refusal.h"

static void check_refused(const char *pci, int dmabuf, enum importer_mode mode)
{
	int importer = importer_open(pci, mode, NULL), mark = kmsg_mark();

	CHECK_EQ(importer_attach(importer, dmabuf), -EOPNOTSUPP);
	CHECK_EQ(kmsg_count(mark, "vpeer.*not imported.*swiotlb=force", NULL, 0), 1);
	close(mark);
	close(importer);
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
	close(dmabuf);
	close(owner);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}
