/* SPDX-License-Identifier: GPL-2.0-only */
/* A dma-buf of ordinary memory. */
#ifndef UDMABUF_H
#define UDMABUF_H

#include <stddef.h>

/* Its descriptor; *memory is the same memory. Skips the case where the kernel has none. */
int udmabuf_make(size_t size, void **memory);

#endif /* UDMABUF_H */
