// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ports of RDMA devices: whether they are up, and as fast as their likes. */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "driver.h"
#include "rdma.h"

#define PORT	"sys/class/infiniband/%s/ports/%u"
#define IFF_UP	1

static bool netdev_is_up(const struct site *site, const char *netdev)
{
	uint64_t flags;

	return site_number(site, &flags, "sys/class/net/%s/flags", netdev) || flags & IFF_UP;
}

static void say_no_link(struct findings *all, const struct rdma_device *device, bool ethernet,
			enum state state)
{
	finding_says(all, state, "the port is down: it has no link");
	if (!rdma_is_vf(device))
		finding_remedy(all, job_network, "connect the port, and enable it at the switch");
	else if (ethernet)
		finding_remedy(all, job_host, "'ip link set PF vf N state auto', with the PF's "
			       "link up");
	else
		finding_remedy(all, job_host,
			       "'echo Follow > /sys/class/infiniband/PF/device/sriov/N/policy', "
			       "with GUIDs set and the PF's link up");
}

static void say_down(struct findings *all, const struct site *site,
		     const struct rdma_device *device, const struct rdma_port *port)
{
	/* Of a machine of its own, a port may be down because nobody wants it. */
	enum state state = rdma_is_vf(device) ? STATE_FAIL : STATE_WARN;
	const char *netdev = rdma_port_netdev(device, port);

	if (netdev[0] && !netdev_is_up(site, netdev)) {
		site_saw(all, site, "sys/class/net/%s/flags", netdev);
		finding_says(all, state, "the port is down: %s is not up", netdev);
		finding_remedy(all, job_guest, "'ip link set %s up', also at boot", netdev);
		return;
	}
	if (netdev[0])
		site_saw(all, site, "sys/class/net/%s/operstate", netdev);
	say_no_link(all, device, port->ethernet, state);
}

static void say_not_set_up(struct findings *all, const struct rdma_port *port)
{
	if (port->ethernet) {
		finding_says(all, STATE_WARN, "the port has a link and is not active");
		finding_remedy(all, job_guest, "look again; if it stays so, reload the device's "
			       "driver");
		return;
	}
	finding_says(all, STATE_FAIL, "the port has a link, but no subnet manager has set it up");
	finding_remedy(all, job_network, "start a subnet manager (opensm, UFM) on the fabric; for "
		       "VFs it must support virtualization (opensm: virt_enabled 2)");
}

static void say_active(struct findings *all, const struct site *site,
		       const struct rdma_device *device, const struct rdma_port *port)
{
	uint64_t lid;

	site_saw(all, site, PORT "/rate", device->name, port->number);
	if (port->ethernet || device->iwarp ||
	    site_number(site, &lid, PORT "/lid", device->name, port->number) || lid) {
		finding_says(all, STATE_OK, "active%s%s", port->rate[0] ? ", " : "", port->rate);
		return;
	}
	site_saw(all, site, PORT "/lid", device->name, port->number);
	site_saw(all, site, PORT "/sm_lid", device->name, port->number);
	finding_says(all, STATE_WARN, "active without a LID: programs reach it only if they use "
		     "global routing");
	finding_remedy(all, job_network, "give it a LID by the subnet manager (opensm: "
		       "virt_enabled 2 for VFs)");
}

static void judge(struct findings *all, const struct site *site, const struct rdma_device *device,
		  const struct rdma_port *port)
{
	char object[128];

	rdma_port_object(device, port, object, sizeof(object));
	finding_add(all, "rdma-port", object);
	site_saw(all, site, PORT "/state", device->name, port->number);
	site_saw(all, site, PORT "/phys_state", device->name, port->number);
	switch (port->state) {
	case PORT_ACTIVE:
		say_active(all, site, device, port);
		break;
	case PORT_DOWN:
		say_down(all, site, device, port);
		break;
	case PORT_INIT:
	case PORT_ARMED:
		say_not_set_up(all, port);
		break;
	default:
		finding_says(all, STATE_UNKNOWN, "the state of its port cannot be read");
		break;
	}
}

void check_rdma_port(struct findings *all, const struct site *site)
{
	rdma_each_port(all, site, judge);
}

static bool alike(const struct rdma_device *a, const struct rdma_device *b)
{
	return a->kind == RDMA_HARDWARE && b->kind == RDMA_HARDWARE && a->function &&
	       b->function && !strcmp(a->function->vendor, b->function->vendor) &&
	       !strcmp(a->function->device, b->function->device);
}

/* The fastest active port of a device like @device. */
static const struct rdma_port *fastest(const struct site *site, const struct rdma_device *device,
				       const struct rdma_device **of)
{
	const struct rdma_port *best = NULL;

	for (size_t i = 0; i < site->rdma_count; i++) {
		if (!alike(&site->rdma[i], device))
			continue;
		for (size_t j = 0; j < site->rdma[i].port_count; j++) {
			const struct rdma_port *port = &site->rdma[i].ports[j];

			if (port->state != PORT_ACTIVE ||
			    (best && strtod(port->rate, NULL) <= strtod(best->rate, NULL)))
				continue;
			best = port;
			*of = &site->rdma[i];
		}
	}
	return best;
}

/* A port that is as fast as its likes was told of by "rdma-port". */
static void judge_rate(struct findings *all, const struct site *site,
		       const struct rdma_device *device, const struct rdma_port *port)
{
	const struct rdma_device *other = NULL;
	const struct rdma_port *best;
	char object[128];

	if (port->state != PORT_ACTIVE || !port->rate[0])
		return;
	best = fastest(site, device, &other);
	if (!best || strtod(port->rate, NULL) >= strtod(best->rate, NULL))
		return;
	rdma_port_object(device, port, object, sizeof(object));
	finding_add(all, "rdma-rate", object);
	site_saw(all, site, PORT "/rate", device->name, port->number);
	site_saw(all, site, PORT "/rate", other->name, best->number);
	finding_says(all, STATE_WARN, "slower than %s, a device of its kind: %s instead of %s",
		     other->name, port->rate, best->rate);
	finding_remedy(all, job_network, "look at cable, transceiver and the switch port's speed");
}

void check_rdma_rate(struct findings *all, const struct site *site)
{
	rdma_each_port(all, site, judge_rate);
}
