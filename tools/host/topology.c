// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "topology.h"

#include <linux/pci_regs.h>
#include <string.h>

#include "../util.h"

const char *route_name(enum route route)
{
	static const char *const names[] = {
		[ROUTE_UNKNOWN] = "unknown",
		[ROUTE_DIRECT] = "direct",
		[ROUTE_ROOT] = "root-complex",
		[ROUTE_UNTRANSLATED] = "untranslated",
		[ROUTE_PORT] = "same-port",
	};

	return names[route];
}

bool is_acs_port(const struct function *bridge)
{
	return bridge->express.presence == PRESENT &&
	       (bridge->express.type == EXPRESS_ROOT_PORT ||
		bridge->express.type == EXPRESS_DOWNSTREAM);
}

static size_t shared_bridges(const struct function *a, const struct function *b)
{
	size_t shared = 0;

	while (shared < a->bridge_count && shared < b->bridge_count &&
	       !strcmp(a->bridges[shared], b->bridges[shared]))
		shared++;
	return shared;
}

static void add_side(struct path *path, bridge_finder *find, const void *place,
		     const struct function *side, size_t from)
{
	for (size_t i = from; i < side->bridge_count; i++) {
		const struct function *bridge = find(place, side->bridges[i]);

		if (bridge)
			path->bridges[path->bridge_count++] = bridge;
	}
}

static void decide(struct path *path, enum route route, const char *reason)
{
	path->route = route;
	text_format(path->reason, sizeof(path->reason), "%s", reason);
}

/* A request goes up through these; false after a decision. */
static bool judge_ports(struct path *path, size_t count)
{
	bool direct = true, blocked = false;

	for (size_t i = 0; i < count; i++) {
		const struct function *port = path->bridges[i];

		if (port->express.presence == NOT_READ || port->acs.presence == NOT_READ) {
			decide(path, ROUTE_UNKNOWN, config_missing(&port->config));
			return false;
		}
		if (!is_acs_port(port))
			continue;
		if (!(port->acs.ctl & PCI_ACS_RR)) {
			path->route = ROUTE_UNTRANSLATED;
			text_format(path->reason, sizeof(path->reason),
				    "%s does not redirect peer requests (%s)", port->pci,
				    port->acs.presence == PRESENT ? "ReqRedir-" :
								    "no ACS capability");
			return false;
		}
		direct &= !!(port->acs.ctl & PCI_ACS_DT);
		blocked |= !!(port->acs.ctl & PCI_ACS_TB);
	}
	if (blocked)
		decide(path, ROUTE_ROOT, "a port above the initiator has TransBlk+");
	else if (!direct)
		decide(path, ROUTE_ROOT, "a port above the initiator has DirectTrans-");
	return direct && !blocked;
}

static void judge_ats(struct path *path)
{
	const struct function *initiator = path->initiator;

	if (initiator->ats.presence == NOT_READ)
		decide(path, ROUTE_UNKNOWN, config_missing(&initiator->config));
	else if (initiator->ats.presence == ABSENT)
		decide(path, ROUTE_ROOT, "the initiator has no ATS capability");
	else if (!initiator->ats.enable)
		decide(path, ROUTE_ROOT, "ATS of the initiator is off (ATSCtl Enable-)");
	else
		decide(path, ROUTE_DIRECT, "DirectTrans+ above the initiator, ATSCtl Enable+");
}

void path_find(struct path *path, bridge_finder *find, const void *place)
{
	const struct function *memory = path->memory, *initiator = path->initiator;
	size_t shared = shared_bridges(memory, initiator), ports;

	add_side(path, find, place, initiator, shared);
	ports = path->bridge_count;
	add_side(path, find, place, memory, shared);
	if (strcmp(memory->root, initiator->root)) {
		decide(path, ROUTE_ROOT, "the host bridges differ");
	} else if (!shared) {
		decide(path, ROUTE_ROOT, "no bridge is above both: they meet in the root complex");
	} else {
		text_format(path->common, sizeof(path->common), "%s", memory->bridges[shared - 1]);
		if (shared == initiator->bridge_count || shared == memory->bridge_count)
			decide(path, ROUTE_PORT, "both are behind one port");
		else if (judge_ports(path, ports))
			judge_ats(path);
	}
}

static const struct function *of_host(const void *place, const char *pci)
{
	return host_bridge(place, pci);
}

size_t host_paths(const struct host *host, struct path **paths)
{
	size_t count = 0;

	*paths = NULL;
	for (size_t i = 0; i < host->function_count; i++) {
		for (size_t j = 0; j < host->function_count; j++) {
			struct path path = { .memory = &host->functions[i],
					     .initiator = &host->functions[j] };

			if (!function_is_memory(path.memory) ||
			    function_is_memory(path.initiator))
				continue;
			path_find(&path, of_host, host);
			*paths = xrealloc(*paths, count + 1, sizeof(path));
			(*paths)[count++] = path;
		}
	}
	return count;
}
