// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rdma.h"

#include <stdlib.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "../util.h"

#define CLASS	"sys/class/infiniband"

/* Soft-RoCE and soft-iWARP name the network device they run on; hardware has no such file. */
static bool is_soft(const struct site *site, const char *name)
{
	return site_has(site, CLASS "/%s/parent", name) || !strncmp(name, "rxe", 3) ||
	       !strncmp(name, "siw", 3);
}

static const struct function *function_of(const struct site *site, const char *device)
{
	struct vpeer_pci_address address;
	char pci[VPEER_PCI_LEN];

	if (vpeer_sysfs_pci(&address, "%s/%s", site->sysfs, device))
		return NULL;
	return site_function(site, vpeer_pci_format(&address, pci));
}

static void read_soft(const struct site *site, struct rdma_device *device)
{
	char path[PATH_MAX];

	device->kind = RDMA_SOFT;
	text_format(device->driver, sizeof(device->driver), "%s", device->iwarp ? "siw" : "rxe");
	if (site_text(site, device->netdev, sizeof(device->netdev), CLASS "/%s/parent",
		      device->name))
		return;
	text_format(path, sizeof(path), "class/net/%s/device", device->netdev);
	device->function = function_of(site, path);
}

static void read_hard(const struct site *site, struct rdma_device *device)
{
	char path[PATH_MAX], **names;
	size_t count;

	text_format(path, sizeof(path), "class/infiniband/%s/device", device->name);
	device->function = function_of(site, path);
	if (!device->function)
		return;
	text_format(device->driver, sizeof(device->driver), "%s", device->function->driver);
	if (!strcmp(device->driver, "efa"))
		device->kind = RDMA_EFA;
	count = site_names(site, &names, "sys/bus/pci/devices/%s/net", device->function->pci);
	if (count)
		text_format(device->netdev, sizeof(device->netdev), "%s", names[0]);
	site_names_free(names, count);
}

static int by_number(const void *left, const void *right)
{
	unsigned int a = ((const struct rdma_port *)left)->number;
	unsigned int b = ((const struct rdma_port *)right)->number;

	return (a > b) - (a < b);
}

static void read_ports(const struct site *site, struct rdma_device *device)
{
	char **names;
	size_t count = site_names(site, &names, CLASS "/%s/ports", device->name);

	for (size_t i = 0; i < count; i++) {
		struct rdma_port port = { .number = (unsigned int)strtoul(names[i], NULL, 10) };

		if (!port.number)
			continue;
		rdma_port_read(site, device->name, &port);
		device->ports = xrealloc(device->ports, device->port_count + 1, sizeof(port));
		device->ports[device->port_count++] = port;
	}
	site_names_free(names, count);
	if (device->port_count)
		qsort(device->ports, device->port_count, sizeof(*device->ports), by_number);
}

static void read_device(struct site *site, const char *name)
{
	struct rdma_device device = { 0 };
	char type[64];

	text_format(device.name, sizeof(device.name), "%s", name);
	device.iwarp = !site_text(site, type, sizeof(type), CLASS "/%s/node_type", device.name) &&
		       strstr(type, "RNIC");
	if (is_soft(site, device.name))
		read_soft(site, &device);
	else
		read_hard(site, &device);
	if (device.function && device.kind != RDMA_SOFT)
		text_format(device.object, sizeof(device.object), "%s (%s)", device.name,
			    device.function->pci);
	else
		text_format(device.object, sizeof(device.object), "%s", device.name);
	read_ports(site, &device);
	site->rdma = xrealloc(site->rdma, site->rdma_count + 1, sizeof(device));
	site->rdma[site->rdma_count++] = device;
}

static void read_uverbs(struct site *site)
{
	char **names, device[64];
	size_t count = site_names(site, &names, "sys/class/infiniband_verbs");

	for (size_t i = 0; i < count; i++) {
		if (site_text(site, device, sizeof(device), "sys/class/infiniband_verbs/%s/ibdev",
			      names[i]))
			continue;
		for (size_t j = 0; j < site->rdma_count; j++)
			if (!strcmp(site->rdma[j].name, device))
				text_format(site->rdma[j].uverbs, sizeof(site->rdma[j].uverbs),
					    "%s", names[i]);
	}
	site_names_free(names, count);
}

void rdma_read(struct site *site)
{
	char **names;
	size_t count = site_names(site, &names, CLASS);

	for (size_t i = 0; i < count; i++)
		read_device(site, names[i]);
	site_names_free(names, count);
	read_uverbs(site);
}

void rdma_free(struct site *site)
{
	for (size_t i = 0; i < site->rdma_count; i++) {
		for (size_t j = 0; j < site->rdma[i].port_count; j++)
			free(site->rdma[i].ports[j].gids);
		free(site->rdma[i].ports);
	}
	free(site->rdma);
}

bool rdma_is_vf(const struct rdma_device *device)
{
	/* A guest sees no link to a PF: there, Mellanox' IDs tell. */
	static const char *const ids[] = { "0x1004", "0x1012", "0x1014", "0x1016",
					   "0x1018", "0x101a", "0x101c", "0x101e" };
	const struct function *function = device->function;

	if (!function || device->kind != RDMA_HARDWARE)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		if (!strcmp(function->vendor, "0x15b3") && !strcmp(function->device, ids[i]))
			return true;
	return function->sriov.physfn[0];
}

void rdma_port_object(const struct rdma_device *device, const struct rdma_port *port,
		      char *object, size_t size)
{
	if (device->port_count > 1)
		text_format(object, size, "%s port %u", device->object, port->number);
	else
		text_format(object, size, "%s", device->object);
}

void rdma_each_port(struct findings *all, const struct site *site, port_check *check)
{
	for (size_t i = 0; i < site->rdma_count; i++) {
		const struct rdma_device *device = &site->rdma[i];

		for (size_t j = 0; j < device->port_count && device->kind != RDMA_EFA; j++)
			check(all, site, device, &device->ports[j]);
	}
}

void rdma_each_roce_port(struct findings *all, const struct site *site, port_check *check)
{
	for (size_t i = 0; i < site->rdma_count; i++) {
		const struct rdma_device *device = &site->rdma[i];

		for (size_t j = 0; j < device->port_count && !device->iwarp; j++)
			if (device->ports[j].ethernet && device->ports[j].state == PORT_ACTIVE)
				check(all, site, device, &device->ports[j]);
	}
}

const char *rdma_port_netdev(const struct rdma_device *device, const struct rdma_port *port)
{
	return port->gid_count && port->gids[0].netdev[0] ? port->gids[0].netdev : device->netdev;
}
