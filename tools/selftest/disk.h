/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The disk that a name or a path stands for. */
#ifndef DISK_H
#define DISK_H

#include "initiator.h"

/*
 * @text: a path, whose links are followed, or a name in /dev. @name receives
 * the name below @sysfs/block of the disk with the node's device number. 0, or
 * a negative errno with @error filled for all that is no whole disk.
 */
int disk_resolve(const char *sysfs, const char *text, char *name, size_t size,
		 struct vpeer_error *error);

/*
 * Opens the disk's node below @dev and makes sure that it is this disk's. The
 * descriptor, or a negative errno with @error filled.
 */
int disk_open(const char *dev, const struct initiator *disk, int flags,
	      struct vpeer_error *error);

/* Reads or writes all bytes, in pieces; 0 or a negative errno. */
int disk_read(int fd, void *buffer, size_t length, uint64_t offset);
int disk_write(int fd, const void *buffer, size_t length, uint64_t offset);

#endif /* DISK_H */
