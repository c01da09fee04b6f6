/* SPDX-License-Identifier: GPL-2.0-only */
/* Part of a window of the lab's first vgpu as dma-buf, to be imported. */
#ifndef HARNESS_EXPORTED_H
#define HARNESS_EXPORTED_H

#include <stdint.h>

struct exported {
	int owner;		/* open file of the window */
	int fd;			/* the dma-buf's */
	uint64_t window;	/* where it starts in the BAR */
	uint64_t window_size;
	uint64_t offset;	/* of the dma-buf in the BAR */
	uint64_t size;
	uint64_t physical;	/* address of its first byte for the CPU */
};

/* The vgpu's BAR becomes the aperture under test, attached anew. */
void exported_attach(void);

/* Its window at @window, and @size bytes at @offset in it as dma-buf. */
void exported_make(struct exported *e, uint64_t window, uint64_t window_size, uint64_t offset,
		   uint64_t size);

/* All of a window of this size. */
void exported_begin(struct exported *e, uint64_t size);

/* Closes both, waits for the aperture to be free again, and detaches. */
void exported_end(struct exported *e);

#endif /* HARNESS_EXPORTED_H */
