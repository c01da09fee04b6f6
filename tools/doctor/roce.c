// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RoCE in the guest: the GID that programs use, VLAN and MTU. */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "driver.h"
#include "guest.h"
#include "rdma.h"

#define PORT		"sys/class/infiniband/%s/ports/%u"
#define FULL_MTU	4096
#define NEEDED_MTU	4200	/* of the network device, with RoCE's headers */

static void saw_gid(struct findings *all, const struct site *site,
		    const struct rdma_device *device, const struct rdma_port *port,
		    const struct rdma_gid *gid)
{
	site_saw(all, site, PORT "/gids/%u", device->name, port->number, gid->index);
	site_saw(all, site, PORT "/gid_attrs/types/%u", device->name, port->number, gid->index);
}

static void say_no_address(struct findings *all, enum state state, const char *netdev)
{
	if (state == STATE_FAIL)
		finding_says(all, state, "no GID: RoCE has no address, or its network device is "
			     "in another network namespace");
	else
		finding_says(all, state, "only link-local GIDs of RoCE v2: they are not routed, "
			     "and NCCL looks for one of an IPv4 address");
	finding_remedy(all, job_guest, "'ip address add ADDRESS/PREFIX dev %s', also at boot",
		       netdev[0] ? netdev : "NETDEV");
}

static void judge_gid(struct findings *all, const struct site *site,
		      const struct rdma_device *device, const struct rdma_port *port)
{
	const struct rdma_gid *best = rdma_best_gid(port);
	const char *netdev = rdma_port_netdev(device, port);
	char object[128];

	rdma_port_object(device, port, object, sizeof(object));
	finding_add(all, "roce-gid", object);
	if (!best) {
		finding_saw(all, "no GID that is set", "/" PORT "/gids", device->name,
			    port->number);
		say_no_address(all, STATE_FAIL, netdev);
		return;
	}
	saw_gid(all, site, device, port, best);
	if (best->kind == GID_V2_LOCAL) {
		say_no_address(all, STATE_WARN, netdev);
	} else if (best->kind == GID_V1) {
		finding_says(all, STATE_WARN, "no GID of RoCE v2: version 1 is not routed, and "
			     "switches do not mark its congestion");
		finding_remedy(all, job_device, "give the guest a device whose firmware has RoCE "
			       "v2 (ConnectX-3 Pro: module mlx4_core with roce_mode=2)");
	} else {
		finding_says(all, STATE_OK, "GID %u is RoCE v2 of %s on %s%s", best->index,
			     best->address, best->netdev[0] ? best->netdev : "its network device",
			     best->four ? "" :
					  "; NCCL takes it with NCCL_IB_ADDR_FAMILY=AF_INET6");
	}
}

void check_roce_gid(struct findings *all, const struct site *site)
{
	rdma_each_roce_port(all, site, judge_gid);
}

static bool is_vlan(const struct site *site, const char *netdev)
{
	char text[256];

	return netdev[0] && !site_text(site, text, sizeof(text), "sys/class/net/%s/uevent",
				       netdev) && strstr(text, "DEVTYPE=vlan");
}

static const struct rdma_gid *routed_gid(const struct site *site, const struct rdma_port *port,
					 bool tagged)
{
	for (size_t i = 0; i < port->gid_count; i++)
		if (port->gids[i].kind == GID_V2 &&
		    is_vlan(site, port->gids[i].netdev) == tagged)
			return &port->gids[i];
	return NULL;
}

static void judge_vlan(struct findings *all, const struct site *site,
		       const struct rdma_device *device, const struct rdma_port *port)
{
	const struct rdma_gid *tagged = routed_gid(site, port, true);
	const struct rdma_gid *plain = routed_gid(site, port, false);
	char object[128], value[64], where[PATH_MAX];

	if (!tagged)
		return;
	rdma_port_object(device, port, object, sizeof(object));
	finding_add(all, "roce-vlan", object);
	site_saw(all, site, PORT "/gid_attrs/ndevs/%u", device->name, port->number, tagged->index);
	finding_says(all, STATE_OK, "GID %u, of %s, goes through the VLAN device %s: its priority "
		     "comes from that device's egress map", tagged->index, tagged->address,
		     tagged->netdev);
	if (!plain || site_setting(site, "NCCL_IB_GID_INDEX", value, sizeof(value), where,
				   sizeof(where)))
		return;
	site_saw(all, site, PORT "/gid_attrs/ndevs/%u", device->name, port->number, plain->index);
	finding_says(all, STATE_WARN, "GID %u (%s) is untagged, GID %u (VLAN device %s) is tagged: "
		     "a program that takes the first one may be in the wrong network",
		     plain->index, plain->netdev, tagged->index, tagged->netdev);
	finding_remedy(all, job_user, "NCCL_IB_GID_INDEX and UCX_IB_GID_INDEX: %u for the VLAN, "
		       "%u for the network without a tag", tagged->index, plain->index);
}

void check_roce_vlan(struct findings *all, const struct site *site)
{
	rdma_each_roce_port(all, site, judge_vlan);
}

/* What RoCE makes of a network device's MTU: the next power of two, less 96 bytes of headers. */
static unsigned int active_mtu(uint64_t mtu)
{
	unsigned int active = FULL_MTU;

	while (active > 256 && mtu < active + 96)
		active /= 2;
	return active;
}

static void judge_mtu(struct findings *all, const struct site *site,
		      const struct rdma_device *device, const struct rdma_port *port)
{
	const struct rdma_gid *best = rdma_best_gid(port);
	const char *netdev = best && best->netdev[0] ? best->netdev :
						       rdma_port_netdev(device, port);
	char object[128];
	unsigned int active;
	uint64_t mtu;

	if (device->kind == RDMA_SOFT || !netdev[0] ||
	    site_number(site, &mtu, "sys/class/net/%s/mtu", netdev))
		return;
	active = active_mtu(mtu);
	rdma_port_object(device, port, object, sizeof(object));
	finding_add(all, "roce-mtu", object);
	site_saw(all, site, "sys/class/net/%s/mtu", netdev);
	if (active == FULL_MTU) {
		finding_says(all, STATE_OK, "RoCE's MTU is %u; switches must carry it: not "
			     "measured", active);
		return;
	}
	finding_says(all, STATE_WARN, "RoCE's MTU is %u: %u needs an MTU of %u or more of %s",
		     active, FULL_MTU, NEEDED_MTU, netdev);
	finding_remedy(all, job_guest, "'ip link set %s mtu 9000', also at boot, after the PF%s "
		       "and the switches have it", netdev,
		       rdma_is_vf(device) ? " (host administrator)" : "");
}

void check_roce_mtu(struct findings *all, const struct site *site)
{
	rdma_each_roce_port(all, site, judge_mtu);
}
