// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "rdma.h"

#define PORT		"sys/class/infiniband/%s/ports/%u"
#define MOST_GIDS	1024	/* no device has more */

/* False: not set, or no GID. */
static bool take_address(struct rdma_gid *gid, const char *text, bool *local)
{
	struct in6_addr address;

	if (inet_pton(AF_INET6, text, &address) != 1 || IN6_IS_ADDR_UNSPECIFIED(&address))
		return false;
	*local = IN6_IS_ADDR_LINKLOCAL(&address);
	gid->four = IN6_IS_ADDR_V4MAPPED(&address);
	if (gid->four)
		inet_ntop(AF_INET, &address.s6_addr[12], gid->address, sizeof(gid->address));
	else
		inet_ntop(AF_INET6, &address, gid->address, sizeof(gid->address));
	return true;
}

/* A GID's type is not to be read where none is set: the table has holes. */
static bool read_gid(const struct site *site, const char *device, unsigned int port,
		     struct rdma_gid *gid, const char *text)
{
	char type[32];
	bool local;

	if (!take_address(gid, text, &local))
		return false;
	if (site_text(site, type, sizeof(type), PORT "/gid_attrs/types/%u", device, port,
		      gid->index))
		return false;
	gid->kind = !strstr(type, "v2") ? GID_V1 : local ? GID_V2_LOCAL : GID_V2;
	if (site_text(site, gid->netdev, sizeof(gid->netdev), PORT "/gid_attrs/ndevs/%u", device,
		      port, gid->index))
		gid->netdev[0] = '\0';
	return true;
}

static void read_gids(const struct site *site, const char *device, struct rdma_port *port)
{
	char text[64];

	for (unsigned int i = 0; i < MOST_GIDS; i++) {
		struct rdma_gid gid = { .index = i };

		if (site_text(site, text, sizeof(text), PORT "/gids/%u", device, port->number, i))
			break;
		if (!read_gid(site, device, port->number, &gid, text))
			continue;
		port->gids = xrealloc(port->gids, port->gid_count + 1, sizeof(gid));
		port->gids[port->gid_count++] = gid;
	}
}

/* "4: ACTIVE" */
static enum port_state state_of(const char *text)
{
	switch (strtoul(text, NULL, 10)) {
	case 1:
		return PORT_DOWN;
	case 2:
		return PORT_INIT;
	case 3:
		return PORT_ARMED;
	case 4:
	case 5:
		return PORT_ACTIVE;
	default:
		return PORT_UNKNOWN;
	}
}

void rdma_port_read(const struct site *site, const char *device, struct rdma_port *port)
{
	char text[64];

	if (!site_text(site, text, sizeof(text), PORT "/state", device, port->number))
		port->state = state_of(text);
	if (!site_text(site, text, sizeof(text), PORT "/link_layer", device, port->number))
		port->ethernet = !strcmp(text, "Ethernet");
	if (site_text(site, port->rate, sizeof(port->rate), PORT "/rate", device, port->number))
		port->rate[0] = '\0';
	if (port->ethernet)
		read_gids(site, device, port);
}

const struct rdma_gid *rdma_best_gid(const struct rdma_port *port)
{
	const struct rdma_gid *best = NULL;

	for (size_t i = 0; i < port->gid_count; i++) {
		const struct rdma_gid *gid = &port->gids[i];

		if (!best || gid->kind > best->kind ||
		    (gid->kind == best->kind && gid->four && !best->four))
			best = gid;
	}
	return best;
}
