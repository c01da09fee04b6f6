// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "topology.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysfs.h"

static uint64_t number_of(const struct vpeer_pci_address *pci)
{
	return (uint64_t)pci->domain << 16 | (uint64_t)pci->bus << 8 | pci->devfn;
}

int vpeer_pci_compare(const struct vpeer_pci_address *a, const struct vpeer_pci_address *b)
{
	return (number_of(a) > number_of(b)) - (number_of(a) < number_of(b));
}

static int32_t read_node(const char *device)
{
	char text[32];
	uint64_t node;

	if (vpeer_sysfs_read(text, sizeof(text), "%s/numa_node", device) ||
	    vpeer_parse_u64(text, &node) || node > INT32_MAX)
		return -1;
	return (int32_t)node;
}

/* A domain of its own below a function (Intel VMD) starts over with its host bridge. */
static void read_bridges(const char *device, struct vpeer_place *place)
{
	char path[PATH_MAX], *part, *rest = path;
	struct vpeer_pci_address pci;

	snprintf(path, sizeof(path), "%s", device);
	while ((part = strsep(&rest, "/"))) {
		if (!strncmp(part, "pci", 3) && strchr(part, ':')) {
			snprintf(place->host, sizeof(place->host), "%s", part);
			place->bridge_count = 0;
		} else if (vpeer_sysfs_is_pci(part, &pci) &&
			   vpeer_pci_compare(&pci, &place->pci) &&
			   place->bridge_count < VPEER_MAX_BRIDGES) {
			place->bridges[place->bridge_count++] = pci;
		}
	}
}

int vpeer_place_read(const char *sysfs, const struct vpeer_pci_address *pci,
		     struct vpeer_place *place)
{
	char name[VPEER_PCI_LEN], path[PATH_MAX], device[PATH_MAX];

	*place = (struct vpeer_place){ .pci = *pci, .whole = *pci };
	vpeer_pci_format(pci, name);
	if (snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", sysfs, name) >= PATH_MAX ||
	    !realpath(path, device))
		return -ENODEV;
	read_bridges(device, place);
	place->node = read_node(device);
	if (!vpeer_sysfs_link(name, sizeof(name), "%s/physfn", device))
		vpeer_pci_parse(name, &place->whole);
	return 0;
}

static bool one_device(const struct vpeer_pci_address *a, const struct vpeer_pci_address *b)
{
	return number_of(a) >> 3 == number_of(b) >> 3;
}

static size_t count_common(const struct vpeer_place *a, const struct vpeer_place *b)
{
	size_t common = 0;

	while (common < a->bridge_count && common < b->bridge_count &&
	       !vpeer_pci_compare(&a->bridges[common], &b->bridges[common]))
		common++;
	return common;
}

static bool has_one_node(const char *sysfs)
{
	char online[256];

	return vpeer_sysfs_read(online, sizeof(online), "%s/devices/system/node/online", sysfs) ||
	       !strpbrk(online, ",-");
}

static unsigned int distance_of_hosts(const char *sysfs, const struct vpeer_place *a,
				      const struct vpeer_place *b)
{
	if (has_one_node(sysfs) || (a->node >= 0 && a->node == b->node))
		return VPEER_DISTANCE_SAME_NODE;
	return a->node < 0 || b->node < 0 ? VPEER_DISTANCE_UNKNOWN : VPEER_DISTANCE_FAR;
}

unsigned int vpeer_place_distance(const char *sysfs, const struct vpeer_place *a,
				  const struct vpeer_place *b, struct vpeer_pci_address *common)
{
	size_t count = count_common(a, b);

	*common = (struct vpeer_pci_address){ 0 };
	if (!vpeer_pci_compare(&a->pci, &b->pci))
		return VPEER_DISTANCE_SAME_FUNCTION;
	if (one_device(&a->whole, &b->whole))
		return VPEER_DISTANCE_SAME_DEVICE;
	if (strcmp(a->host, b->host))
		return distance_of_hosts(sysfs, a, b);
	if (!count)
		return VPEER_DISTANCE_SAME_BRIDGE;
	*common = a->bridges[count - 1];
	return count > 1 ? VPEER_DISTANCE_SAME_SWITCH : VPEER_DISTANCE_SAME_ROOT_PORT;
}

unsigned int vpeer_node_distance(const char *sysfs, int32_t from, int32_t to)
{
	char text[4096], *part, *rest = text;
	uint64_t figure;

	if (from < 0 || to < 0 ||
	    vpeer_sysfs_read(text, sizeof(text), "%s/devices/system/node/node%d/distance", sysfs,
			     from))
		return UINT_MAX;
	while ((part = strsep(&rest, " ")))
		if (!to--)
			return vpeer_parse_u64(part, &figure) || figure > UINT_MAX ?
				       UINT_MAX :
				       (unsigned int)figure;
	return UINT_MAX;
}

int vpeer_rdma_function(const char *sysfs, const char *name, struct vpeer_pci_address *pci)
{
	char netdev[64];

	if (!*name || *name == '.' || strchr(name, '/') ||
	    !vpeer_sysfs_exists("%s/class/infiniband/%s", sysfs, name))
		return -ENODEV;
	if (!vpeer_sysfs_read(netdev, sizeof(netdev), "%s/class/infiniband/%s/parent", sysfs, name))
		return vpeer_sysfs_pci(pci, "%s/class/net/%s/device", sysfs, netdev);
	return vpeer_sysfs_pci(pci, "%s/class/infiniband/%s/device", sysfs, name);
}
