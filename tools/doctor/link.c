// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whether links of PCI Express run as wide and as fast as the functions can. */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "device.h"

/* A VF in a guest has no link that shows: its speed is "Unknown", its width 0. */
static bool is_known(const struct function *function)
{
	const struct link *link = &function->link;

	return !device_is_emulated(function) && atof(link->speed) > 0 &&
	       atof(link->max_speed) > 0 && atoi(link->width) > 0 && atoi(link->max_width) > 0;
}

/* What has a wire above it: functions, and switches on a machine of its own. */
static bool has_wire(const struct site *site, const struct function *function)
{
	const struct express *express = &function->express;

	if (function_is_bridge(function))
		return !machine_is_guest(site) && express->presence == PRESENT &&
		       express->type == EXPRESS_UPSTREAM;
	return device_is_either(site, function);
}

static void saw(struct findings *all, const struct site *site, const struct function *function)
{
	static const char *const files[] = {
		"current_link_speed", "max_link_speed", "current_link_width", "max_link_width",
	};
	const char *pci = function->sriov.physfn[0] ? function->sriov.physfn : function->pci;

	finding_add(all, "pcie-link", function->pci);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		site_saw(all, site, "sys/bus/pci/devices/%s/%s", pci, files[i]);
}

static void one(struct findings *all, const struct site *site, const struct function *function)
{
	const struct link *link = &function->link;
	bool narrow, slow;

	if (!is_known(function))
		return;
	narrow = atoi(link->width) < atoi(link->max_width);
	slow = atof(link->speed) < atof(link->max_speed);
	saw(all, site, function);
	finding_says(all, STATE_OK, "%s x%s", link->speed, link->width);
	if (!narrow && slow && function_is_memory(function)) {
		finding_says(all, STATE_UNKNOWN, "the link runs at %s of %s: a GPU that is idle "
			     "lowers the speed, not the width, so this is well or not", link->speed,
			     link->max_speed);
		finding_remedy(all, job_user, "look again while the GPU is at work");
	} else if (narrow || slow) {
		finding_says(all, STATE_WARN, "the link runs at %s x%s of %s x%s", link->speed,
			     link->width, link->max_speed, link->max_width);
		finding_remedy(all, job_setup, "of the server: look at slot, riser and the "
			       "firmware's bifurcation");
	}
}

void check_pcie_link(struct findings *all, const struct site *site)
{
	device_each(all, site, has_wire, one);
}
