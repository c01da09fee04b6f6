/* SPDX-License-Identifier: GPL-2.0-only */
/* The lab's apertures as a whole: one that may leave, and how it does. */
#ifndef APERTURES_H
#define APERTURES_H

#include <stdint.h>

/* The number of the one that may leave. */
#define LEAVING		1

/*
 * Makes the second aperture the one under test; skips the case where the lab
 * has none or no monitor.
 */
void leaving_aperture(void);

/* A shell command of printf()'s form that must succeed within 30 s. */
__attribute__((format(printf, 1, 2)))
void step(const char *format, ...);

/* Takes the device out of the machine, and puts it back. */
void unplug(void);
void replug(void);

/*
 * Puts it back smaller and with a second function beside it; returns that
 * one's PCI address. unplug() takes both.
 */
const char *replug_with_sibling(void);
void sibling_forget(void);

/* As the kernel sees it, without QEMU. */
void sysfs_remove(void);
void sysfs_rescan(void);

/* Start of the BAR in the guest's address space, 0 while it has none. */
uint64_t bar_start(void);

/*
 * A function that came back while memory of the old one is still pinned: no
 * driver may have it, whatever its address.
 */
void check_held_back(void);

/*
 * Waits for the quarantine to end and attaches; finds the function anew where
 * the kernel had no room for its BAR beside the quarantine.
 */
void attach_again(void);

/* Bytes of the aperture's range that the next owner sees are zero. */
void check_next_owner(uint64_t offset, uint64_t size);

#endif /* APERTURES_H */
