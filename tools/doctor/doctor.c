// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "../util.h"
#include "check.h"

static const struct {
	const char *name;
	doctor_check *const *checks;
} groups[] = {
	{ "guest", checks_guest },
	{ "driver", checks_driver },
	{ "device", checks_device },
	{ "host", checks_host },
};

void doctor_check_all(struct findings *all, const struct site *site)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		findings_group(all, groups[i].name);
		for (doctor_check *const *check = groups[i].checks; *check; check++)
			(*check)(all, site);
	}
}
