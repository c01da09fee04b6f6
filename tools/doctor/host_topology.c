// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How the VMM placed functions in the guest's PCI tree. */
#include <stdlib.h>
#include <string.h>

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

/* NCCL takes the file from its environment or from its own file of settings. */
static bool has_topology_file(const struct site *site)
{
	char text[4096];

	return site_variable(site, "NCCL_TOPO_FILE") ||
	       (!site_text(site, text, sizeof(text), "etc/nccl.conf") &&
		strstr(text, "NCCL_TOPO_FILE"));
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

static void say_near(struct findings *all, const struct site *site)
{
	struct path *paths;
	size_t count = device_paths(site, &paths);

	free(paths);
	if (count)
		finding_says(all, STATE_OK, "GPUs and NICs have bridges in common, as the guest "
			     "sees it; how near they are is not measured, see vpeer-bench(1)");
	else if (has_topology_file(site))
		finding_says(all, STATE_OK, "the guest sees no bridge that GPUs and NICs have in "
			     "common, and NCCL has a topology file for that");
	else
		finding_says(all, STATE_OK, "the guest sees no bridge that GPUs and NICs have in "
			     "common: by itself NCCL takes them for too far apart; 'vpeer topo "
			     "--nccl-xml' writes a topology file");
}

/* Whoever shows each function on a bus of its own has a topology file for NCCL. */
static void say_hyperv(struct findings *all, const struct site *site)
{
	if (has_topology_file(site)) {
		finding_says(all, STATE_OK, "each function has a host bridge of its own, and NCCL "
			     "a topology file for that");
		return;
	}
	finding_says(all, STATE_WARN, "Hyper-V shows each function below a host bridge of its own, "
		     "and NCCL_TOPO_FILE is not set: NCCL takes GPUs and NICs for too far apart");
	finding_remedy(all, job_user, "NCCL_TOPO_FILE=FILE, of the image "
		       "(/opt/microsoft/*-topo.xml) or by 'vpeer topo --nccl-xml'; 'vpeer topo "
		       "--check FILE' compares it with this machine");
}

void check_host_topology(struct findings *all, const struct site *site)
{
	enum vmm vmm = machine_vmm(site);
	size_t flat = device_count(site, is_flat);

	if (vmm == VMM_NONE || !device_count(site, device_is_memory) ||
	    !device_count(site, device_is_rdma))
		return;
	finding_add(all, "host-topology", "machine");
	saw_tree(all, site);
	if (vmm == VMM_HYPERV)
		say_hyperv(all, site);
	else if (vmm == VMM_KVM && flat > 1)
		say_flat(all, site, flat);
	else
		say_near(all, site);
}
