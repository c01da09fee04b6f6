/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A range of a block device that the user allows to be overwritten. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "../../lib/vpeer.h"

#define SCRATCH_MAX	(64ULL << 20)

struct scratch {
	char device[256];	/* path */
	uint64_t offset;
	uint64_t length;
	void *saved;		/* contents before the test */
};

/*
 * "/dev/nvme0n1:1M:4M"; 0, -EINVAL when malformed, -EFBIG when longer than
 * SCRATCH_MAX, -ERANGE when offset + length overflows.
 */
int scratch_parse(const char *text, struct scratch *scratch);

/* Both use direct I/O and return 0 or a negative errno with @error filled. */
int scratch_save(struct scratch *scratch, struct vpeer_error *error);

/* Writes the contents back, reads them again and compares; frees them. */
int scratch_restore(struct scratch *scratch, struct vpeer_error *error);

/* Reads or writes all bytes, in pieces; 0 or a negative errno. */
int disk_read(int fd, void *buffer, size_t length, uint64_t offset);
int disk_write(int fd, const void *buffer, size_t length, uint64_t offset);

#endif /* SCRATCH_H */
