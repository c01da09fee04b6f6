// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check.h"
#include "host.h"

doctor_check *const checks_host[] = {
	check_host_ats,
	check_host_acs,
	check_host_bar_mapping,
	check_host_topology,
	check_host_rebar,
	check_host_numa,
	NULL,
};
