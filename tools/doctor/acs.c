// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Access control of the bridges that the machine sees between a memory and an initiator. */
#include <linux/pci_regs.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "device.h"

#define REDIRECTS	(PCI_ACS_RR | PCI_ACS_CR)
#define TURNING		(REDIRECTS | PCI_ACS_UF | PCI_ACS_EC)

static void show(const struct acs *acs, char *text, size_t size)
{
	text_format(text, size, "%s", acs->presence == PRESENT ? "ACSCtl" : "no ACS");
	for (size_t i = 0; acs->presence == PRESENT && i < ACS_BITS; i++) {
		size_t length = strlen(text);

		if ((acs->cap | acs->ctl) & acs_bits[i].mask)
			text_format(text + length, size - length, " %s%c", acs_bits[i].name,
				    acs->ctl & acs_bits[i].mask ? '+' : '-');
	}
}

static bool has_port(const struct path *path, const struct function *port)
{
	for (size_t i = 0; i < path->bridge_count; i++)
		if (path->bridges[i] == port)
			return true;
	return false;
}

static void say_redirected(struct findings *all, const struct site *site,
			   const struct function *port, const struct path *path)
{
	uint16_t value = port->acs.ctl & (uint16_t)~TURNING;

	if (machine_is_guest(site)) {
		finding_says(all, STATE_WARN, "it redirects peer requests, as the guest sees it, "
			     "though %s is above %s and %s: %s asks the kernel whether peers reach "
			     "each other, and is told no. No request passes here; physical "
			     "bridges are not seen", path->common, path->initiator->pci,
			     path->memory->pci, path->memory->driver);
		finding_remedy(all, job_guest, "boot the guest with pci=disable_acs_redir=%s",
			       port->pci);
		return;
	}
	finding_says(all, STATE_WARN, "it sends peer requests between %s and %s up to the root "
		     "complex, though both are below %s: slower, and not on every platform",
		     path->initiator->pci, path->memory->pci, path->common);
	finding_remedy(all, job_host, "unless guests are run here: 'setpci -s %s "
		       "ECAP_ACS+6.w=%04x' after each boot, or boot with pci=disable_acs_redir=%s; "
		       "and iommu=pt",
		       port->pci, value, port->pci);
}

static void check_port(struct findings *all, const struct site *site,
		       const struct function *port, const struct path *path)
{
	char text[160];

	show(&port->acs, text, sizeof(text));
	device_begin(all, port, "acs", "config", text);
	if (path)
		say_redirected(all, site, port, path);
	else if (machine_is_guest(site))
		finding_says(all, STATE_OK, "no peer request passes this bridge of the guest, and "
			     "no driver here asks the kernel about it; physical bridges are not "
			     "seen, see vpeer-selftest(1)");
	else
		finding_says(all, STATE_OK, "it keeps no peer requests from turning at the bridge "
			     "above; not measured, see vpeer-selftest(1)");
}

/* Drivers that ask the kernel before they give their memory to a peer. */
static bool asks_kernel(const struct function *memory)
{
	static const char *const drivers[] = { "amdgpu", "xe", "i915" };

	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (!strcmp(memory->driver, drivers[i]))
			return true;
	return false;
}

/* The bridges of a guest are software: what they redirect is but what the kernel makes of it. */
static bool matters(const struct site *site, const struct function *port, const struct path *path)
{
	return path->route != ROUTE_DIRECT && port->acs.ctl & REDIRECTS &&
	       (!machine_is_guest(site) || asks_kernel(path->memory));
}

/* Of those between peers below one bridge. */
void check_acs(struct findings *all, const struct site *site)
{
	struct path *paths;
	size_t count = device_paths(site, &paths);

	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *port = &site->functions[i];
		const struct path *redirected = NULL;
		bool between = false;

		if (!is_acs_port(port) || port->acs.presence == NOT_READ)
			continue;
		for (size_t j = 0; j < count; j++) {
			if (!has_port(&paths[j], port))
				continue;
			between = true;
			if (!redirected && matters(site, port, &paths[j]))
				redirected = &paths[j];
		}
		if (between)
			check_port(all, site, port, redirected);
	}
	free(paths);
}
