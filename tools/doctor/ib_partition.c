// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Partitions of InfiniBand ports: limited members of one do not reach one another. */
#include "../util.h"
#include "driver.h"
#include "rdma.h"

#define PKEY		"sys/class/infiniband/%s/ports/%u/pkeys/%u"
#define MOST_KEYS	128
#define FULL_MEMBER	0x8000

/* Index of the first partition with full membership, MOST_KEYS for none. */
static unsigned int full_member(const struct site *site, const struct rdma_device *device,
				const struct rdma_port *port)
{
	uint64_t key;

	for (unsigned int i = 0; i < MOST_KEYS; i++) {
		if (site_number(site, &key, PKEY, device->name, port->number, i))
			break;
		if (key & FULL_MEMBER)
			return i;
	}
	return MOST_KEYS;
}

static void judge(struct findings *all, const struct site *site, const struct rdma_device *device,
		  const struct rdma_port *port)
{
	char object[128];
	unsigned int full;
	uint64_t key;

	if (port->state != PORT_ACTIVE || port->ethernet || device->kind != RDMA_HARDWARE ||
	    site_number(site, &key, PKEY, device->name, port->number, 0))
		return;
	rdma_port_object(device, port, object, sizeof(object));
	finding_add(all, "ib-partition", object);
	site_saw(all, site, PKEY, device->name, port->number, 0);
	finding_says(all, STATE_OK, "a full member of its first partition");
	if (key & FULL_MEMBER)
		return;
	full = full_member(site, device, port);
	finding_says(all, STATE_WARN, "a limited member of its first partition: NCCL takes that "
		     "one, and limited members do not reach one another");
	if (full < MOST_KEYS)
		finding_remedy(all, job_user, "NCCL_IB_PKEY=%u, a partition that it is a full "
			       "member of", full);
	else
		finding_remedy(all, job_network, "full membership for the port's GUID in a "
			       "partition of the subnet manager");
}

void check_ib_partition(struct findings *all, const struct site *site)
{
	rdma_each_port(all, site, judge);
}
