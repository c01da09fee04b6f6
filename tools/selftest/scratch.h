/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A range of a block device that the user allows to be overwritten. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "initiator.h"

#define SCRATCH_MAX	(64ULL << 20)

struct scratch {
	char device[256];	/* path */
	uint64_t offset;
	uint64_t length;
	int fd;			/* held, so that nobody else claims the disk; else -1 */
	void *saved;		/* contents before the test */
};

/*
 * "/dev/nvme0n1:1M:4M"; 0, -EINVAL when malformed, -EFBIG when longer than
 * SCRATCH_MAX, -ERANGE when offset + length overflows.
 */
int scratch_parse(const char *text, struct scratch *scratch);

/* -EINVAL with @error filled unless the range is whole blocks of @disk. */
int scratch_check(const struct scratch *scratch, const struct initiator *disk,
		  struct vpeer_error *error);

/*
 * Claims @disk until scratch_close(); the children inherit the descriptor. All
 * three use direct I/O and return 0 or a negative errno with @error filled.
 */
int scratch_open(struct scratch *scratch, const struct initiator *disk,
		 struct vpeer_error *error);
void scratch_close(struct scratch *scratch);
int scratch_save(struct scratch *scratch, struct vpeer_error *error);

/* Writes the contents back, reads them again and compares; frees them. */
int scratch_restore(struct scratch *scratch, struct vpeer_error *error);

#endif /* SCRATCH_H */
