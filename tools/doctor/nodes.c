// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* vpeer's nodes, who may use them, and ranges that are quarantined. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../quarantine.h"
#include "../util.h"
#include "guest.h"

#define NO_GROUP	(-1L)
#define FOR_OTHERS	07

/* Of group vpeer in /etc/group. */
static long group_number(const struct site *site)
{
	char text[16384], *rest = text, *line;
	unsigned int number;

	if (site_text(site, text, sizeof(text), "etc/group"))
		return NO_GROUP;
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, "vpeer:%*[^:]:%u", &number) == 1 ||
		    sscanf(line, "vpeer::%u", &number) == 1)
			return (long)number;
	return NO_GROUP;
}

static void say_absent(struct findings *all, const struct site *site, int err)
{
	const char *by;
	bool contained = site_in_container(site, &by);

	finding_says(all, STATE_FAIL, "the aperture is there, its node is not: %s", strerror(-err));
	if (contained)
		finding_remedy(all, job_container, "give it to the container: docker run --device "
			       "/dev/vpeerN --group-add $(getent group vpeer | cut -d: -f3)");
	else
		finding_remedy(all, job_guest, "udevadm trigger --subsystem-match=vpeer");
}

static void judge_node(struct findings *all, const struct site *site, const struct site_node *node)
{
	long group = group_number(site);

	if (node->mode & FOR_OTHERS) {
		finding_says(all, STATE_WARN, "anyone may use the node: every user can write to "
			     "the device's memory");
		finding_remedy(all, job_guest, "mode 0660 and group vpeer, as "
			       "/usr/lib/udev/rules.d/60-vpeer.rules sets: 'udevadm control "
			       "--reload; udevadm trigger --subsystem-match=vpeer'");
	} else if (group == NO_GROUP || (long)node->gid != group) {
		finding_says(all, STATE_WARN, "the node does not belong to group vpeer: only root, "
			     "or another group, may use it");
		finding_remedy(all, job_guest, "'systemd-sysusers; udevadm control --reload; "
			       "udevadm trigger --subsystem-match=vpeer'");
	} else if (!node->usable) {
		finding_says(all, STATE_WARN, "who runs this may not use the node: not a member of "
			     "group vpeer");
		finding_remedy(all, job_guest, "usermod -aG vpeer USER, and a new login");
	} else {
		finding_says(all, STATE_OK, "for root and group vpeer");
	}
}

/* "0000:01:00.0 (/dev/vpeer0)" */
static void add(struct findings *all, const struct site *site, const char *check,
		const char *name)
{
	char pci[VPEER_PCI_LEN], object[64];

	if (site_link(site, pci, sizeof(pci), "sys/class/vpeer/%s/device", name))
		pci[0] = '\0';
	text_format(object, sizeof(object), "%s%s/dev/%s%s", pci, pci[0] ? " (" : "", name,
		    pci[0] ? ")" : "");
	finding_add(all, check, object);
}

static void look_at_node(struct findings *all, const struct site *site, const char *name)
{
	struct site_node node = { 0 };
	char path[64], text[64];
	int err;

	text_format(path, sizeof(path), "dev/%s", name);
	err = site->place->calls->node(site->place->data, path, &node);
	add(all, site, "vpeer-node", name);
	text_format(text, sizeof(text), "mode %04o, group %u", node.mode, node.gid);
	finding_saw(all, err ? strerror(-err) : text, "/%s", path);
	if (err)
		say_absent(all, site, err);
	else
		judge_node(all, site, &node);
}

/* The rest of what "vpeer list" calls STATUS mends itself. */
static void look_at_status(struct findings *all, const struct site *site, const char *name)
{
	char status[32];

	if (site_text(site, status, sizeof(status), "sys/class/vpeer/%s/status", name) ||
	    strcmp(status, "trapped"))
		return;
	add(all, site, "aperture", name);
	site_saw(all, site, "sys/class/vpeer/%s/status", name);
	finding_says(all, STATE_FAIL, "the VMM traps every access to the BAR: it is in no IOMMU "
		     "mapping of the host, and peer DMA does not reach it");
	finding_remedy(all, job_vm, "QEMU: no x-no-mmap=on for this device; other VMMs: every "
		       "region of it mapped for CPUs and peer DMA; see vpeer-host(7)");
}

/* Its driver may reset the function without the module's being told. */
static void look_at_kind(struct findings *all, const struct site *site, const char *name)
{
	char kind[32];

	if (site_text(site, kind, sizeof(kind), "sys/class/vpeer/%s/kind", name) ||
	    strcmp(kind, "foreign"))
		return;
	add(all, site, "foreign-range", name);
	site_saw(all, site, "sys/class/vpeer/%s/kind", name);
	finding_says(all, STATE_WARN, "a range that the function's driver shares: a reset by that "
		     "driver is not seen, and windows then hold what the device made of them");
	finding_remedy(all, job_guest, "'vpeer detach' the function before its driver or firmware "
		       "is reset, and attach it again afterwards");
}

void check_nodes(struct findings *all, const struct site *site)
{
	char **names;
	size_t count = site_names(site, &names, "sys/class/vpeer");

	for (size_t i = 0; i < count; i++) {
		look_at_node(all, site, names[i]);
		look_at_status(all, site, names[i]);
		look_at_kind(all, site, names[i]);
	}
	site_names_free(names, count);
}

static void say_range(struct findings *all, const struct quarantine *range)
{
	char pci[VPEER_PCI_LEN], value[96];

	vpeer_pci_format(&range->pci, pci);
	finding_add(all, "quarantine", pci);
	text_format(value, sizeof(value), "bar%u %#" PRIx64 " %" PRIu64 " %" PRIu64, range->bar,
		    range->start, range->size, range->pinned);
	finding_saw(all, value, "/sys/class/misc/vpeerctl/quarantine");
	finding_says(all, STATE_WARN, "%" PRIu64 " bytes of BAR %u are still pinned by initiators: "
		     "the range cannot be used again until they let go", range->pinned,
		     range->bar);
	finding_remedy(all, job_guest, "end the processes that /sys/kernel/debug/vpeer/quarantine "
		       "names, or let them deregister the memory");
}

void check_quarantine(struct findings *all, const struct site *site)
{
	struct quarantine *ranges;
	size_t count;
	int err;

	if (!site_has(site, "sys/class/misc/vpeerctl"))
		return;
	err = quarantine_read(site->sysfs, &ranges, &count);
	for (size_t i = 0; i < count; i++)
		say_range(all, &ranges[i]);
	free(ranges);
	if (count)
		return;
	finding_add(all, "quarantine", "machine");
	finding_saw(all, err ? strerror(-err) : "nothing", "/sys/class/misc/vpeerctl/quarantine");
	finding_says(all, err ? STATE_UNKNOWN : STATE_OK, err ? "cannot be read" :
		     "no range is held back by pins");
}
