/* SPDX-License-Identifier: GPL-2.0-only */
/* A PCI function driven from user space behind the IOMMU. */
#ifndef HARNESS_VFIO_H
#define HARNESS_VFIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vfio {
	int container;
	int group;
	int device;
	uint64_t bar0;		/* file offset of BAR 0 */
	char pci[16];
};

/* Binds vfio-pci; skips the case without IOMMU or driver. */
void vfio_open(struct vfio *v, const char *pci);
void vfio_close(struct vfio *v);

/* As the ioctls: -1 and errno. */
int vfio_map(struct vfio *v, const void *addr, uint64_t iova, uint64_t size);
int vfio_unmap(struct vfio *v, uint64_t iova, uint64_t size);

uint64_t vfio_read(struct vfio *v, uint64_t reg, unsigned int size);
void vfio_write(struct vfio *v, uint64_t reg, uint64_t value, unsigned int size);

/* Bytes of a BAR, until the caller unmaps them. The device stays open for as long. */
void *vfio_map_bar(struct vfio *v, unsigned int bar, uint64_t size);

/* Whether the device answers to accesses of its BARs. */
void vfio_memory(struct vfio *v, bool on);
void vfio_reset(struct vfio *v);

/* Part of a BAR as a DMA-buf: its descriptor, or -1 and errno. */
int vfio_dmabuf(struct vfio *v, unsigned int bar, uint64_t offset, uint64_t size);

#endif /* HARNESS_VFIO_H */
