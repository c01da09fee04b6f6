/* SPDX-License-Identifier: GPL-2.0-only */
/* A cell of tests/lab/matrix. */
#ifndef CELL_H
#define CELL_H

#include <stdbool.h>

struct cell {
	const char *kernel, *mode, *route, *level;
	char iommu[32];
	bool translated, lazy;	/* by the groups' type */
};

/*
 * Kernel, IOMMU and level of this guest. Fails the case where the IOMMU of a vrnic or of the GPU is not of
 * the kind and type that the lab was asked for.
 */
void cell_find(struct cell *cell);

/* The outcome, for who compares it with the table. */
__attribute__((format(printf, 2, 3)))
void cell_tell(const struct cell *cell, const char *format, ...);

#endif /* CELL_H */
