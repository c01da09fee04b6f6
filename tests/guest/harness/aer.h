/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI Express errors (AER). */
#ifndef AER_H
#define AER_H

/* Lets a device of QEMU report one: "port-ap0 SDN". Skips the case where the lab offers no monitor. */
void aer_inject(const char *error);

#endif /* AER_H */
