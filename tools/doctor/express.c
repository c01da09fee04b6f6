// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the control register of PCI Express allows a function: order, size of packets and of
 * reads. Those of a VF are its PF's, which a guest does not see. VFIO lets a guest change all of
 * them but the size of packets.
 */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "device.h"

#define BEST_READ_REQUEST	4096U
#define HIDDEN			"they are the PF's, which a guest does not see"

static const char *settings_of(const struct function *function)
{
	return function->sriov.physfn[0] ? function->sriov.physfn : function->pci;
}

static bool is_read(const struct function *function)
{
	return function->pf_express.presence == PRESENT;
}

static void begin(struct findings *all, const struct function *function, const char *check,
		  const char *value)
{
	finding_add(all, check, function->pci);
	finding_saw(all, value, "/sys/bus/pci/devices/%s/config", settings_of(function));
}

static bool is_ruled(const struct site *site, const struct function *function)
{
	return is_read(function) &&
	       (device_is_memory(site, function) || device_is_rdma(site, function));
}

static void ordering(struct findings *all, const struct site *site,
		     const struct function *function)
{
	bool relaxed = function->pf_express.relaxed_ordering;

	if (!is_ruled(site, function))
		return;
	begin(all, function, "relaxed-ordering", relaxed ? "DevCtl RlxdOrd+" : "DevCtl RlxdOrd-");
	if (device_hides_control(function)) {
		finding_says(all, STATE_OK, "a VF has no such bits: " HIDDEN);
	} else if (relaxed || device_is_emulated(function)) {
		finding_says(all, STATE_OK, relaxed ?
			     "it may relax the order of what asks for it" :
			     "it is emulated: there is no order to relax");
	} else {
		finding_says(all, STATE_WARN, "it may not relax the order, whatever a registration "
			     "asks for: peer writes of several NICs wait for each other");
		finding_remedy(all, job_guest, "'setpci -s %s CAP_EXP+8.w=0010:0010', unless the "
			       "kernel cleared it for this platform (see dmesg)",
			       settings_of(function));
	}
}

void check_relaxed_ordering(struct findings *all, const struct site *site)
{
	device_each(all, site, device_is_either, ordering);
}

static void reads(struct findings *all, const struct site *site, const struct function *function)
{
	unsigned int bytes = function->pf_express.read_request;
	char text[64];

	if (!is_ruled(site, function) || device_is_memory(site, function))
		return;
	text_format(text, sizeof(text), "DevCtl MaxReadReq %u", bytes);
	begin(all, function, "max-read-request", text);
	if (device_hides_control(function)) {
		finding_says(all, STATE_OK, "a VF has no such bits: " HIDDEN);
	} else if (bytes >= BEST_READ_REQUEST || device_is_emulated(function)) {
		finding_says(all, STATE_OK, "reads ask for up to %u bytes at once%s", bytes,
			     device_is_emulated(function) ? "; it is emulated" : "");
	} else {
		finding_says(all, STATE_WARN, "reads of peers ask for %u bytes at once only, of "
			     "%u that are allowed: slower", bytes, BEST_READ_REQUEST);
		finding_remedy(all, machine_is_guest(site) ? job_guest : job_host,
			       "'setpci -s %s CAP_EXP+8.w=5000:7000' (4096 bytes) after each reset "
			       "and start of the driver", settings_of(function));
	}
}

void check_read_request(struct findings *all, const struct site *site)
{
	device_each(all, site, site_is_initiator, reads);
}

/* The first on the way whose packets are of another size than the initiator's; NULL for none. */
static const struct function *odd_one(const struct path *path)
{
	unsigned int from = path->initiator->pf_express.payload;

	for (size_t i = 0; i < path->bridge_count; i++)
		if (path->bridges[i]->express.presence == PRESENT &&
		    path->bridges[i]->express.payload != from)
			return path->bridges[i];
	return is_read(path->memory) && path->memory->pf_express.payload != from ? path->memory :
										   NULL;
}

static const struct path *odd_path(const struct path *paths, size_t count,
				   const struct function *initiator)
{
	for (size_t i = 0; i < count; i++)
		if (paths[i].initiator == initiator && odd_one(&paths[i]))
			return &paths[i];
	return NULL;
}

static void check_sizes(struct findings *all, const struct function *initiator,
			const struct path *path)
{
	const struct function *odd = path ? odd_one(path) : NULL;
	char text[64];

	text_format(text, sizeof(text), "DevCtl MaxPayload %u", initiator->pf_express.payload);
	begin(all, initiator, "max-payload", text);
	if (!odd) {
		finding_says(all, STATE_OK, "packets of up to %u bytes, as at all peers below the "
			     "same switch", initiator->pf_express.payload);
		return;
	}
	text_format(text, sizeof(text), "DevCtl MaxPayload %u", odd->express.payload);
	device_saw(all, odd, "config", text);
	finding_says(all, path->route == ROUTE_ROOT ? STATE_WARN : STATE_FAIL,
		     "packets of up to %u bytes, but of %u at %s on the way to %s: one larger than "
		     "a receiver's is "
		     "malformed", initiator->pf_express.payload, odd->express.payload,
		     odd->pci, path->memory->pci);
	finding_remedy(all, job_host, "boot with pci=pcie_bus_safe, or with pci=pcie_bus_peer2peer "
		       "(128 bytes everywhere)");
}

/* A guest sees what VFIO makes up: packets are the host's matter. */
void check_payload(struct findings *all, const struct site *site)
{
	struct path *paths;
	size_t count;

	if (machine_is_guest(site))
		return;
	count = device_paths(site, &paths);
	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *initiator = &site->functions[i];

		if (!device_is_rdma(site, initiator) || !is_read(initiator) ||
		    device_is_given(site, initiator))
			continue;
		check_sizes(all, initiator, odd_path(paths, count, initiator));
	}
	free(paths);
}
