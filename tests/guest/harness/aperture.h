/* SPDX-License-Identifier: GPL-2.0-only */
/* The aperture under test: nodes, calls, counters, the owner's view. */
#ifndef APERTURE_H
#define APERTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "vpeer_ioctl.h"

/* PCI address of the aperture under test; skips the case without one. */
const char *aperture_pci(void);

/* Its node, "/dev/vpeerN"; "" while it is not attached. */
const char *aperture_node(void);

/* Where the function has several: N of /dev/vpeerN, or -1 for the first again. */
void aperture_choose(int number);

/* Each open is an owner of its own. */
int aperture_open(void);
int control_open(void);

/* One attribute of /sys/class/vpeer/vpeerN, or of a directory. */
uint64_t aperture_stat(const char *attribute);

/* No window holds anything, also none that drains. */
bool aperture_all_free(void);

uint64_t sysfs_u64(const char *dir, const char *attribute);
bool sysfs_read(const char *path, char *text, size_t size);
bool sysfs_write(const char *path, const char *text);

bool pci_bound(const char *pci);

/* How the function is reset from then on: a word of sysfs' reset_method. The second resets it so. */
void aperture_reset_by(const char *method);
void aperture_reset(const char *method);

/* As the ioctls: -1 and errno. @reason may be NULL. */
int control_attach(const char *pci, uint8_t bar, uint32_t flags, uint32_t *reason);
/* Returns N of the new node /dev/vpeerN. */
int control_attach_range(const char *pci, uint8_t bar, uint32_t flags,
			 uint64_t offset, uint64_t size, uint32_t *reason);
int control_detach(const char *pci, uint64_t *pinned, uint32_t *reason);

/* Bytes in ranges that the quarantine holds. */
uint64_t quarantine_bytes(void);

/* Sets a module parameter; the harness does not restore it. */
void module_parameter(const char *name, uint64_t value);

/* Windows. Offsets count from the start of the BAR. */
uint64_t window_alloc(int fd, uint64_t size);
int window_alloc_at(int fd, uint64_t offset, uint64_t size, uint32_t *reason);
int window_free(int fd, uint64_t offset);
int window_revoke(int fd, uint64_t offset, uint32_t timeout_ms, uint64_t *pinned);
struct vpeer_window_info window_info(int fd, uint64_t offset);
void *window_map(int fd, uint64_t offset, uint64_t size);

/*
 * The memory as its owner sees it, not through the BAR. Offsets as above.
 */
void owner_read(uint64_t offset, void *bytes, size_t size);
void owner_write(uint64_t offset, const void *bytes, size_t size);
uint64_t owner_sum(uint64_t offset, uint64_t size);
bool owner_is(uint64_t offset, const void *bytes, size_t size);

#endif /* APERTURE_H */
