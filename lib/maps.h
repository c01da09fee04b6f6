/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of a process's address space lies around a range: /proc/self/maps, read. */
#ifndef VPEER_MAPS_H
#define VPEER_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct vpeer_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;	/* of start, in the file */
	dev_t device;		/* of the file's inode; as stat() has it */
	uint64_t inode;		/* 0: no file */
	bool readable;
	bool writable;
	bool shared;
	char *path;		/* as in the file; empty for anonymous memory */
};

/*
 * Mappings that meet a range, in order, without a hole. Those of a file that go
 * on before and after it, with the file and with addresses, are there too.
 */
struct vpeer_maps {
	struct vpeer_mapping *mappings;
	size_t count;
	size_t room;
	size_t first;	/* the mapping that the range starts in */
	size_t last;	/* the one that it ends in */
};

/*
 * Of the process itself. 0; -EFAULT when part of the range is not mapped, and
 * @hole is set; -ENOMEM or what reading /proc gave. After an error there is nothing to free.
 */
int vpeer_maps_read(uint64_t start, uint64_t length, struct vpeer_maps *maps, uint64_t *hole);

/* The same of text in the format of /proc/PID/maps, from where @fd stands. */
int vpeer_maps_scan(int fd, uint64_t start, uint64_t length, struct vpeer_maps *maps,
		    uint64_t *hole);

/*
 * The same of the process whose maps file @fd is, without reading it: -ENOTTY where the
 * kernel is too old, -ENOENT when part of the range is not mapped, or another errno.
 */
int vpeer_maps_query(int fd, uint64_t start, uint64_t length, struct vpeer_maps *maps);

void vpeer_maps_free(struct vpeer_maps *maps);

/* Do the two lie side by side, in memory and in one file? */
bool vpeer_mapping_follows(const struct vpeer_mapping *before, const struct vpeer_mapping *after);

#endif /* VPEER_MAPS_H */
