// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How the VMM placed functions in the guest's PCI tree. */
#include <stdlib.h>

#include "../util.h"
#include "device.h"
#include "host.h"

static bool is_placed(const struct site *site, const struct function *function)
{
	return device_is_memory(site, function) || device_is_rdma(site, function);
}

static bool is_flat(const struct site *site, const struct function *function)
{
	return is_placed(site, function) && !function->bridge_count;
}

static void saw_tree(struct findings *all, const struct site *site)
{
	char text[64];

	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (!is_placed(site, function))
			continue;
		text_format(text, sizeof(text), "%s, %zu bridges above", function->root,
			    function->bridge_count);
		finding_saw(all, text, "/sys/bus/pci/devices/%s", function->pci);
	}
}

static void say_flat(struct findings *all, const struct site *site, size_t flat)
{
	finding_says(all, STATE_WARN, "%zu of %zu functions are on a root bus, as parts of the "
		     "root complex: the guest sees no link, no hot-plug, no node and no "
		     "distance", flat,
		     device_count(site, is_placed));
	finding_remedy(all, job_vm, "a pcie-root-port for each, or a switch for those that are "
		       "near each other on the host, below a pxb-pcie for each NUMA node: 'vpeer "
		       "host xml --topology switch' lays that out");
}

/* Whether NCCL has a file for that is told by the guest's check of it. */
static void say_near(struct findings *all, const struct site *site)
{
	struct path *paths;
	size_t count = device_paths(site, &paths);

	free(paths);
	finding_says(all, STATE_OK, "the guest sees %s bridge that a GPU and a NIC have in common; "
		     "how near they are on the host is not measured, see vpeer-bench(1)",
		     count ? "a" : "no");
}

void check_host_topology(struct findings *all, const struct site *site)
{
	size_t flat = device_count(site, is_flat);

	if (!machine_is_guest(site) || !device_count(site, device_is_memory) ||
	    !device_count(site, device_is_rdma))
		return;
	finding_add(all, "host-topology", "machine");
	saw_tree(all, site);
	if (site->vmm == VMM_KVM && flat > 1)
		say_flat(all, site, flat);
	else
		say_near(all, site);
}
