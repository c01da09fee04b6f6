/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of the guest as a whole, a file each. */
#ifndef DOCTOR_GUEST_H
#define DOCTOR_GUEST_H

#include "check.h"

doctor_check check_hypervisor;

/*
 * Which hypervisor firmware's tables name, and in which file of sys/class/dmi/id: NULL where
 * they name none, or cannot be read.
 */
const char *firmware_hypervisor(const struct site *site, const char **file);

#endif /* DOCTOR_GUEST_H */
