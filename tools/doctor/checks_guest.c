// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check.h"
#include "guest.h"

doctor_check *const checks_guest[] = {
	check_hypervisor,
	check_confidential,
	check_kernel,
	check_kernel_options,
	check_command_line,
	check_module,
	check_nodes,
	check_quarantine,
	check_memlock,
	check_users_memlock,
	check_open_files,
	check_container,
	check_settings,
	check_topology_file,
	check_kernel_log,
	NULL,
};
