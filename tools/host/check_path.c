// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/pci_regs.h>
#include <string.h>

#include "../util.h"
#include "check.h"

/* What the kernel asks of a port before it tells groups apart. */
#define ISOLATING	(PCI_ACS_SV | PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_UF)

static void name_bits(uint16_t mask, const char *sign, char *text, size_t size)
{
	text[0] = '\0';
	for (size_t i = 0; i < ACS_BITS; i++) {
		size_t length = strlen(text);

		if (mask & acs_bits[i].mask)
			text_format(text + length, size - length, "%s%s%s", length ? " " : "",
				    acs_bits[i].name, sign);
	}
}

/* Every bit that is on or could be, by lspci's signs. */
static void show_bits(const struct acs *acs, char *text, size_t size)
{
	size_t length;

	text_format(text, size, "ACSCtl");
	for (size_t i = 0; i < ACS_BITS; i++) {
		length = strlen(text);
		if ((acs->cap | acs->ctl) & acs_bits[i].mask)
			text_format(text + length, size - length, " %s%c", acs_bits[i].name,
				    acs->ctl & acs_bits[i].mask ? '+' : '-');
	}
	length = strlen(text);
	if (!(acs->cap | acs->ctl))
		text_format(text + length, size - length, ", ACSCap without any bit");
}

static void check_translated(struct findings *all, const struct function *port, bool ats)
{
	finding_says(all, ats ? STATE_FAIL : STATE_WARN, "TransBlk+: the port stops translated "
		     "requests%s", ats ? ", and an initiator below has ATS" :
		     "; none below has ATS yet");
	finding_remedy(all, job_host, "setpci -s %s ECAP_ACS+6.w=%04x, and boot without pci=noats",
		       port->pci, port->acs.ctl & (uint16_t)~PCI_ACS_TB);
}

static void check_acs_bits(struct findings *all, const struct function *port, bool ats)
{
	uint16_t missing = ISOLATING & port->acs.cap & (uint16_t)~port->acs.ctl;
	char text[128];

	if (missing) {
		name_bits(missing, "-", text, sizeof(text));
		finding_says(all, STATE_FAIL, "%s: peer requests are not all sent to the IOMMU, "
			     "so the functions below are not isolated", text);
		finding_remedy(all, job_host, "setpci -s %s ECAP_ACS+6.w=%04x, or config_acs at "
			       "boot; and boot without disable_acs_redir", port->pci,
			       (port->acs.ctl | missing) & (uint16_t)~PCI_ACS_TB);
		return;
	}
	if (port->acs.ctl & PCI_ACS_TB) {
		check_translated(all, port, ats);
		return;
	}
	if (port->acs.ctl & PCI_ACS_EC) {
		finding_says(all, STATE_WARN, "EgressCtrl+: the egress control vector decides "
			     "too, and is not judged here");
		finding_remedy(all, job_host, "setpci -s %s ECAP_ACS+6.w=%04x", port->pci,
			       port->acs.ctl & (uint16_t)~PCI_ACS_EC);
		return;
	}
	name_bits(port->acs.ctl, "+", text, sizeof(text));
	finding_says(all, STATE_OK, "%s", text[0] ? text :
		     "the port offers none of the bits that isolate, so the kernel asks for none");
}

static void saw_acs(struct findings *all, const struct host *host, const struct function *port)
{
	char text[160];

	if (port->acs.presence == PRESENT)
		show_bits(&port->acs, text, sizeof(text));
	else if (port->acs.presence == ABSENT)
		text_format(text, sizeof(text), "no ACS");
	else
		text_format(text, sizeof(text), "%zu bytes", port->config.length);
	finding_saw(all, text, "%s/bus/pci/devices/%s/config", host->place->sysfs, port->pci);
}

static void check_acs(struct findings *all, const struct host *host,
		      const struct function *port, bool ats)
{
	finding_add(all, "acs", port->pci);
	saw_acs(all, host, port);
	if (port->acs.presence == NOT_READ) {
		finding_says(all, STATE_UNKNOWN, "%s", config_missing(&port->config));
		finding_remedy(all, job_host, "run as root");
	} else if (port->acs.presence == ABSENT) {
		finding_says(all, STATE_WARN, "the port has no ACS capability: whether it "
			     "isolates is the kernel's knowledge of the model; see the groups");
	} else {
		check_acs_bits(all, port, ats);
	}
}

/* Whether an initiator below @port sends translated requests, or will. */
static bool is_above_ats(const struct path *paths, size_t count, const struct function *port)
{
	for (size_t i = 0; i < count; i++) {
		const struct function *initiator = paths[i].initiator;

		for (size_t j = 0; j < initiator->bridge_count; j++)
			if (!strcmp(initiator->bridges[j], port->pci) &&
			    initiator->ats.presence == PRESENT)
				return true;
	}
	return false;
}

static bool seen_before(const struct path *paths, size_t path, size_t bridge)
{
	const struct function *port = paths[path].bridges[bridge];

	for (size_t i = 0; i <= path; i++) {
		size_t end = i == path ? bridge : paths[i].bridge_count;

		for (size_t j = 0; j < end; j++)
			if (paths[i].bridges[j] == port)
				return true;
	}
	return false;
}

static void check_ports(struct findings *all, const struct host *host, const struct path *paths,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < paths[i].bridge_count; j++) {
			const struct function *port = paths[i].bridges[j];

			if (seen_before(paths, i, j))
				continue;
			if (port->express.presence == NOT_READ || is_acs_port(port))
				check_acs(all, host, port, is_above_ats(paths, count, port));
		}
	}
}

static void begin(struct findings *all, const struct path *path, const char *name)
{
	char object[2 * VPEER_PCI_LEN + 8];

	text_format(object, sizeof(object), "%s > %s", path->initiator->pci, path->memory->pci);
	finding_add(all, name, object);
}

static void judge_root(struct findings *all, const struct path *path)
{
	if (!path->common[0]) {
		finding_says(all, STATE_WARN, "by the root complex (%s); PCI Express leaves it "
			     "to the platform whether it forwards peer requests, and how fast",
			     path->reason);
		finding_remedy(all, job_setup, "use slots below one switch, if there is one; "
			       "else measure with vpeer-selftest(1) and vpeer-bench(1)");
		return;
	}
	finding_says(all, STATE_WARN, "by the root complex, though %s is above both: %s",
		     path->common, path->reason);
	finding_remedy(all, job_host, "switch ATS of the initiator on, and DirectTrans (with "
		       "ReqRedir, CmpltRedir, UpstreamFwd, SrcValid, and without TransBlk: "
		       "ECAP_ACS+6.w=005d) of the ports above it");
}

static void check_route(struct findings *all, const struct host *host, const struct path *path)
{
	begin(all, path, "route");
	finding_saw(all, path->common[0] ? path->common : "no common bridge",
		    "%s/bus/pci/devices", host->place->sysfs);
	switch (path->route) {
	case ROUTE_UNKNOWN:
		finding_says(all, STATE_UNKNOWN, "not all ports on the way can be read: %s",
			     path->reason);
		finding_remedy(all, job_host, "run as root");
		break;
	case ROUTE_DIRECT:
		finding_says(all, STATE_OK, "translated requests turn at %s (%s)", path->common,
			     path->reason);
		break;
	case ROUTE_ROOT:
		judge_root(all, path);
		break;
	case ROUTE_UNTRANSLATED:
		finding_says(all, STATE_WARN, "requests turn below the IOMMU, with the guest's "
			     "addresses: %s", path->reason);
		finding_remedy(all, job_host, "set ReqRedir there, see the check acs");
		break;
	case ROUTE_PORT:
		finding_says(all, STATE_OK, "%s: what is between them is the device's matter",
			     path->reason);
		break;
	}
}

static bool same_payload(const struct path *path, char *text, size_t size)
{
	const struct function *memory = path->memory;
	unsigned int from = path->initiator->pf_express.payload;
	unsigned int to = memory->pf_express.payload;
	bool same = from == to;

	text_format(text, size, "MaxPayload initiator %u, memory %u", from, to);
	for (size_t i = 0; i < path->bridge_count; i++) {
		const struct express *express = &path->bridges[i]->express;

		if (express->presence != PRESENT || express->payload == from)
			continue;
		text_format(text, size, "MaxPayload initiator %u, %s %u", from,
			    path->bridges[i]->pci, express->payload);
		same = false;
	}
	return same;
}

static void check_payload(struct findings *all, const struct host *host, const struct path *path)
{
	const struct function *initiator = path->initiator, *memory = path->memory;
	char text[128];
	bool same;

	if (initiator->pf_express.presence == ABSENT || memory->pf_express.presence == ABSENT)
		return;
	if (initiator->pf_express.presence == NOT_READ || memory->pf_express.presence == NOT_READ) {
		begin(all, path, "max-payload");
		finding_saw(all, "", "%s/bus/pci/devices/%s/config", host->place->sysfs,
			    initiator->pci);
		finding_says(all, STATE_UNKNOWN, "%s",
			     config_missing(initiator->pf_express.presence == NOT_READ ?
					    &initiator->config : &memory->config));
		finding_remedy(all, job_host, "run as root");
		return;
	}
	same = same_payload(path, text, sizeof(text));
	begin(all, path, "max-payload");
	finding_saw(all, text, "%s/bus/pci/devices/%s/config", host->place->sysfs,
		    path->initiator->pci);
	if (same) {
		finding_says(all, STATE_OK, "one MaxPayload of %u bytes on the whole way",
			     path->initiator->pf_express.payload);
		return;
	}
	finding_says(all, path->route == ROUTE_DIRECT ? STATE_FAIL : STATE_WARN,
		     "%s: a packet larger than a receiver's is malformed", text);
	finding_remedy(all, job_host, "boot with pci=pcie_bus_safe, or with "
		       "pci=pcie_bus_peer2peer (128 bytes everywhere)");
}

static void check_numa(struct findings *all, const struct host *host, const struct path *path)
{
	int from = path->initiator->numa_node, to = path->memory->numa_node;
	char text[16];

	if (host->node_count < 2)
		return;
	begin(all, path, "numa");
	text_format(text, sizeof(text), "%d", from);
	finding_saw(all, text, "%s/bus/pci/devices/%s/numa_node", host->place->sysfs,
		    path->initiator->pci);
	text_format(text, sizeof(text), "%d", to);
	finding_saw(all, text, "%s/bus/pci/devices/%s/numa_node", host->place->sysfs,
		    path->memory->pci);
	if (from == NO_NODE || to == NO_NODE) {
		finding_says(all, STATE_UNKNOWN, "the firmware does not tell the node of both");
		finding_remedy(all, job_setup, "update the firmware, or write numa_node by hand");
	} else if (from != to) {
		finding_says(all, STATE_WARN, "on nodes %d and %d: peer requests cross the sockets",
			     from, to);
		finding_remedy(all, job_vm, "pair functions of one node");
	} else {
		finding_says(all, STATE_OK, "both on node %d", from);
	}
}

void check_paths(struct findings *all, const struct host *host, const struct path *paths,
		 size_t count)
{
	check_ports(all, host, paths, count);
	for (size_t i = 0; i < count; i++) {
		check_route(all, host, &paths[i]);
		check_payload(all, host, &paths[i]);
		check_numa(all, host, &paths[i]);
	}
}

void check_all(struct findings *all, const struct host *host, const struct path *paths,
	       size_t count)
{
	check_host(all, host);
	check_functions(all, host);
	check_paths(all, host, paths, count);
}
