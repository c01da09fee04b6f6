// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "apertures.h"
#include "dmabuf.h"
#include "exported.h"
#include "harness.h"
#include "vgpu.h"

#define WINDOW	(4 * MIB)

void exported_attach(void)
{
	setenv("VPEER_AP_PCI", vgpu_pci(0), 1);
	/* A case before may have failed with it attached. */
	if (*aperture_node())
		CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_OK(control_attach(aperture_pci(), 2, 0, NULL));
}

void exported_make(struct exported *e, uint64_t window, uint64_t window_size, uint64_t offset,
		   uint64_t size)
{
	e->owner = aperture_open();
	e->window = window;
	e->window_size = window_size;
	e->offset = window + offset;
	e->size = size;
	e->physical = bar_start() + e->offset;
	CHECK_OK(window_alloc_at(e->owner, window, window_size, NULL));
	e->fd = dmabuf_export(e->owner, e->offset, size);
}

void exported_begin(struct exported *e, uint64_t size)
{
	exported_attach();
	exported_make(e, WINDOW, size, 0, size);
}

void exported_end(struct exported *e)
{
	close(e->fd);
	close(e->owner);
	CHECK_WITHIN(aperture_all_free(), 5000);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}
