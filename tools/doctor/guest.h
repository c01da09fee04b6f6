/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of the guest as a whole, a file each. */
#ifndef DOCTOR_GUEST_H
#define DOCTOR_GUEST_H

#include "check.h"

doctor_check check_hypervisor;

#endif /* DOCTOR_GUEST_H */
