// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "../util.h"
#include "driver.h"

void check_nouveau(struct findings *all, const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (strcmp(function->driver, "nouveau") != 0 || !site_is_memory(site, function))
			continue;
		finding_add(all, "nouveau", function->pci);
		finding_saw(all, function->driver, "/sys/bus/pci/devices/%s/driver", function->pci);
		finding_says(all, STATE_FAIL, "nouveau has it: CUDA does not work, and RDMA does "
			     "not reach its memory");
		finding_remedy(all, job_guest, "'blacklist nouveau' in /etc/modprobe.d, a new "
			       "initramfs, NVIDIA's driver, and reboot");
	}
}
