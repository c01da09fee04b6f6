// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check.h"

static void run(struct findings *all, const struct site *site, const char *group,
		void (*const checks[])(struct findings *all, const struct site *site))
{
	findings_group(all, group);
	for (size_t i = 0; checks[i]; i++)
		checks[i](all, site);
}

void doctor_check_all(struct findings *all, const struct site *site)
{
	run(all, site, "guest", checks_guest);
	run(all, site, "driver", checks_driver);
	run(all, site, "device", checks_device);
	run(all, site, "host", checks_host);
}
