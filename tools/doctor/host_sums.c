// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What all functions lack: that is no matter of one of them, but of how the host was set up, so
 * it is told once here, and not by the checks of functions.
 */
#include <stdio.h>

#include "../util.h"
#include "device.h"
#include "host.h"

static const struct function *first(const struct site *site, device_kind *is)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (is(site, &site->functions[i]))
			return &site->functions[i];
	return NULL;
}

/* What is missing at the first one that has the capability, else at the first. */
static const struct function *for_remedy(const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (device_is_rdma(site, &site->functions[i]) &&
		    site->functions[i].ats.presence == ABSENT)
			return &site->functions[i];
	return first(site, device_is_rdma);
}

void check_host_ats(struct findings *all, const struct site *site)
{
	if (!all_lack_ats(site))
		return;
	finding_add(all, "host-ats", "machine");
	for (size_t i = 0; i < site->function_count; i++)
		if (device_is_rdma(site, &site->functions[i]))
			device_saw(all, &site->functions[i], "config",
				   site->functions[i].ats.presence == ABSENT ? "no ATS" :
									       "ATSCtl Enable-");
	finding_says(all, STATE_WARN, "ATS is on in none of the %zu RDMA functions: all peer "
		     "requests go by the root complex; others measured half the bandwidth then",
		     device_count(site, device_is_rdma));
	remedy_ats(all, site, for_remedy(site));
}

void check_host_rebar(struct findings *all, const struct site *site)
{
	char text[BYTES_LEN];

	if (!all_have_small_bars(site))
		return;
	finding_add(all, "host-rebar", "machine");
	for (size_t i = 0; i < site->function_count; i++)
		if (device_has_small_bar(site, &site->functions[i]))
			device_saw(all, &site->functions[i], "resource",
				   format_bytes(device_aperture(&site->functions[i])->size, text));
	finding_says(all, STATE_WARN, "BAR1 of each of %zu NVIDIA GPUs is 256 MiB or less: their "
		     "BARs were not resized, so registrations beyond that are refused",
		     device_count(site, device_has_small_bar));
	remedy_small_bar(all, site);
}

void check_host_numa(struct findings *all, const struct site *site)
{
	size_t shown = 0;

	if (!all_lack_node(site))
		return;
	finding_add(all, "host-numa", "machine");
	for (size_t i = 0; i < site->function_count; i++) {
		if (!device_is_either(site, &site->functions[i]))
			continue;
		device_saw(all, &site->functions[i], "numa_node", "-1");
		shown++;
	}
	finding_says(all, STATE_WARN, "the machine has %zu nodes, and none of its %zu functions is "
		     "on one: programs cannot tell which GPU and NIC are near", machine_nodes(site),
		     shown);
	if (machine_shows_functions(site))
		finding_remedy(all, job_vm, "a pxb-pcie for each node (QEMU: '-device "
			       "pxb-pcie,numa_node=N'), with root ports for the functions of that "
			       "node, as 'vpeer host xml' lays out");
	else if (machine_is_guest(site))
		finding_remedy(all, job_guest, "a topology file for NCCL ('vpeer topo "
			       "--nccl-xml'), or 'echo N > numa_node' of each function");
	else
		finding_remedy(all, job_setup, "update the firmware, or switch NUMA (not "
			       "interleaving) on in its setup");
}
