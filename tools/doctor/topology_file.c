// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* NCCL's topology file, which a guest needs where its PCI tree tells nothing. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../util.h"
#include "guest.h"

#define DEFAULT_FILE	"var/run/nvidia-topologyd/virtualTopology.xml"
#define MOST_TEXT	(256U << 10)
#define CLASS_BRIDGE	"0x0604"	/* of those that such a file may make up */

/* A file that was looked through. */
struct scan {
	size_t here, elsewhere;		/* functions of this machine, and others */
	char stranger[64];		/* the first of the others */
};

/* The value of attribute @name of the tag that ends at @end. */
static bool attribute(const char *tag, const char *end, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);

	value[0] = '\0';
	for (const char *at = tag; at + length + 2 < end; at++) {
		const char *quote;

		if (strncmp(at, name, length) || at[length] != '=' || at[length + 1] != '"' ||
		    !isspace((unsigned char)at[-1]))
			continue;
		at += length + 2;
		quote = memchr(at, '"', (size_t)(end - at));
		if (!quote)
			return false;
		text_format(value, size, "%.*s", (int)(quote - at), at);
		return true;
	}
	return false;
}

/* NCCL does not look at the number of the function. */
static bool is_here(const struct site *site, const char *busid)
{
	size_t length = strcspn(busid, ".");

	for (size_t i = 0; i < site->function_count; i++)
		if (strcspn(site->functions[i].pci, ".") == length &&
		    !strncasecmp(site->functions[i].pci, busid, length))
			return true;
	return false;
}

static void scan_tags(const struct site *site, const char *text, struct scan *scan)
{
	char busid[64], class[32];
	const char *end;

	for (const char *tag = text; (tag = strstr(tag, "<pci ")); tag = end) {
		end = strchr(tag, '>');
		if (!end)
			return;
		if (!attribute(tag + 1, end, "busid", busid, sizeof(busid)))
			continue;
		attribute(tag + 1, end, "class", class, sizeof(class));
		if (!strncmp(class, CLASS_BRIDGE, strlen(CLASS_BRIDGE)))
			continue;
		if (is_here(site, busid)) {
			scan->here++;
			continue;
		}
		if (!scan->elsewhere++)
			text_format(scan->stranger, sizeof(scan->stranger), "%s", busid);
	}
}

static void judge_scan(struct findings *all, const struct scan *scan, const char *path)
{
	char value[128];

	text_format(value, sizeof(value), "%zu functions of this machine, %zu others", scan->here,
		    scan->elsewhere);
	finding_saw(all, value, "/%s", path);
	if (!scan->here && !scan->elsewhere)
		finding_says(all, STATE_WARN, "the file names no function: NCCL takes the PCI tree "
			     "as it is");
	else if (!scan->here)
		finding_says(all, STATE_WARN, "the file is another machine's: %s, for one, is not "
			     "here", scan->stranger);
	else if (scan->elsewhere)
		finding_says(all, STATE_WARN, "the file names %s, which is not here: NCCL places "
			     "what is there wrongly", scan->stranger);
	else
		finding_says(all, STATE_OK, "all that the file names is here; 'vpeer topo --check "
			     "/%s' looks at the rest", path);
	if (scan->elsewhere || !scan->here)
		finding_remedy(all, job_guest, "'vpeer topo --check /%s' has the details; 'vpeer "
			       "topo --nccl-xml' writes a file of this machine", path);
}

static void look_at_file(struct findings *all, const struct site *site, const char *path,
			 const char *where)
{
	char *text = xrealloc(NULL, MOST_TEXT, 1);
	struct scan scan = { 0 };
	int err = site_text(site, text, MOST_TEXT, "%s", path);

	finding_add(all, "topology-file", "machine");
	if (err) {
		finding_saw(all, strerror(-err), "/%s, from %s", path, where);
		finding_says(all, STATE_WARN, "NCCL is told to read a topology file that cannot be "
			     "read, and goes on without");
		finding_remedy(all, job_user, err == -ENOENT ? "'vpeer topo --nccl-xml' writes "
			       "one; or unset NCCL_TOPO_FILE" :
			       "let the user who starts the program read it");
	} else {
		scan_tags(site, text, &scan);
		judge_scan(all, &scan, path);
	}
	free(text);
}

static void say_relative(struct findings *all, const char *path, const char *where)
{
	finding_add(all, "topology-file", "machine");
	finding_saw(all, path, "NCCL_TOPO_FILE in %s", where);
	finding_says(all, STATE_WARN, "NCCL looks for the topology file in whatever directory a "
		     "rank starts in");
	finding_remedy(all, job_user, "name it by its whole path");
}

/* Of the bridges above both, below the root bus. */
static bool share_bridge(const struct function *one, const struct function *other)
{
	return one->bridge_count && other->bridge_count &&
	       !strcmp(one->bridges[0], other->bridges[0]);
}

/* The first GPU that NCCL takes to be too far from every RDMA device, or NULL. */
static const struct function *lone_gpu(const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *gpu = &site->functions[i];
		bool near = false, any = false;

		if (!site_is_memory(site, gpu) || strcmp(gpu->driver, "nvidia"))
			continue;
		for (size_t j = 0; j < site->function_count; j++) {
			if (!site->functions[j].rdma)
				continue;
			any = true;
			near |= share_bridge(gpu, &site->functions[j]);
		}
		if (any && !near)
			return gpu;
	}
	return NULL;
}

/* NCCL_NET_GDR_LEVEL that spans root ports. */
static bool spans_all(const struct site *site)
{
	char value[64], where[PATH_MAX];

	return site_setting(site, "NCCL_NET_GDR_LEVEL", value, sizeof(value), where,
			    sizeof(where)) &&
	       (!strcasecmp(value, "PHB") || !strcasecmp(value, "SYS") || atoi(value) >= 3);
}

/* On a server of its own, too, but there the tree is true, and a NIC under each GPU's switch. */
static void look_without_file(struct findings *all, const struct site *site)
{
	const struct function *gpu = lone_gpu(site);

	/* The plugin for EFA brings files of Amazon's machines. */
	if (!gpu || site_has_driver(site, "efa"))
		return;
	finding_add(all, "topology-file", "machine");
	finding_saw(all, "not there", "NCCL_TOPO_FILE, /" DEFAULT_FILE);
	finding_saw(all, gpu->bridge_count ? gpu->bridges[0] : gpu->root,
		    "bridge above %s, and no RDMA device below it", gpu->pci);
	if (site->hypervisor_err || spans_all(site)) {
		finding_says(all, STATE_OK, "none: NCCL takes the PCI tree as it is");
		return;
	}
	finding_says(all, STATE_WARN, "the guest's PCI tree is flat: NCCL takes each RDMA device "
		     "to be too far from %s, and copies through the host", gpu->pci);
	finding_remedy(all, job_guest, "'vpeer topo --nccl-xml' writes a topology file for "
		       "NCCL_TOPO_FILE; or NCCL_NET_GDR_LEVEL=PHB; or on the host a switch for "
		       "each group of devices: 'vpeer host xml --topology switch'");
}

void check_topology_file(struct findings *all, const struct site *site)
{
	char path[PATH_MAX] = "", where[PATH_MAX];

	if (!site_has_driver(site, "nvidia") || !site_has_peers(site))
		return;
	if (site_setting(site, "NCCL_TOPO_FILE", path, sizeof(path), where, sizeof(where)) &&
	    path[0] != '/')
		say_relative(all, path, where);
	else if (path[0])
		look_at_file(all, site, path + strspn(path, "/"), where);
	else if (site_has(site, DEFAULT_FILE))
		look_at_file(all, site, DEFAULT_FILE, "NCCL's default");
	else
		look_without_file(all, site);
}
