// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which GPUs and NICs a topology file gets, and under which NUMA node. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "nccl.h"

static void add_remark(struct nccl_plan *plan, const char *pci, const char *text)
{
	plan->remarks = xrealloc(plan->remarks, plan->remark_count + 1, sizeof(*plan->remarks));
	plan->remarks[plan->remark_count++] = (struct nccl_remark){
		.functions = pci ? xstrdup(pci) : NULL,
		.text = xstrdup(text),
	};
}

static void add_subject(struct nccl_remark *remark, const char *pci)
{
	size_t size = strlen(remark->functions) + VPEER_PCI_LEN + 2, used;

	remark->functions = xrealloc(remark->functions, size, 1);
	used = strlen(remark->functions);
	text_format(remark->functions + used, size - used, ", %s", pci);
}

void nccl_remark(struct nccl_plan *plan, const char *pci, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) < 0)
		text[0] = '\0';
	va_end(args);
	for (size_t i = 0; pci && i < plan->remark_count; i++) {
		if (!plan->remarks[i].functions || strcmp(plan->remarks[i].text, text))
			continue;
		add_subject(&plan->remarks[i], pci);
		return;
	}
	add_remark(plan, pci, text);
}

static struct nccl_item *find(const struct nccl_plan *plan, const struct function *function)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->items[i].function == function)
			return &plan->items[i];
	return NULL;
}

static void add(struct nccl_plan *plan, const struct function *function, bool gpu)
{
	if (find(plan, function))
		return;
	plan->items = xrealloc(plan->items, plan->count + 1, sizeof(*plan->items));
	plan->items[plan->count++] = (struct nccl_item){
		.function = function,
		.gpu = gpu,
		.node = function->numa_node,
	};
}

static void collect(struct nccl_plan *plan)
{
	const struct topo *topo = plan->topo;

	for (size_t i = 0; i < topo->memory_count; i++)
		if (topo_is_gpu(topo->memory[i].function))
			add(plan, topo->memory[i].function, true);
	for (size_t i = 0; i < topo->initiator_count; i++)
		if (topo->initiators[i].rdma && !topo->initiators[i].soft &&
		    topo->initiators[i].function)
			add(plan, topo->initiators[i].function, false);
}

/* Of a bridge above, the nearest one first. */
static int node_of_bridges(const struct site *site, const struct function *function)
{
	for (size_t i = function->bridge_count; i--;) {
		const struct function *bridge = site_function(site, function->bridges[i]);

		if (bridge && bridge->numa_node != NO_NODE)
			return bridge->numa_node;
	}
	return NO_NODE;
}

/* Of all others below the host bridge, if they are of one. */
static int node_of_host(const struct site *site, const struct function *function)
{
	int node = NO_NODE;

	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *other = &site->functions[i];

		if (strcmp(other->root, function->root) || other->numa_node == NO_NODE)
			continue;
		if (node != NO_NODE && node != other->numa_node)
			return NO_NODE;
		node = other->numa_node;
	}
	return node;
}

static int resolve(struct nccl_plan *plan, const struct function *function)
{
	const struct site *site = plan->topo->site;
	int first, node = node_of_bridges(site, function);

	if (node == NO_NODE)
		node = node_of_host(site, function);
	if (node != NO_NODE) {
		nccl_remark(plan, function->pci, "sysfs names no NUMA node; %d is that of what is "
						 "above or beside.", node);
		return node;
	}
	if (nccl_nodes_online(site, &first) > 1)
		nccl_remark(plan, function->pci, "sysfs names no NUMA node, nor for anything near; "
						 "%d is a guess.", first);
	else
		nccl_remark(plan, function->pci, "sysfs names no NUMA node; this machine has node "
						 "%d only.", first);
	return first;
}

/* A bridge stands once in a file, and so under one node. */
static bool same_port(const struct function *a, const struct function *b)
{
	return a->bridge_count && b->bridge_count && !strcmp(a->root, b->root) &&
	       !strcmp(a->bridges[0], b->bridges[0]);
}

static void join_port(struct nccl_plan *plan, size_t index)
{
	struct nccl_item *item = &plan->items[index];

	for (size_t i = 0; i < index; i++) {
		const struct nccl_item *other = &plan->items[i];

		if (other->group || item->group || !same_port(item->function, other->function))
			continue;
		if (item->node != other->node)
			nccl_remark(plan, item->function->pci, "sysfs names NUMA node %d, and "
				    "another one for what is below the same port.", item->node);
		item->node = other->node;
		return;
	}
}

void nccl_plan_nodes(struct nccl_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->items[i].node == NO_NODE)
			plan->items[i].node = resolve(plan, plan->items[i].function);
	for (size_t i = 0; i < plan->count; i++)
		join_port(plan, i);
}

static int refuse(const char *what, const char *remedy)
{
	fprintf(stderr, "vpeer: topology file: %s\n  remedy: %s\n", what, remedy);
	return EXIT_FAIL;
}

static void remark_measured(struct nccl_plan *plan)
{
	if (!plan->topo->report)
		nccl_remark(plan, NULL, "Not measured: no GPU and NIC stand nearer together than "
			    "sysfs shows them. Option 'measured' takes a report of 'vpeer "
			    "selftest'.");
	else if (!plan->groups)
		nccl_remark(plan, NULL, "Measured, but no pair passed that sysfs does not show "
			    "near already.");
	else
		nccl_remark(plan, NULL, "Measured: below each bridge ffff:... stand GPUs and NICs "
			    "whose bytes came through.");
}

int nccl_plan_make(struct nccl_plan *plan, const struct topo *topo)
{
	size_t gpus = 0;

	*plan = (struct nccl_plan){ .topo = topo };
	collect(plan);
	for (size_t i = 0; i < plan->count; i++)
		gpus += plan->items[i].gpu;
	if (!gpus)
		return refuse("this machine has no GPU whose memory could be placed",
			      "run it in the guest that has the GPUs");
	nccl_plan_groups(plan);
	nccl_plan_nodes(plan);
	nccl_plan_links(plan);
	remark_measured(plan);
	if (gpus == plan->count)
		nccl_remark(plan, NULL, "No RDMA device is here: GPUs only.");
	return EXIT_PASS;
}

void nccl_plan_free(struct nccl_plan *plan)
{
	for (size_t i = 0; i < plan->remark_count; i++) {
		free(plan->remarks[i].functions);
		free(plan->remarks[i].text);
	}
	free(plan->remarks);
	free(plan->items);
	*plan = (struct nccl_plan){ 0 };
}
