/* SPDX-License-Identifier: GPL-2.0-only */
/* A vgpu's memory: its pages, who has them and where the aperture shows them. See vgpu_regs.h. */
#ifndef SIM_VGPU_MEMORY_H
#define SIM_VGPU_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define VGPU_PAGE_SIZE	65536ULL

struct vgpu_page {
	uint32_t aperture_page;	/* VGPU_NO_PAGE: not mapped */
	bool allocated;
};

struct vgpu_memory {
	uint32_t pages, aperture_pages;
	uint8_t *bytes;		/* of pages that are not mapped */
	uint8_t *aperture;
	int aperture_fd;
	struct vgpu_page *page;
	uint32_t *mapped;	/* by aperture page: the page of memory, or VGPU_NO_PAGE */
	uint32_t free_pages;
	uint64_t invalidations;
};

/* Sizes are multiples of the page's. 0 or -errno. */
int vgpu_memory_create(struct vgpu_memory *memory, uint64_t size, uint64_t aperture_size);
void vgpu_memory_destroy(struct vgpu_memory *memory);
int vgpu_memory_reset(struct vgpu_memory *memory);

/* The bytes at an address, wherever they are kept, up to the page's end. */
uint8_t *vgpu_memory_at(const struct vgpu_memory *memory, uint64_t address);

/* All give an enum vgpu_status; a bad argument changes nothing. */
int vgpu_memory_alloc(struct vgpu_memory *memory, uint32_t count, uint64_t *first);
int vgpu_memory_free(struct vgpu_memory *memory, uint32_t first, uint32_t count);
int vgpu_memory_map(struct vgpu_memory *memory, uint32_t first, uint32_t aperture_page,
		    uint32_t count);
int vgpu_memory_unmap(struct vgpu_memory *memory, uint32_t aperture_page, uint32_t count);

#endif
