// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Writes a topology file. NCCL's reader is no XML parser: no declaration, one blank before
 * each attribute, no tabs, no escapes.
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "../util.h"
#include "nccl.h"

#define MOST_DEPTH	(MOST_BRIDGES + 1)
#define DEVICES		31	/* of a made-up bus, from 1 on */

struct writer {
	const struct nccl_plan *plan;
	FILE *file;
	struct nccl_cpu cpu;
	const char *open[MOST_DEPTH];	/* bridges */
	size_t depth;
};

static void indent(struct writer *writer, size_t depth)
{
	fprintf(writer->file, "%*s", (int)(2 + 2 * depth), "");
}

static void put_link(struct writer *writer, const struct nccl_link *link, bool always)
{
	if (link->width)
		fprintf(writer->file, " link_speed=\"%s\" link_width=\"%u\"", link->speed,
			link->width);
	else if (always)
		fputs(" link_speed=\"\" link_width=\"\"", writer->file);
}

static void put_id(struct writer *writer, const char *key, const char *text)
{
	uint64_t id;

	if (!vpeer_parse_u64(text, &id) && id <= UINT16_MAX)
		fprintf(writer->file, " %s=\"0x%04x\"", key, (unsigned int)id);
}

/* An emulated one is as fast as what is below it needs; so is one whose link is unknown. */
static struct nccl_link link_of_bridge(struct writer *writer, const struct function *bridge)
{
	const struct nccl_plan *plan = writer->plan;
	struct nccl_link link = nccl_link(bridge);

	if (link.width && !nccl_is_emulated(plan->topo->site, bridge))
		return link;
	link = (struct nccl_link){ "", 0 };
	for (size_t i = 0; i < plan->count; i++) {
		const struct nccl_item *item = &plan->items[i];

		for (size_t j = 0; !item->group && j < item->function->bridge_count; j++)
			if (!strcmp(item->function->bridges[j], bridge->pci) &&
			    nccl_link_compare(&item->link, &link) > 0)
				link = item->link;
	}
	return link;
}

static void open_bridge(struct writer *writer, const char *pci)
{
	const struct function *bridge = site_function(writer->plan->topo->site, pci);
	struct nccl_link link = { "", 0 };

	indent(writer, writer->depth + 1);
	fprintf(writer->file, "<pci busid=\"%s\" class=\"0x%06x\"", pci,
		bridge ? bridge->class : 0x060400);
	if (bridge)
		link = link_of_bridge(writer, bridge);
	put_link(writer, &link, true);
	if (bridge) {
		put_id(writer, "vendor", bridge->vendor);
		put_id(writer, "device", bridge->device);
	}
	fputs(">\n", writer->file);
	writer->open[writer->depth++] = pci;
}

static void close_to(struct writer *writer, size_t depth)
{
	while (writer->depth > depth) {
		indent(writer, writer->depth--);
		fputs("</pci>\n", writer->file);
	}
}

/* What NCCL would take for markup cannot be written at all. */
static bool is_name(const char *name)
{
	return *name && !strpbrk(name, "\"'<>&/= \t") && is_one_line(name);
}

static void put_devices(struct writer *writer, const struct nccl_item *item)
{
	const struct topo_initiator *device;
	size_t at = 0;

	indent(writer, writer->depth + 2);
	fputs("<nic>\n", writer->file);
	while ((device = nccl_device(writer->plan->topo, item->function, &at))) {
		if (!is_name(device->name))
			continue;
		indent(writer, writer->depth + 3);
		fprintf(writer->file, "<net name=\"%s\"%s/>\n", device->name,
			item->no_gdr ? " gdr=\"0\"" : "");
	}
	indent(writer, writer->depth + 2);
	fputs("</nic>\n", writer->file);
}

static void put_item(struct writer *writer, const struct nccl_item *item)
{
	const struct function *function = item->function;
	bool named = nccl_needs_name(item);

	indent(writer, writer->depth + 1);
	fprintf(writer->file, "<pci busid=\"%s\" class=\"0x%06x\"", function->pci,
		function->class);
	put_link(writer, &item->link, named);
	put_id(writer, "vendor", function->vendor);
	put_id(writer, "device", function->device);
	fputs(named ? ">\n" : "/>\n", writer->file);
	if (!named)
		return;
	put_devices(writer, item);
	indent(writer, writer->depth + 1);
	fputs("</pci>\n", writer->file);
}

/* Closes the bridges that it is not below, opens those that it is. */
static void put_in_place(struct writer *writer, const struct nccl_item *item)
{
	const struct function *function = item->function;
	size_t common = 0;

	while (common < writer->depth && common < function->bridge_count &&
	       !strcmp(writer->open[common], function->bridges[common]))
		common++;
	close_to(writer, common);
	while (writer->depth < function->bridge_count)
		open_bridge(writer, function->bridges[writer->depth]);
	put_item(writer, item);
}

static int by_path(const void *left, const void *right)
{
	const struct function *a = (*(const struct nccl_item *const *)left)->function;
	const struct function *b = (*(const struct nccl_item *const *)right)->function;
	int order = strcmp(a->root, b->root);

	for (size_t i = 0; !order && (i < a->bridge_count || i < b->bridge_count); i++)
		order = strcmp(i < a->bridge_count ? a->bridges[i] : a->pci,
			       i < b->bridge_count ? b->bridges[i] : b->pci);
	return order ? order : strcmp(a->pci, b->pci);
}

static void put_ungrouped(struct writer *writer, int node)
{
	const struct nccl_plan *plan = writer->plan;
	const struct nccl_item **items = xrealloc(NULL, plan->count, sizeof(*items));
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++)
		if (!plan->items[i].group && plan->items[i].node == node)
			items[count++] = &plan->items[i];
	if (count)
		qsort(items, count, sizeof(*items), by_path);
	for (size_t i = 0; i < count; i++)
		put_in_place(writer, items[i]);
	close_to(writer, 0);
	free(items);
}

static const struct nccl_item *first_of(const struct nccl_plan *plan, size_t group)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->items[i].group == group)
			return &plan->items[i];
	return NULL;
}

/* Buses from ff down in a domain that no machine has. */
static void put_group(struct writer *writer, size_t group)
{
	const struct nccl_plan *plan = writer->plan;
	const struct nccl_item *first = first_of(plan, group);
	struct nccl_link link = first->link;

	for (size_t i = 0; i < plan->count; i++)
		if (plan->items[i].group == group &&
		    nccl_link_compare(&plan->items[i].link, &link) > 0)
			link = plan->items[i].link;
	indent(writer, 1);
	fprintf(writer->file, "<pci busid=\"ffff:%02x:%02x.0\" class=\"0x060400\"",
		(unsigned int)(0xff - (group - 1) / DEVICES) & 0xff,
		(unsigned int)((group - 1) % DEVICES + 1));
	put_link(writer, &link, true);
	fputs(" vendor=\"0x0000\" device=\"0x0000\" subsystem_vendor=\"0x0000\""
	      " subsystem_device=\"0x0000\">\n", writer->file);
	writer->depth = 1;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->items[i].group == group)
			put_item(writer, &plan->items[i]);
	close_to(writer, 0);
}

static void put_cpu(struct writer *writer, int node)
{
	const struct nccl_plan *plan = writer->plan;
	char cpus[NCCL_MOST_VALUE + 1];

	fprintf(writer->file, "  <cpu numaid=\"%d\"", node);
	if (!nccl_node_cpus(plan->topo->site, node, cpus, sizeof(cpus)))
		fprintf(writer->file, " affinity=\"%s\"", cpus);
	if (writer->cpu.arch[0])
		fprintf(writer->file, " arch=\"%s\"", writer->cpu.arch);
	if (writer->cpu.vendor[0])
		fprintf(writer->file, " vendor=\"%s\" familyid=\"%u\" modelid=\"%u\"",
			writer->cpu.vendor, nccl_family(writer->cpu.family), writer->cpu.model);
	fputs(">\n", writer->file);
	put_ungrouped(writer, node);
	for (size_t i = 1; i <= plan->groups; i++)
		if (first_of(plan, i)->node == node)
			put_group(writer, i);
	fputs("  </cpu>\n", writer->file);
}

/* The smallest that is larger than @after; NO_NODE after the last. */
static int next_node(const struct nccl_plan *plan, int after)
{
	int next = NO_NODE;

	for (size_t i = 0; i < plan->count; i++) {
		const struct nccl_item *item = &plan->items[i];
		int node = item->group ? first_of(plan, item->group)->node : item->node;

		if (node > after && (next == NO_NODE || node < next))
			next = node;
	}
	return next;
}

/* Two hyphens would end, or spoil, the comment. */
static void put_text(const char *text, FILE *file)
{
	for (char before = '\0'; *text; before = *text++) {
		if (*text == '-' && before == '-')
			fputc(' ', file);
		fputc((unsigned char)*text < ' ' ? '?' : *text, file);
	}
}

static void put_remark(const struct nccl_remark *remark, FILE *file)
{
	fputs("     ", file);
	if (remark->functions)
		fprintf(file, "%s: ", remark->functions);
	put_text(remark->text, file);
	fputc('\n', file);
}

void nccl_write(const struct nccl_plan *plan, FILE *file)
{
	struct writer writer = { .plan = plan, .file = file };

	nccl_cpu_read(&writer.cpu, plan->topo->site);
	fprintf(file, "<!-- Topology of this machine for NCCL (NCCL_TOPO_FILE), by vpeer %s.\n",
		TOOL_VERSION);
	for (size_t i = 0; i < plan->remark_count; i++)
		put_remark(&plan->remarks[i], file);
	fputs("-->\n<system version=\"1\">\n", file);
	for (int node = next_node(plan, NO_NODE); node != NO_NODE; node = next_node(plan, node))
		put_cpu(&writer, node);
	fputs("</system>\n", file);
}
