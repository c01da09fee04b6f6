// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "check.h"

#define BEST_READ_REQUEST	4096U
#define VENDOR_MELLANOX		"0x15b3"

static void saw_device(struct findings *all, const struct host *host, const char *pci,
		       const char *name, const char *value)
{
	finding_saw(all, value, "%s/bus/pci/devices/%s/%s", host->place->sysfs, pci, name);
}

static const char *settings_of(const struct function *function)
{
	return function->sriov.physfn[0] ? function->sriov.physfn : function->pci;
}

static void check_driver(struct findings *all, const struct host *host,
			 const struct function *function)
{
	finding_add(all, "driver", function->pci);
	saw_device(all, host, function->pci, "driver", function->driver);
	if (function->vfio) {
		finding_says(all, STATE_OK, "bound to %s", function->driver);
		return;
	}
	finding_says(all, STATE_WARN, "%s%s: not ready to be given to a guest",
		     function->driver[0] ? "the host uses it by " : "no driver is bound",
		     function->driver);
	finding_remedy(all, job_host, "stop its users, then 'driverctl set-override %s "
		       "vfio-pci', or managed='yes' in libvirt", function->pci);
}

static const struct function *selected(const struct host *host, const char *pci)
{
	for (size_t i = 0; i < host->function_count; i++)
		if (!strcmp(host->functions[i].pci, pci))
			return &host->functions[i];
	return NULL;
}

/* Others in the group. Bridges count only where a driver keeps VFIO away. */
struct others {
	char text[512];
	char used[VPEER_PCI_LEN];	/* the first that the host uses, or empty */
	char driver[64];		/* of that one */
};

static void note_used(struct others *others, const char *pci, const char *driver)
{
	if (others->used[0] || driver_lets_go(driver))
		return;
	text_format(others->used, sizeof(others->used), "%s", pci);
	text_format(others->driver, sizeof(others->driver), "%s", driver);
}

static void list_others(const struct host *host, const struct function *function,
			struct others *others)
{
	char *text = others->text, driver[64];
	size_t size = sizeof(others->text), left_out = 0;

	*others = (struct others){ 0 };
	for (size_t i = 0; i < function->group.count; i++) {
		const char *pci = function->group.members[i];
		size_t length = strlen(text);

		pci_driver(host->place->sysfs, pci, driver, sizeof(driver));
		if (!strcmp(pci, function->pci) ||
		    (pci_is_bridge(host->place->sysfs, pci) && driver_lets_go(driver)))
			continue;
		note_used(others, pci, driver);
		if (size - length < 2 * sizeof(driver))
			left_out++;
		else
			text_format(text + length, size - length, "%s%s (%s)", length ? ", " : "",
				    pci, driver[0] ? driver : "no driver");
	}
	if (left_out)
		text_format(text + strlen(text), size - strlen(text), " and %zu more", left_out);
}

static void remedy_group(struct findings *all, const struct function *function,
			 const struct others *others)
{
	if (others->used[0])
		finding_remedy(all, job_host, "'echo %s > /sys/bus/pci/drivers/%s/unbind' if the "
			       "host can do without, for each of these that has such a driver; or "
			       "use another slot", others->used, others->driver);
	else if (function->bridge_count)
		finding_remedy(all, job_host, "give all of them to one guest, or set ACS SrcValid, "
			       "ReqRedir, CmpltRedir and UpstreamFwd on the ports above, or use "
			       "another slot");
	else
		finding_remedy(all, job_host, "give all of them to one guest: no port is above "
			       "that could isolate them");
}

static void check_group(struct findings *all, const struct host *host,
			const struct function *function)
{
	const struct group *group = &function->group;
	struct others others;

	if (!host->iommu.groups)
		return;
	finding_add(all, "iommu-group", function->pci);
	if (!group->known) {
		saw_device(all, host, function->pci, "iommu_group", "");
		finding_says(all, STATE_FAIL, "it is in no IOMMU group: VFIO cannot take it");
		finding_remedy(all, job_setup, "the firmware's tables leave it out of every "
			       "IOMMU; update the firmware");
		return;
	}
	list_others(host, function, &others);
	finding_saw(all, others.text, "%s/kernel/iommu_groups/%u/devices", host->place->sysfs,
		    group->number);
	finding_saw(all, group->type, "%s/kernel/iommu_groups/%u/type", host->place->sysfs,
		    group->number);
	if (!others.text[0]) {
		finding_says(all, STATE_OK, "alone in group %u", group->number);
		return;
	}
	finding_says(all, others.used[0] ? STATE_FAIL : STATE_WARN,
		     "shares group %u with %s: %s", group->number, others.text, others.used[0] ?
		     "VFIO gives none of them away while the host uses one" :
		     "only one guest can have them, and they reach each other unwatched");
	remedy_group(all, function, &others);
}

static bool has_unassigned(const struct function *function, unsigned int *bar)
{
	for (unsigned int i = 0; i < PCI_BARS; i++) {
		if (!function->bars[i].unassigned)
			continue;
		*bar = i;
		return true;
	}
	return false;
}

static const struct pci_bar *largest(const struct function *function)
{
	const struct pci_bar *bar = NULL;

	for (size_t i = 0; i < PCI_BARS; i++)
		if (function->bars[i].memory && (!bar || function->bars[i].size > bar->size))
			bar = &function->bars[i];
	return bar;
}

static void check_bars(struct findings *all, const struct host *host,
		       const struct function *function)
{
	const struct pci_bar *bar = largest(function);
	char text[128], size[BYTES_LEN];
	unsigned int number;

	finding_add(all, "bars", function->pci);
	if (function->bars_err) {
		saw_device(all, host, function->pci, "resource", "");
		finding_says(all, STATE_UNKNOWN, "cannot be read: %s",
			     strerror(-function->bars_err));
		return;
	}
	if (bar)
		text_format(text, sizeof(text), "largest BAR %s%s%s",
			    format_bytes(bar->size, size), bar->wide ? ", 64-bit" : "",
			    bar->prefetchable ? ", prefetchable" : "");
	else
		text_format(text, sizeof(text), "it has no memory BAR");
	saw_device(all, host, function->pci, "resource", text);
	if (has_unassigned(function, &number)) {
		finding_says(all, STATE_FAIL, "BAR %u has no address: the host found no room",
			     number);
		finding_remedy(all, job_setup, "switch 'Above 4G decoding' and large MMIO on in "
			       "the firmware setup, or boot with pci=realloc");
	} else if (function_is_memory(function) && bar && bar->prefetchable && !bar->wide) {
		finding_says(all, STATE_WARN, "its memory BAR is not 64-bit: it takes the "
			     "guest's room below 4 GiB");
	} else {
		finding_says(all, STATE_OK, "%s", text);
	}
}

static void check_bar_width(struct findings *all, const struct host *host,
			    const struct function *function)
{
	unsigned int bits = host->cpu.physical;
	char text[64];

	if (!bits || bits >= 64 || function->bars_err)
		return;
	finding_add(all, "bar-address-width", function->pci);
	finding_says(all, STATE_OK, "every BAR is within %u address bits", bits);
	for (unsigned int i = 0; i < PCI_BARS; i++) {
		const struct pci_bar *bar = &function->bars[i];

		if (!bar->memory || !bar->size || bar->start + (bar->size - 1) < 1ULL << bits)
			continue;
		text_format(text, sizeof(text), "BAR %u 0x%llx", i, (unsigned long long)bar->start);
		saw_device(all, host, function->pci, "resource", text);
		finding_says(all, STATE_FAIL, "BAR %u ends above the CPU's %u address bits", i,
			     bits);
		finding_remedy(all, job_setup,
			       "lower the base of 64-bit MMIO in the firmware setup");
	}
	if (!all->items[all->count - 1].count)
		saw_device(all, host, function->pci, "resource", "");
}

/* Whether huge pages lie where the function does. */
static void check_pages(struct findings *all, const struct host *host,
			const struct function *function)
{
	uint64_t here = 0, anywhere = 0;
	char text[BYTES_LEN];

	for (size_t i = 0; i < host->pool_count; i++) {
		const struct pool *pool = &host->pools[i];
		uint64_t bytes = pool->free * pool->size;

		if (pool->node == function->numa_node)
			here += bytes;
		if (pool->node == NO_NODE)
			anywhere += bytes;
	}
	if (host->node_count < 2 || function->numa_node == NO_NODE || !anywhere)
		return;
	finding_add(all, "node-hugepages", function->pci);
	finding_saw(all, format_bytes(here, text), "%s/devices/system/node/node%d/hugepages",
		    host->place->sysfs, function->numa_node);
	if (here) {
		finding_says(all, STATE_OK, "%s in free huge pages on its node %d", text,
			     function->numa_node);
		return;
	}
	finding_says(all, STATE_WARN, "no huge page is free on its node %d, though elsewhere",
		     function->numa_node);
	finding_remedy(all, job_host, "reserve them there: nr_hugepages of that node");
}

static bool link_known(const struct link *link)
{
	return link->speed[0] && link->max_speed[0] && atof(link->speed) > 0 &&
	       atoi(link->width) > 0;
}

static void check_link(struct findings *all, const struct host *host,
		       const struct function *function)
{
	const struct link *link = &function->link;
	const char *pci = settings_of(function);

	if (!link_known(link))
		return;
	finding_add(all, "link", function->pci);
	saw_device(all, host, pci, "current_link_speed", link->speed);
	saw_device(all, host, pci, "max_link_speed", link->max_speed);
	saw_device(all, host, pci, "current_link_width", link->width);
	saw_device(all, host, pci, "max_link_width", link->max_width);
	if (atof(link->speed) >= atof(link->max_speed) &&
	    atoi(link->width) >= atoi(link->max_width)) {
		finding_says(all, STATE_OK, "%s x%s", link->speed, link->width);
		return;
	}
	finding_says(all, STATE_WARN, "the link runs at %s x%s of %s x%s; an idle GPU may lower "
		     "its speed, not its width", link->speed, link->width, link->max_speed,
		     link->max_width);
	finding_remedy(all, job_setup, "look at slot, riser and the firmware's bifurcation; "
		       "compare under load");
}

static void unread(struct findings *all, const struct host *host,
		   const struct function *function, const char *pci)
{
	saw_device(all, host, pci, "config", "");
	finding_says(all, STATE_UNKNOWN, "%s", config_missing(&function->config));
	finding_remedy(all, job_host, "run as root, with the function awake");
}

static void check_ordering(struct findings *all, const struct host *host,
			   const struct function *function)
{
	bool relaxed = function->pf_express.relaxed_ordering;
	const char *pci = settings_of(function);

	finding_add(all, "relaxed-ordering", function->pci);
	if (function->pf_express.presence == NOT_READ) {
		unread(all, host, function, pci);
		return;
	}
	saw_device(all, host, pci, "config", relaxed ? "DevCtl RlxdOrd+" : "DevCtl RlxdOrd-");
	if (relaxed) {
		finding_says(all, STATE_OK, "it may relax the order of what asks for it");
		return;
	}
	finding_says(all, STATE_WARN,
		     "it may not relax the order, whatever a registration asks for");
	finding_remedy(all, job_host, "setpci -s %s CAP_EXP+8.w=0010:0010, unless the kernel "
		       "cleared it for this platform (see dmesg)", pci);
}

static void check_reads(struct findings *all, const struct host *host,
			const struct function *function)
{
	unsigned int bytes = function->pf_express.read_request;
	const char *pci = settings_of(function);
	char text[64];

	finding_add(all, "max-read-request", function->pci);
	if (function->pf_express.presence == NOT_READ) {
		unread(all, host, function, pci);
		return;
	}
	text_format(text, sizeof(text), "DevCtl MaxReadReq %u", bytes);
	saw_device(all, host, pci, "config", text);
	finding_says(all, bytes >= BEST_READ_REQUEST ? STATE_OK : STATE_WARN,
		     "reads ask for up to %u bytes at once", bytes);
	if (bytes < BEST_READ_REQUEST)
		finding_remedy(all, job_host, "setpci -s %s CAP_EXP+8.w=5000:7000 (4096 bytes), "
			       "after each reset", pci);
}

/* A VF's own bits mean nothing: its PF's hold for it. */
static void check_control(struct findings *all, const struct host *host,
			  const struct function *function)
{
	if (function->pf_express.presence == ABSENT)
		return;
	check_ordering(all, host, function);
	if (!function_is_memory(function))
		check_reads(all, host, function);
}

static void check_ats(struct findings *all, const struct host *host,
		      const struct function *function)
{
	const struct ats *ats = &function->ats;

	if (function_is_memory(function))
		return;
	finding_add(all, "ats", function->pci);
	if (ats->presence == NOT_READ) {
		unread(all, host, function, function->pci);
		return;
	}
	saw_device(all, host, function->pci, "config", ats->presence == ABSENT ? "no ATS" :
		   ats->enable ? "ATSCtl Enable+" : "ATSCtl Enable-");
	if (ats->presence == ABSENT) {
		finding_says(all, STATE_WARN, "it has no ATS capability: its peer requests go by "
			     "the root complex");
		finding_remedy(all, job_device, !strcmp(function->vendor, VENDOR_MELLANOX) ?
			       "'mlxconfig -d DEVICE set ATS_ENABLED=true', then restart the host" :
			       "switch ATS on in the firmware of the device, if its vendor "
			       "offers that");
	} else if (!ats->enable) {
		finding_says(all, STATE_WARN,
			     "ATS is off: its peer requests go by the root complex");
		finding_remedy(all, job_host, "the kernel switches ATS on when the IOMMU can do "
			       "it and translates for the function: look again while a guest has "
			       "it");
	} else {
		finding_says(all, STATE_OK, "ATS is on");
	}
}

static void check_pf(struct findings *all, const struct host *host,
		     const struct function *function)
{
	char text[32];

	if (function->sriov.numvfs <= 0)
		return;
	finding_add(all, "sriov", function->pci);
	text_format(text, sizeof(text), "%ld", function->sriov.numvfs);
	saw_device(all, host, function->pci, "sriov_numvfs", text);
	finding_says(all, STATE_WARN, "it is a PF with %s VFs: giving it away takes them along",
		     text);
	finding_remedy(all, job_host, "give a guest VFs, or remove them first "
		       "('echo 0 > sriov_numvfs')");
}

void check_functions(struct findings *all, const struct host *host)
{
	for (size_t i = 0; i < host->function_count; i++) {
		const struct function *function = &host->functions[i];

		if (selected(host, function->pci) != function)
			continue;
		check_driver(all, host, function);
		check_group(all, host, function);
		check_bars(all, host, function);
		check_bar_width(all, host, function);
		check_pages(all, host, function);
		check_link(all, host, function);
		check_control(all, host, function);
		check_ats(all, host, function);
		check_pf(all, host, function);
		check_vf(all, host, function);
	}
}
