// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check.h"
#include "guest.h"

doctor_check *const checks_guest[] = {
	check_hypervisor,
	NULL,
};
