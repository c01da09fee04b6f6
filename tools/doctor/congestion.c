// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What keeps RoCE from losing packets, as far as files show it. A VF shows nothing of PFC and
 * ECN: its PF and the switch decide.
 */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "driver.h"
#include "guest.h"
#include "rdma.h"

/* Whether any priority has it. */
static bool enabled(const struct site *site, const char *netdev, const char *point)
{
	char **names;
	size_t count = site_names(site, &names, "sys/class/net/%s/ecn/%s/enable", netdev, point);
	uint64_t value;
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= !site_number(site, &value, "sys/class/net/%s/ecn/%s/enable/%s", netdev,
				    point, names[i]) && value;
	site_names_free(names, count);
	return any;
}

static void judge_congestion(struct findings *all, const struct site *site,
			     const struct rdma_device *device, const struct rdma_port *port)
{
	const char *netdev = device->netdev;
	bool notifies, reacts;
	char object[128];

	if (device->kind != RDMA_HARDWARE || !netdev[0] ||
	    !site_has(site, "sys/class/net/%s/ecn/roce_np/enable", netdev))
		return;
	notifies = enabled(site, netdev, "roce_np");
	reacts = enabled(site, netdev, "roce_rp");
	rdma_port_object(device, port, object, sizeof(object));
	finding_add(all, "roce-congestion", object);
	finding_saw(all, notifies ? "some" : "none", "/sys/class/net/%s/ecn/roce_np/enable/*",
		    netdev);
	finding_saw(all, reacts ? "some" : "none", "/sys/class/net/%s/ecn/roce_rp/enable/*",
		    netdev);
	finding_says(all, STATE_OK, "it notifies of congestion and reacts to it; PFC and what "
		     "switches mark do not show here: not measured");
	if (notifies && reacts)
		return;
	finding_says(all, STATE_WARN, "%s congestion for no priority: under load packets are lost, "
		     "or PFC stops the network", notifies ? "it reacts to" : "it notifies of");
	finding_remedy(all, job_host, "'echo 1 > /sys/class/net/%s/ecn/%s/enable/3', for the "
		       "priority of RoCE", netdev, notifies ? "roce_rp" : "roce_np");
}

void check_roce_congestion(struct findings *all, const struct site *site)
{
	rdma_each_roce_port(all, site, judge_congestion);
}

/* "Global tclass=106": the number; -1: none is forced. */
static long forced_class(const char *text)
{
	const char *at = strstr(text, "tclass=");

	return at ? strtol(at + strlen("tclass="), NULL, 10) : -1;
}

/* A variable that asks for another class than @forced; NULL for none. */
static const char *other_class(const struct site *site, long forced, char *value, size_t size,
			       char where[PATH_MAX])
{
	static const char *const names[] = { "NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS" };
	char *end;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (site_setting(site, names[i], value, size, where, PATH_MAX) &&
		    strtol(value, &end, 10) != forced && end != value)
			return names[i];
	return NULL;
}

static void judge_class(struct findings *all, const struct site *site,
			const struct rdma_device *device, const struct rdma_port *port)
{
	char object[128], text[256], value[64], where[PATH_MAX];
	const char *name;
	long forced;

	if (site_text(site, text, sizeof(text), "sys/class/infiniband/%s/tc/%u/traffic_class",
		      device->name, port->number))
		return;
	forced = forced_class(text);
	rdma_port_object(device, port, object, sizeof(object));
	finding_add(all, "roce-traffic-class", object);
	site_saw(all, site, "sys/class/infiniband/%s/tc/%u/traffic_class", device->name,
		 port->number);
	if (forced < 0) {
		finding_says(all, STATE_OK, "none is forced: programs choose (NCCL_IB_TC, "
			     "UCX_IB_TRAFFIC_CLASS)");
		return;
	}
	finding_says(all, STATE_OK, "all RoCE goes with traffic class %ld (DSCP %ld)", forced,
		     forced >> 2);
	name = other_class(site, forced, value, sizeof(value), where);
	if (!name)
		return;
	finding_saw(all, value, "%s in %s", name, where);
	finding_says(all, STATE_WARN, "traffic class %ld is forced for all, whatever %s says",
		     forced, name);
	finding_remedy(all, job_guest, "name the class that switches keep free of loss in "
		       "/sys/class/infiniband/%s/tc/%u/traffic_class and in %s", device->name,
		       port->number, where);
}

void check_roce_traffic_class(struct findings *all, const struct site *site)
{
	rdma_each_roce_port(all, site, judge_class);
}
