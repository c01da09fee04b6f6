/* SPDX-License-Identifier: GPL-2.0-only */
/* The lab's software RDMA functions. */
#ifndef HARNESS_VRNIC_H
#define HARNESS_VRNIC_H

#include <stdbool.h>
#include <stdint.h>

/* The RDMA device, and the PCI address, of number N; skips the case if there are not so many. */
const char *vrnic_device(unsigned int number);
const char *vrnic_pci(unsigned int number);

/* How the driver takes dma-bufs from then on: dynamic, revocable or pinned. */
void vrnic_dmabuf_mode(const char *mode);

/* Some kernels give drivers no way to hear that memory is taken away. */
bool vrnic_can_revoke(void);

/* Does vpeer tell it of a revocation in this mode? */
bool vrnic_is_told(const char *mode);

/* Its driver lets go of it, takes it again, or both. */
void vrnic_unbind(unsigned int number);
bool vrnic_bind(unsigned int number);	/* false: it was refused */
void vrnic_bind_again(unsigned int number);

/* The longest segments that number 0's driver takes from then on, 0 for any; binds it again. */
void vrnic_segments(uint32_t bytes);

/* Waits until its RDMA device is there. */
void vrnic_wait(unsigned int number);

/* A module beside the driver, if its node is not there yet. */
void vrnic_load(const char *module, const char *node);

#endif /* HARNESS_VRNIC_H */
