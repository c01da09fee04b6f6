// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "function.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "../util.h"

#define CLASS_BRIDGE		0x06
#define CLASS_OTHER_BRIDGE	0x0680
#define CLASS_DISPLAY		0x03
#define CLASS_MEMORY		0x05
#define CLASS_ACCELERATOR	0x12
#define MOST_VFS		65536

static void read_text(char *text, size_t size, const char *sysfs, const char *pci,
		      const char *name)
{
	if (vpeer_sysfs_read(text, size, "%s/bus/pci/devices/%s/%s", sysfs, pci, name))
		text[0] = '\0';
}

static long read_number(const char *sysfs, const char *pci, const char *name)
{
	char text[32], *end;
	long number;

	read_text(text, sizeof(text), sysfs, pci, name);
	errno = 0;
	number = strtol(text, &end, 0);
	return text[0] && !*end && !errno ? number : NO_NUMBER;
}

static int read_node(const char *sysfs, const char *pci)
{
	long node = read_number(sysfs, pci, "numa_node");

	return node < 0 || node > INT_MAX ? NO_NODE : (int)node;
}

static uint32_t read_class(const char *sysfs, const char *pci)
{
	long class = read_number(sysfs, pci, "class");

	return class < 0 ? 0 : (uint32_t)class;
}

/* Not all of base class 0x06: an NVSwitch (0x0680) is an endpoint that has a driver. */
static bool is_bridge(uint32_t class)
{
	return class >> 16 == CLASS_BRIDGE && class >> 8 != CLASS_OTHER_BRIDGE;
}

bool pci_is_bridge(const char *sysfs, const char *pci)
{
	return is_bridge(read_class(sysfs, pci));
}

bool function_is_bridge(const struct function *function)
{
	return is_bridge(function->class);
}

bool driver_lets_go(const char *driver)
{
	return !driver[0] || strstr(driver, "vfio") || !strcmp(driver, "pcieport") ||
	       !strcmp(driver, "pci-stub");
}

bool function_is_memory(const struct function *function)
{
	uint32_t base = function->class >> 16;

	return base == CLASS_DISPLAY || base == CLASS_ACCELERATOR || base == CLASS_MEMORY;
}

/* The path of the device's directory names every bridge above it. */
static void load_place(struct function *function, const char *sysfs)
{
	char path[PATH_MAX], resolved[PATH_MAX], *part, *rest = resolved;
	struct vpeer_pci_address pci;

	text_format(path, sizeof(path), "%s/bus/pci/devices/%s", sysfs, function->pci);
	if (!realpath(path, resolved))
		return;
	while ((part = strsep(&rest, "/"))) {
		if (!strncmp(part, "pci", 3) && strchr(part, ':'))
			text_format(function->root, sizeof(function->root), "%s", part);
		if (strlen(part) < strlen("0000:00:00.0") || vpeer_pci_parse(part, &pci) ||
		    !strcmp(part, function->pci) || function->bridge_count == MOST_BRIDGES)
			continue;
		vpeer_pci_format(&pci, function->bridges[function->bridge_count++]);
	}
}

static int by_name(const void *left, const void *right)
{
	return strcmp(left, right);
}

static void load_members(struct group *group, const char *sysfs)
{
	struct vpeer_pci_address pci;
	struct dirent *item;
	char path[PATH_MAX];
	DIR *directory;

	text_format(path, sizeof(path), "%s/kernel/iommu_groups/%u/devices", sysfs,
		    group->number);
	directory = opendir(path);
	if (!directory)
		return;
	while ((item = readdir(directory))) {
		if (vpeer_pci_parse(item->d_name, &pci))
			continue;
		group->members = xrealloc(group->members, group->count + 1,
					  sizeof(*group->members));
		vpeer_pci_format(&pci, group->members[group->count++]);
	}
	closedir(directory);
	if (group->count)
		qsort(group->members, group->count, sizeof(*group->members), by_name);
}

static void load_group(struct group *group, const char *sysfs, const char *pci)
{
	char name[32];
	uint64_t number;

	if (vpeer_sysfs_link(name, sizeof(name), "%s/bus/pci/devices/%s/iommu_group", sysfs, pci) ||
	    vpeer_parse_u64(name, &number))
		return;
	group->known = true;
	group->number = (unsigned int)number;
	if (vpeer_sysfs_read(group->type, sizeof(group->type), "%s/kernel/iommu_groups/%u/type",
			     sysfs, group->number))
		group->type[0] = '\0';
	load_members(group, sysfs);
}

static void first_netdev(char *name, size_t size, const char *sysfs, const char *pci)
{
	struct dirent *item;
	char path[PATH_MAX];
	DIR *directory;

	name[0] = '\0';
	text_format(path, sizeof(path), "%s/bus/pci/devices/%s/net", sysfs, pci);
	directory = opendir(path);
	if (!directory)
		return;
	while (!name[0] && (item = readdir(directory)))
		if (item->d_name[0] != '.')
			text_format(name, size, "%s", item->d_name);
	closedir(directory);
}

static long vf_number(const char *sysfs, const char *physfn, const char *pci)
{
	char name[VPEER_PCI_LEN];

	for (long vf = 0; vf < MOST_VFS; vf++) {
		if (vpeer_sysfs_link(name, sizeof(name), "%s/bus/pci/devices/%s/virtfn%ld", sysfs,
				     physfn, vf))
			break;
		if (!strcmp(name, pci))
			return vf;
	}
	return NO_NUMBER;
}

static void load_sriov(struct function *function, const char *sysfs, vf_reader *read_vf)
{
	struct sriov *sriov = &function->sriov;

	sriov->totalvfs = read_number(sysfs, function->pci, "sriov_totalvfs");
	sriov->numvfs = read_number(sysfs, function->pci, "sriov_numvfs");
	sriov->settings_err = -ENODATA;
	sriov->vf = NO_NUMBER;
	if (vpeer_sysfs_link(sriov->physfn, sizeof(sriov->physfn),
			     "%s/bus/pci/devices/%s/physfn", sysfs, function->pci)) {
		sriov->physfn[0] = '\0';
		return;
	}
	sriov->vf = vf_number(sysfs, sriov->physfn, function->pci);
	first_netdev(sriov->netdev, sizeof(sriov->netdev), sysfs, sriov->physfn);
	if (sriov->netdev[0] && sriov->vf != NO_NUMBER)
		sriov->settings_err = read_vf(sriov->netdev, (unsigned int)sriov->vf,
					      &sriov->settings);
}

/* A VF has no link of its own. */
static void load_link(struct function *function, const char *sysfs)
{
	const char *pci = function->sriov.physfn[0] ? function->sriov.physfn : function->pci;
	struct link *link = &function->link;

	read_text(link->speed, sizeof(link->speed), sysfs, pci, "current_link_speed");
	read_text(link->max_speed, sizeof(link->max_speed), sysfs, pci, "max_link_speed");
	read_text(link->width, sizeof(link->width), sysfs, pci, "current_link_width");
	read_text(link->max_width, sizeof(link->max_width), sysfs, pci, "max_link_width");
}

static void load_config(struct function *function, const char *sysfs)
{
	struct config pf;

	config_read(&function->config, sysfs, function->pci);
	config_express(&function->config, &function->express);
	config_ats(&function->config, &function->ats);
	config_acs(&function->config, &function->acs);
	function->pf_express = function->express;
	if (!function->sriov.physfn[0])
		return;
	config_read(&pf, sysfs, function->sriov.physfn);
	config_express(&pf, &function->pf_express);
}

static void load_driver(struct function *function, const char *sysfs)
{
	pci_driver(sysfs, function->pci, function->driver, sizeof(function->driver));
	function->vfio = strstr(function->driver, "vfio-pci") ||
			 strstr(function->driver, "vfio_pci");
}

int function_load(struct function *function, const char *sysfs, const char *pci,
		  vf_reader *read_vf)
{
	struct vpeer_pci_address address;

	*function = (struct function){ 0 };
	if (vpeer_pci_parse(pci, &address))
		return -EINVAL;
	vpeer_pci_format(&address, function->pci);
	if (!vpeer_sysfs_exists("%s/bus/pci/devices/%s/class", sysfs, function->pci))
		return -ENOENT;
	read_text(function->vendor, sizeof(function->vendor), sysfs, function->pci, "vendor");
	read_text(function->device, sizeof(function->device), sysfs, function->pci, "device");
	function->class = read_class(sysfs, function->pci);
	function->numa_node = read_node(sysfs, function->pci);
	function->bars_err = pci_bars(sysfs, function->pci, function->bars);
	load_driver(function, sysfs);
	function->rdma = vpeer_sysfs_exists("%s/bus/pci/devices/%s/infiniband", sysfs,
					    function->pci);
	load_place(function, sysfs);
	load_group(&function->group, sysfs, function->pci);
	load_sriov(function, sysfs, read_vf);
	load_link(function, sysfs);
	load_config(function, sysfs);
	return 0;
}

void function_free(struct function *function)
{
	free(function->group.members);
	*function = (struct function){ 0 };
}
