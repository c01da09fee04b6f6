// SPDX-License-Identifier: GPL-2.0-only
/*
 * CUDA memory of a GPU whose driver, in user space by VFIO, exports its BAR: vpeer's
 * module is not loaded. The GPU's own engine tells what is in the memory.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_reg.h"
#include "dmabuf.h"
#include "harness.h"
#include "module.h"
#include "vfio.h"

#define UNIT	CUDA_UNIT

static void begin(struct cuda_reg *t, struct vfio *v, struct vgpu *gpu)
{
	module_unload();
	cuda_reg_open(t);
	cuda_load();
	vfio_open(v, vgpu_pci(0));
	vgpu_open_mapped(gpu, 0, vfio_map_bar(v, 0, 4096));
	t->gpu = gpu;
	t->ordinal = cuda_add_vfio(v, gpu->aperture_size, &t->memory);
	cuda_use(t->ordinal);
	cuda_reg_context(t, NULL);
}

static void end(struct cuda_reg *t, struct vfio *v, struct vgpu *gpu)
{
	cuda_reg_end(t);
	munmap(t->memory, gpu->aperture_size);
	vgpu_close(gpu);
	vfio_close(v);
	module_load();
}

TEST(write_and_read, 60)
{
	struct vpeer_mr *mr;
	struct cuda_reg t;
	struct vgpu gpu;
	struct vfio v;
	uint64_t at;

	begin(&t, &v, &gpu);
	at = cuda_alloc(3 * UNIT);
	mr = cuda_reg_must(&t, at + 4096 + 8, 2 * UNIT, NULL);
	CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_DMABUF);
	cuda_reg_check(&t, at + 4096 + 8, vpeer_mr_rkey(mr), 2 * UNIT);
	cuda_reg_check_denied(&t, at + 4096 + 7, vpeer_mr_rkey(mr), 1);
	CHECK_EQ(vpeer_dereg(mr), 0);
	cuda_free(at);

	/* The same address, elsewhere in the BAR. */
	CHECK_EQ(cuda_alloc(3 * UNIT), at);
	mr = cuda_reg_must(&t, at + 4096 + 8, 2 * UNIT, NULL);
	cuda_reg_check(&t, at + 4096 + 8, vpeer_mr_rkey(mr), 2 * UNIT);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(cuda_reg_stats(&t).stale, 1);
	end(&t, &v, &gpu);
}
