/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/mover: each open file is the memory of one DMA-buf. */
#ifndef MOVER_H
#define MOVER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define MOVER_PATH	"/dev/mover"
#define MOVER_MAX_SIZE	(16u << 20)

/* Makes it, of whole pages, all zero; once a file. Returns its descriptor. */
#define MOVER_EXPORT	_IOW('M', 0, __u32)

/*
 * To other pages with the same bytes. EBUSY if an importer keeps it mapped; then nothing changed. The
 * pages before the last move are read at MOVER_OLD.
 */
#define MOVER_MOVE	_IO('M', 1)
#define MOVER_OLD	(1ULL << 40)

/* No one can map it until restored. EBUSY as above. */
#define MOVER_REVOKE	_IO('M', 2)
#define MOVER_RESTORE	_IO('M', 3)

/* How many mappings importers have. */
#define MOVER_MAPPED	_IO('M', 4)

#endif
