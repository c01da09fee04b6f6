/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * QEMU's monitor, as /run/vpeer-lab/monitor and its kin have it, without the
 * time that shells take under emulation.
 */
#ifndef MONITOR_H
#define MONITOR_H

/* Skips the case where the lab offers none. */
void monitor_need(void);

/* A command of the human monitor that answers only when it fails. */
__attribute__((format(printf, 1, 2)))
void monitor_order(const char *format, ...);

/* Orders the removal of a device and waits until it is gone from QEMU. */
void monitor_remove(const char *device, unsigned int seconds);

/* A setting that the host made for this guest, such as lab_bar_size. */
const char *lab_setting(const char *name);

/* Did a host pass devices to this guest, and the host's PCI address of one? */
bool lab_passthrough(void);
const char *lab_passed(const char *name);

#endif /* MONITOR_H */
