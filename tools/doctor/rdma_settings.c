// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Variables of communication libraries that name RDMA devices and GIDs. */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "driver.h"
#include "guest.h"
#include "rdma.h"

/* Of NCCL_IB_HCA, "^=mlx5_0:1,mlx5_1": all but these, by their whole names. */
struct choice {
	bool all_but;
	bool whole;
	const char *list;	/* in @value */
	char value[1024];
	char where[PATH_MAX];
};

static bool choice_read(const struct site *site, struct choice *choice)
{
	*choice = (struct choice){ .list = choice->value };
	if (!site_setting(site, "NCCL_IB_HCA", choice->value, sizeof(choice->value),
			  choice->where, sizeof(choice->where)))
		return false;
	choice->all_but = *choice->list == '^';
	choice->list += choice->all_but;
	choice->whole = *choice->list == '=';
	choice->list += choice->whole;
	return true;
}

/* Whose the place is that a setting comes from. */
static const char *job_of(const char *where)
{
	return !strncmp(where, "/etc", strlen("/etc")) ? job_guest : job_user;
}

/* @entry of @length: "mlx5_0" or "mlx5_0:1" */
static bool entry_names(const char *entry, size_t length, bool whole, const char *device)
{
	const char *colon = memchr(entry, ':', length);

	if (colon)
		length = (size_t)(colon - entry);
	return !strncmp(entry, device, length) && (!whole || !device[length]);
}

static bool any_named(const struct site *site, const char *entry, size_t length, bool whole)
{
	for (size_t i = 0; i < site->rdma_count; i++)
		if (entry_names(entry, length, whole, site->rdma[i].name))
			return true;
	return false;
}

static bool listed(const struct choice *choice, const char *device)
{
	const char *at = choice->list;
	size_t length;

	for (; *at; at += length + (at[length] == ',')) {
		length = strcspn(at, ",");
		if (length && entry_names(at, length, choice->whole, device))
			return true;
	}
	return false;
}

/* NCCL uses the device, as far as the variable says. */
static bool chosen(const struct site *site, const char *device)
{
	struct choice choice;

	return !choice_read(site, &choice) || listed(&choice, device) != choice.all_but;
}

/* The first name of the list that no device has; its length, 0 for none. */
static size_t unknown_name(const struct site *site, const struct choice *choice,
			   const char **name)
{
	size_t length;

	for (*name = choice->list; **name; *name += length + ((*name)[length] == ',')) {
		length = strcspn(*name, ",");
		if (length && !any_named(site, *name, length, choice->whole))
			return length;
	}
	return 0;
}

void check_device_setting(struct findings *all, const struct site *site)
{
	struct choice choice;
	const char *name;
	size_t used = 0, length;

	if (!choice_read(site, &choice))
		return;
	for (size_t i = 0; i < site->rdma_count; i++)
		used += chosen(site, site->rdma[i].name);
	/* None at all is told of by "library-settings". */
	if (!used)
		return;
	finding_add(all, "nccl-device", "machine");
	finding_saw(all, choice.value, "NCCL_IB_HCA in %s", choice.where);
	finding_says(all, STATE_OK, "NCCL uses %zu of %zu RDMA devices", used, site->rdma_count);
	length = unknown_name(site, &choice, &name);
	if (!length || choice.all_but)
		return;
	finding_says(all, STATE_WARN, "NCCL_IB_HCA names %.*s, which is not here: NCCL uses %zu of "
		     "%zu devices", (int)length, name, used, site->rdma_count);
	finding_remedy(all, job_of(choice.where), "unset NCCL_IB_HCA, or name devices of "
		       "/sys/class/infiniband");
}

static const struct rdma_gid *gid_at(const struct rdma_port *port, unsigned long index)
{
	for (size_t i = 0; i < port->gid_count; i++)
		if (port->gids[i].index == index)
			return &port->gids[i];
	return NULL;
}

static void say_gid(struct findings *all, const char *name, unsigned long index,
		    const struct rdma_gid *gid)
{
	if (!gid)
		finding_says(all, STATE_FAIL, "%s names GID %lu, which is not set: no connection "
			     "comes up", name, index);
	else if (gid->kind == GID_V1)
		finding_says(all, STATE_WARN, "%s names GID %lu, of RoCE v1: it is not routed, "
			     "and both sides must have it", name, index);
	else
		finding_says(all, STATE_WARN, "%s names GID %lu, which is link-local: it is not "
			     "routed", name, index);
}

static void remedy_gid(struct findings *all, const char *name, const char *where,
		       const struct rdma_gid *best)
{
	if (best && best->kind == GID_V2)
		finding_remedy(all, job_of(where), "unset it, or %s=%u here (RoCE v2 of %s)", name,
			       best->index, best->address);
	else
		finding_remedy(all, job_of(where), "unset it");
}

static void judge_index(struct findings *all, const struct site *site,
			const struct rdma_device *device, const struct rdma_port *port,
			const char *name)
{
	char object[128], value[64], where[PATH_MAX], *end;
	const struct rdma_gid *gid;
	unsigned long index;

	if (!site_setting(site, name, value, sizeof(value), where, sizeof(where)) ||
	    *value < '0' || *value > '9')
		return;
	index = strtoul(value, &end, 10);
	gid = gid_at(port, index);
	if (*end || (gid && gid->kind == GID_V2))
		return;
	rdma_port_object(device, port, object, sizeof(object));
	finding_add(all, "gid-index", object);
	finding_saw(all, value, "%s in %s", name, where);
	finding_saw(all, gid ? gid->address : "nothing",
		    "/sys/class/infiniband/%s/ports/%u/gids/%lu", device->name, port->number,
		    index);
	say_gid(all, name, index, gid);
	remedy_gid(all, name, where, rdma_best_gid(port));
}

static void judge_gids(struct findings *all, const struct site *site,
		       const struct rdma_device *device, const struct rdma_port *port)
{
	if (chosen(site, device->name))
		judge_index(all, site, device, port, "NCCL_IB_GID_INDEX");
	judge_index(all, site, device, port, "UCX_IB_GID_INDEX");
}

void check_gid_setting(struct findings *all, const struct site *site)
{
	rdma_each_roce_port(all, site, judge_gids);
}
