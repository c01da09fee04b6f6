/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Small reads of sysfs, procfs and debugfs; shared with the tool, not exported. */
#ifndef VPEER_SYSFS_H
#define VPEER_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vpeer_pci_address;

/*
 * All take the path as a printf() format and return 0 or a negative errno.
 * A path over PATH_MAX gives -ENAMETOOLONG.
 */

/* First @size - 1 bytes of a file, without trailing white space. */
int vpeer_sysfs_read(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A file that holds one unsigned number, decimal or 0x hexadecimal. */
int vpeer_sysfs_u64(uint64_t *value, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Last component of the target of a symbolic link. */
int vpeer_sysfs_link(char *name, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The PCI function nearest to a device: the last component of the resolved path
 * that is a PCI address. -ENOENT when there is none.
 */
int vpeer_sysfs_pci(struct vpeer_pci_address *pci, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* @name is a PCI address as sysfs writes it, with the domain. */
bool vpeer_sysfs_is_pci(const char *name, struct vpeer_pci_address *pci);

int vpeer_sysfs_write(const char *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

bool vpeer_sysfs_exists(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number and nothing else; the number must fit 64 bits and have no sign. */
int vpeer_parse_u64(const char *text, uint64_t *value);

#endif /* VPEER_SYSFS_H */
