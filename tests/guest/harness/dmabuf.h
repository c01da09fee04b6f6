/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of windows as DMA-bufs. */
#ifndef DMABUF_H
#define DMABUF_H

#include <stdint.h>

/* Descriptor of a new DMA-buf of a window's bytes. */
int dmabuf_export(int fd, uint64_t offset, uint64_t size);

/* As the ioctl: its descriptor, or -1 and errno. @reason may be NULL. */
int dmabuf_try(int fd, uint64_t offset, uint64_t size, uint32_t *reason);

uint64_t dmabuf_size(int dmabuf);

/* Offsets count from the start of the DMA-buf. */
void *dmabuf_map(int dmabuf, uint64_t offset, uint64_t size);

/* DMA_BUF_IOCTL_SYNC: -1 and errno. */
int dmabuf_sync(int dmabuf, uint64_t flags);

/* Neither mapped any more nor synchronized. */
void dmabuf_check_dead(int dmabuf);

/* Of this process: open ones, and numbers that a call reserved and did not give back. */
unsigned int descriptors(void);

#endif /* DMABUF_H */
