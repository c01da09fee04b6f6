/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of what only the host can mend, as far as a guest sees it. */
#ifndef DOCTOR_HOST_H
#define DOCTOR_HOST_H

#include "check.h"

doctor_check check_host_ats, check_host_rebar, check_host_numa;
doctor_check check_host_acs, check_host_bar_mapping, check_host_topology;

#endif /* DOCTOR_HOST_H */
