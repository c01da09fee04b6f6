// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "topo.h"

#define CLASS_NVME		0x010802
#define CLASS_DISPLAY		0x03
#define CLASS_ACCELERATOR	0x12

bool topo_is_gpu(const struct function *function)
{
	return function->class >> 16 == CLASS_DISPLAY || function->class >> 16 == CLASS_ACCELERATOR;
}

char *topo_id(char kind, size_t index, char text[TOPO_ID_LEN])
{
	text_format(text, TOPO_ID_LEN, "%c%zu", kind, index);
	return text;
}

static void read_place(const struct topo *topo, const char *pci, struct vpeer_place *place)
{
	struct vpeer_pci_address address;

	*place = (struct vpeer_place){ .node = NO_NODE };
	if (!vpeer_pci_parse(pci, &address))
		vpeer_place_read(topo->site->sysfs, &address, place);
}

static struct topo_memory *add_memory(struct topo *topo, const struct function *function)
{
	struct topo_memory *row;
	struct clique clique;

	topo->memory = xrealloc(topo->memory, topo->memory_count + 1, sizeof(*row));
	row = &topo->memory[topo->memory_count++];
	*row = (struct topo_memory){ .function = function };
	config_clique(&function->config, &clique);
	row->clique = clique.presence;
	row->clique_id = clique.id;
	read_place(topo, function->pci, &row->place);
	return row;
}

static bool add_apertures(struct topo *topo, const struct function *function)
{
	const struct site *site = topo->site;
	char pci[VPEER_PCI_LEN];
	bool any = false;

	for (size_t i = 0; i < site->aperture_count; i++) {
		const struct vpeer_entry *entry = &site->apertures[i];
		struct topo_memory *row;

		if (strcmp(vpeer_pci_format(&entry->pci, pci), function->pci))
			continue;
		row = add_memory(topo, function);
		row->bar = entry->bar;
		row->size = entry->size;
		row->bar_offset = entry->bar_offset;
		text_format(row->node, sizeof(row->node), "%s", entry->node);
		any = true;
	}
	return any;
}

static void add_largest_bar(struct topo *topo, const struct function *function)
{
	struct topo_memory *row = add_memory(topo, function);

	for (unsigned int i = 0; i < PCI_BARS; i++) {
		const struct pci_bar *bar = &function->bars[i];

		if (!bar->memory || !bar->prefetchable || bar->size <= row->size)
			continue;
		row->bar = i;
		row->size = bar->size;
	}
}

static struct topo_initiator *add_initiator(struct topo *topo, const char *name, bool rdma)
{
	struct topo_initiator *column;

	topo->initiators = xrealloc(topo->initiators, topo->initiator_count + 1, sizeof(*column));
	column = &topo->initiators[topo->initiator_count++];
	*column = (struct topo_initiator){ .rdma = rdma, .place.node = NO_NODE };
	text_format(column->name, sizeof(column->name), "%s", name);
	return column;
}

static void add_rdma(struct topo *topo, const char *name)
{
	struct topo_initiator *column = add_initiator(topo, name, true);
	struct vpeer_pci_address address;
	char pci[VPEER_PCI_LEN];

	column->soft = site_has(topo->site, "sys/class/infiniband/%s/parent", name);
	if (vpeer_rdma_function(topo->site->sysfs, name, &address))
		return;
	vpeer_pci_format(&address, pci);
	column->function = site_function(topo->site, pci);
	read_place(topo, pci, &column->place);
}

static void add_storage(struct topo *topo, const struct function *function)
{
	size_t count;
	char **names;
	struct topo_initiator *column;

	count = site_names(topo->site, &names, "sys/bus/pci/devices/%s/nvme", function->pci);
	column = add_initiator(topo, count ? names[0] : "nvme", false);
	site_names_free(names, count);
	column->function = function;
	read_place(topo, function->pci, &column->place);
}

/* By address; those on no function last. */
static int by_place(const void *left, const void *right)
{
	const struct topo_initiator *a = left, *b = right;
	int order = !a->function - !b->function;

	if (!order && a->function)
		order = vpeer_pci_compare(&a->place.pci, &b->place.pci);
	return order ? order : strcmp(a->name, b->name);
}

static void read_initiators(struct topo *topo)
{
	size_t count;
	char **names;

	count = site_names(topo->site, &names, "sys/class/infiniband");
	for (size_t i = 0; i < count; i++)
		add_rdma(topo, names[i]);
	site_names_free(names, count);
	for (size_t i = 0; i < topo->site->function_count; i++)
		if (topo->site->functions[i].class == CLASS_NVME)
			add_storage(topo, &topo->site->functions[i]);
	if (topo->initiator_count)
		qsort(topo->initiators, topo->initiator_count, sizeof(*topo->initiators),
		      by_place);
}

static size_t number_of(struct topo *topo, const char *bridge)
{
	size_t i = 0;

	while (i < topo->bridge_count && strcmp(topo->bridges[i], bridge))
		i++;
	if (i < topo->bridge_count)
		return i;
	topo->bridges = xrealloc(topo->bridges, i + 1, sizeof(*topo->bridges));
	text_format(topo->bridges[i], sizeof(*topo->bridges), "%s", bridge);
	return topo->bridge_count++;
}

static void read_pair(struct topo *topo, const struct topo_memory *row,
		      const struct topo_initiator *column, struct topo_pair *pair)
{
	static const struct vpeer_pci_address none;
	struct vpeer_pci_address bridge;

	*pair = (struct topo_pair){ .distance = VPEER_DISTANCE_UNKNOWN };
	if (!column->function)
		return;
	pair->distance = vpeer_place_distance(topo->site->sysfs, &row->place, &column->place,
					      &bridge);
	if (!vpeer_pci_compare(&bridge, &none))
		return;
	vpeer_pci_format(&bridge, pair->bridge);
	pair->bridge_number = number_of(topo, pair->bridge);
}

static void read_pairs(struct topo *topo)
{
	topo->pairs = xrealloc(NULL, topo->memory_count * topo->initiator_count,
			       sizeof(*topo->pairs));
	for (size_t i = 0; i < topo->memory_count; i++)
		for (size_t j = 0; j < topo->initiator_count; j++)
			read_pair(topo, &topo->memory[i], &topo->initiators[j],
				  topo_pair(topo, i, j));
}

void topo_read(struct topo *topo, const struct site *site)
{
	*topo = (struct topo){ .site = site };
	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (site_is_memory(site, function) && !add_apertures(topo, function))
			add_largest_bar(topo, function);
	}
	read_initiators(topo);
	read_pairs(topo);
}

void topo_free(struct topo *topo)
{
	for (size_t i = 0; i < topo->memory_count * topo->initiator_count; i++)
		free(topo->pairs[i].cause);
	free(topo->memory);
	free(topo->initiators);
	free(topo->pairs);
	free(topo->bridges);
	*topo = (struct topo){ 0 };
}
