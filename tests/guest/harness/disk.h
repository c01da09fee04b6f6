/* SPDX-License-Identifier: GPL-2.0-only */
/* Disks that do DMA into windows. */
#ifndef DISK_H
#define DISK_H

/*
 * Opens the disk that an environment variable names, for O_DIRECT; skips the
 * case without one.
 */
int disk_open(const char *variable);

#endif /* DISK_H */
