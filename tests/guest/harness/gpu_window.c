// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "gpu_window.h"
#include "harness.h"

#define POISON_BYTE	0xa5
#define PARTS		4

void gpu_attach(unsigned int number, uint32_t flags)
{
	setenv("VPEER_AP_PCI", vgpu_pci(number), 1);
	if (!pci_bound(aperture_pci()))
		CHECK_OK(control_attach(aperture_pci(), 2, flags, NULL));
}

void gpu_window_open(struct gpu_window *w, unsigned int number, uint64_t at, uint64_t size)
{
	vgpu_open(&w->gpu, number);
	CHECK_EQ(vgpu_mapped(&w->gpu, at / w->gpu.page_size), at / w->gpu.page_size);
	w->fd = aperture_open();
	w->at = at;
	w->size = size;
	CHECK_OK(window_alloc_at(w->fd, at, size, NULL));
}

void gpu_window_close(struct gpu_window *w)
{
	close(w->fd);
	vgpu_close(&w->gpu);
}

void gpu_poison(struct gpu_window *w, uint64_t address, uint64_t size)
{
	if (size)
		vgpu_fill(&w->gpu, address, size, POISON_BYTE * 0x0101010101010101ULL);
}

bool gpu_is_poison(struct gpu_window *w, uint64_t address, uint64_t size)
{
	uint64_t sum = VGPU_FNV_BASIS;

	for (uint64_t at = 0; at < size; at++)
		sum = (sum ^ POISON_BYTE) * VGPU_FNV_PRIME;
	return !size || vgpu_checksum(&w->gpu, address, size) == sum;
}

void gpu_scribble(struct gpu_window *w, uint64_t address, uint64_t size)
{
	static const uint64_t patterns[PARTS] = {
		0x1122334455667788, 0x99aabbccddeeff11, 0x0102030405060708, 0x7172737475767778,
	};
	uint64_t done = 0, end;

	for (uint64_t i = 0; i < PARTS; i++, done = end) {
		end = size * (i + 1) / PARTS;
		if (end > done)
			vgpu_fill(&w->gpu, address + done, end - done, patterns[i]);
	}
}

bool gpu_holds(struct gpu_window *w, uint64_t address, const void *bytes, uint64_t size)
{
	return vgpu_checksum(&w->gpu, address, size) == vgpu_sum_of(bytes, size);
}
