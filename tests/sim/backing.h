/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that QEMU gave, each mapped once for all that refer to it. */
#ifndef SIM_BACKING_H
#define SIM_BACKING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct backing {
	uint8_t *bytes;
	uint64_t size;
	bool writable;
	bool is_memory;		/* the guest's RAM, not a peer's BAR */
	unsigned int users;
	dev_t device;
	ino_t inode;
	struct backing *next;
};

/* The descriptor stays the caller's. NULL: errno tells. */
struct backing *backing_get(int fd);
void backing_hold(struct backing *backing);
void backing_put(struct backing *backing);

#endif
