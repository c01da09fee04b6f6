/* SPDX-License-Identifier: GPL-2.0-only */
/* The lab's software GPU, driven through its registers. */
#ifndef HARNESS_VGPU_H
#define HARNESS_VGPU_H

#include <stdint.h>

#include "vgpu_regs.h"

struct vgpu {
	char pci[16];
	void *registers;
	uint8_t *aperture;	/* NULL while a driver has the function */
	uint64_t aperture_size;
	uint64_t memory_size;
	uint32_t page_size;
};

/* Number N of the lab's; skips the case if there are not so many. */
const char *vgpu_pci(unsigned int number);
void vgpu_open(struct vgpu *v, unsigned int number);
void vgpu_close(struct vgpu *v);

/* One whose driver is in user space and has the registers mapped. */
void vgpu_open_mapped(struct vgpu *v, unsigned int number, void *registers);

uint32_t vgpu_read(const struct vgpu *v, enum vgpu_register reg);
void vgpu_write(struct vgpu *v, enum vgpu_register reg, uint32_t value);
uint64_t vgpu_read64(const struct vgpu *v, enum vgpu_register reg);
void vgpu_write64(struct vgpu *v, enum vgpu_register reg, uint64_t value);

/* Runs it with the registers as they are; how it ended. */
enum vgpu_status vgpu_go(struct vgpu *v, enum vgpu_operation operation);

/* Each of these must succeed. Addresses are memory's, the owner's own. */
void vgpu_fill(struct vgpu *v, uint64_t destination, uint64_t length, uint64_t pattern);
void vgpu_copy(struct vgpu *v, uint64_t source, uint64_t destination, uint64_t length);
uint64_t vgpu_checksum(struct vgpu *v, uint64_t source, uint64_t length);
uint64_t vgpu_compare(struct vgpu *v, uint64_t source, uint64_t destination, uint64_t length);
uint32_t vgpu_alloc(struct vgpu *v, uint32_t count);
void vgpu_free(struct vgpu *v, uint32_t page, uint32_t count);
void vgpu_map(struct vgpu *v, uint32_t page, uint32_t aperture_page, uint32_t count);
void vgpu_unmap(struct vgpu *v, uint32_t aperture_page, uint32_t count);

/* The page of memory that the aperture shows there, or VGPU_NO_PAGE. */
uint32_t vgpu_mapped(struct vgpu *v, uint32_t aperture_page);

/* What VGPU_CHECKSUM gives for such bytes. */
uint64_t vgpu_sum_of(const void *bytes, uint64_t length);

#endif /* HARNESS_VGPU_H */
