// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whether each function is on a NUMA node, and a GPU on that of an RDMA function. */
#include <string.h>

#include "../util.h"
#include "device.h"

static bool lacks(const struct site *site, const struct function *function)
{
	return device_is_either(site, function) && function->numa_node == NO_NODE;
}

bool all_lack_node(const struct site *site)
{
	size_t count = device_count(site, lacks);

	return count > 1 && count == device_count(site, device_is_either) &&
	       machine_nodes(site) > 1;
}

static bool is_on(const struct site *site, int node)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (site->functions[i].numa_node == node &&
		    device_is_rdma(site, &site->functions[i]))
			return true;
	return false;
}

/* Where NICs are. */
static bool any_on_node(const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (site->functions[i].numa_node != NO_NODE &&
		    device_is_rdma(site, &site->functions[i]))
			return true;
	return false;
}

static void no_node(struct findings *all, const struct site *site,
		    const struct function *function, size_t nodes)
{
	finding_says(all, STATE_WARN, "it is on no node (-1), though the machine has %zu: programs "
		     "cannot tell which GPU and NIC are near, and some fail", nodes);
	if (machine_shows_functions(site))
		finding_remedy(all, job_vm, "put it below a pxb-pcie of its node (QEMU: '-device "
			       "pxb-pcie,numa_node=N'), as 'vpeer host xml' does; until then 'echo "
			       "N > /sys/bus/pci/devices/%s/numa_node'", function->pci);
	else
		finding_remedy(all, job_guest, "'echo N > /sys/bus/pci/devices/%s/numa_node', or a "
			       "topology file for NCCL", function->pci);
}

static void pair(struct findings *all, const struct site *site, const struct function *function)
{
	finding_says(all, STATE_WARN, "it is on node %d, and all RDMA functions are on others: "
		     "each peer request crosses the sockets", function->numa_node);
	if (machine_is_guest(site))
		finding_remedy(all, job_vm, "give the guest a VF of a NIC on the GPU's node, or "
			       "put both on the node where they are");
	else
		finding_remedy(all, job_setup, "of the server: a NIC in a slot of the GPU's "
			       "socket");
}

static void one(struct findings *all, const struct site *site, const struct function *function)
{
	size_t nodes = machine_nodes(site);

	if (nodes < 2)
		return;
	finding_add(all, "numa-node", function->pci);
	site_saw(all, site, "sys/bus/pci/devices/%s/numa_node", function->pci);
	if (function->numa_node == NO_NODE)
		no_node(all, site, function, nodes);
	else if (device_is_memory(site, function) && any_on_node(site) &&
		 !is_on(site, function->numa_node))
		pair(all, site, function);
	else
		finding_says(all, STATE_OK, "on node %d", function->numa_node);
}

/* Where all are on none, the host's check tells that once. */
void check_device_numa(struct findings *all, const struct site *site)
{
	if (!all_lack_node(site))
		device_each(all, site, device_is_either, one);
}
