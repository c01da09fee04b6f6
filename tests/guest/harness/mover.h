/* SPDX-License-Identifier: GPL-2.0-only */
/* A dma-buf whose memory moves, or is revoked, when asked. */
#ifndef HARNESS_MOVER_H
#define HARNESS_MOVER_H

#include <stdint.h>

#include "../../hca/mover.h"

struct mover {
	int file;	/* the exporter's */
	int fd;		/* the dma-buf's */
};

/* Loads the exporter if need be. */
void mover_make(struct mover *m, uint32_t size);
void mover_close(struct mover *m);

/* One of MOVER_MOVE, MOVER_REVOKE, MOVER_RESTORE and MOVER_MAPPED: 0 or more, or -errno. */
int mover_do(const struct mover *m, unsigned long command);

/* The memory itself, without any importer; from MOVER_OLD on what it was before the last move. */
void mover_read(const struct mover *m, void *to, uint64_t at, uint32_t size);
void mover_write(const struct mover *m, const void *from, uint64_t at, uint32_t size);

#endif /* HARNESS_MOVER_H */
