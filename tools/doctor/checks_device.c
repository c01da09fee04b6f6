// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check.h"
#include "device.h"

doctor_check *const checks_device[] = {
	check_config_space,
	check_asleep,
	check_bound_driver,
	check_command,
	check_bar_assigned,
	check_bar_size,
	check_bar_address,
	check_bar_pages,
	check_bar_kind,
	check_dma_mask,
	check_ats,
	check_acs,
	check_relaxed_ordering,
	check_read_request,
	check_payload,
	check_pcie_link,
	check_iommu_domain,
	check_iommu_width,
	check_device_numa,
	check_clique,
	NULL,
};
