// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is written of links. */
#include <string.h>

#include "../util.h"
#include "nccl.h"

bool nccl_needs_name(const struct nccl_item *item)
{
	char key[VPEER_PCI_LEN];

	if (item->gpu)
		return false;
	nccl_key(item->function->pci, key);
	return item->no_gdr || strcmp(key, item->function->pci);
}

/* All bridges of a guest are: their links mean nothing. Not every CPU tells that it is one's. */
bool nccl_is_emulated(const struct site *site, const struct function *bridge)
{
	return site->hypervisor[0] || !strcmp(bridge->vendor, "0x1b36");
}

/* As NCCL does: what both ends of the link can. */
static void limit_by_port(const struct nccl_plan *plan, struct nccl_item *item)
{
	const struct function *function = item->function, *port;
	struct nccl_link link;

	if (!function->bridge_count)
		return;
	port = site_function(plan->topo->site, function->bridges[function->bridge_count - 1]);
	if (!port || nccl_is_emulated(plan->topo->site, port))
		return;
	link = nccl_link(port);
	if (!link.width || !item->link.width)
		return;
	if (nccl_speed(link.speed) < nccl_speed(item->link.speed))
		text_format(item->link.speed, sizeof(item->link.speed), "%s", link.speed);
	if (link.width < item->link.width)
		item->link.width = link.width;
}

static const struct nccl_item *fastest_gpu(const struct nccl_plan *plan, size_t group)
{
	const struct nccl_item *best = NULL;

	for (size_t i = 0; i < plan->count; i++) {
		const struct nccl_item *item = &plan->items[i];

		if (!item->gpu || !item->link.width || (group && item->group != group))
			continue;
		if (!best || nccl_link_compare(&item->link, &best->link) > 0)
			best = item;
	}
	return best;
}

/* A VF's link is its PF's, which a guest does not see. */
static void guess(struct nccl_plan *plan, struct nccl_item *item)
{
	const struct nccl_item *like = fastest_gpu(plan, item->group);

	if (!like)
		like = fastest_gpu(plan, 0);
	if (!like) {
		nccl_remark(plan, item->function->pci, "the link is unknown.");
		return;
	}
	item->link = like->link;
	nccl_remark(plan, item->function->pci,
		    "the link does not show here; written as that of %s.", like->function->pci);
}

void nccl_plan_links(struct nccl_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		plan->items[i].link = nccl_link(plan->items[i].function);
		limit_by_port(plan, &plan->items[i]);
	}
	for (size_t i = 0; i < plan->count; i++)
		if (!plan->items[i].link.width)
			guess(plan, &plan->items[i]);
	for (size_t i = 0; i < plan->count; i++)
		if (nccl_needs_name(&plan->items[i]) && !plan->items[i].no_gdr)
			nccl_remark(plan, plan->items[i].function->pci, "named by the RDMA device, "
				    "since NCCL takes all functions of a bus for one NIC.");
}
