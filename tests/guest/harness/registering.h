/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel does for a registration of this process, counted where it does it. */
#ifndef HARNESS_REGISTERING_H
#define HARNESS_REGISTERING_H

#include <stdint.h>

struct registering {
	unsigned int segments;	/* of a DMA-buf, as its importer gets them */
	unsigned int runs;	/* of pages, before they are mapped for DMA */
	unsigned int maps;	/* made in the IOMMU */
	uint64_t mapped;	/* bytes of them */
	uint64_t bounced;	/* bytes mapped through the kernel's bounce buffer */
};

/* Skips the case where the kernel cannot be looked at. */
void registering_begin(void);
void registering_end(void);

/* Counts between these two; nothing is recorded at other times, which are measured. */
void registering_start(void);
struct registering registering_stop(void);

#endif /* HARNESS_REGISTERING_H */
