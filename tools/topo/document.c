// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The document of "vpeer topo --json"; vpeer-topo(1) describes it. */
#include "../document.h"
#include "../util.h"
#include "topo.h"

#define SCHEMA_VERSION	1

static void put_function(struct json_object *object, const struct function *function)
{
	struct json_object *bridges = json_object_new_array();

	json_put_text(object, "pci", function->pci);
	json_put_text(object, "vendor", function->vendor);
	json_put_text(object, "device", function->device);
	json_put_known(object, "driver", function->driver);
	json_put_signed(object, "numa_node", function->numa_node);
	json_put_known(object, "physfn", function->sriov.physfn);
	json_put_known(object, "host_bridge", function->root);
	for (size_t i = 0; i < function->bridge_count; i++)
		json_object_array_add(bridges, json_text(function->bridges[i]));
	json_object_object_add(object, "bridges", bridges);
}

static struct json_object *clique_object(const struct topo_memory *row)
{
	static const char *const states[] = {
		[NOT_READ] = "not read",
		[ABSENT] = "absent",
		[PRESENT] = "present",
	};
	struct json_object *object = json_object_new_object();

	json_put_text(object, "state", states[row->clique]);
	json_put_signed(object, "id", row->clique == PRESENT ? (long)row->clique_id : -1);
	return object;
}

static struct json_object *memory_object(const struct topo *topo, size_t index)
{
	struct json_object *object = json_object_new_object();
	const struct topo_memory *row = &topo->memory[index];
	char id[TOPO_ID_LEN];

	json_put_text(object, "id", topo_id('m', index, id));
	put_function(object, row->function);
	json_put_signed(object, "bar", row->size ? (long)row->bar : -1);
	json_put_number(object, "bar_offset", row->bar_offset);
	json_put_number(object, "size", row->size);
	json_put_known(object, "node", row->node);
	json_object_object_add(object, "clique", clique_object(row));
	return object;
}

static struct json_object *initiator_object(const struct topo *topo, size_t index)
{
	struct json_object *object = json_object_new_object();
	const struct topo_initiator *column = &topo->initiators[index];
	char id[TOPO_ID_LEN];

	json_put_text(object, "id", topo_id('i', index, id));
	json_put_text(object, "name", column->name);
	json_put_text(object, "kind", column->rdma ? "rdma" : "nvme");
	if (column->function)
		put_function(object, column->function);
	else
		json_object_object_add(object, "pci", NULL);
	return object;
}

static struct json_object *pair_object(const struct topo *topo, size_t row, size_t column)
{
	struct json_object *object = json_object_new_object();
	const struct topo_pair *pair = topo_pair(topo, row, column);
	char id[TOPO_ID_LEN];

	json_put_text(object, "memory", topo_id('m', row, id));
	json_put_text(object, "initiator", topo_id('i', column, id));
	json_put_text(object, "distance", vpeer_distance_name(pair->distance));
	json_put_known(object, "bridge", pair->bridge);
	json_put_text(object, "verdict", topo_verdict(pair));
	json_put_known(object, "grade", pair->verdict == MEASURE_PASS ? topo_grade(pair) : "");
	json_put_known(object, "cause", pair->measured ? pair->cause : "");
	return object;
}

static struct json_object *report_object(const struct topo *topo)
{
	struct json_object *object;

	if (!topo->report)
		return NULL;
	object = json_object_new_object();
	json_put_text(object, "file", topo->report);
	json_put_number(object, "pairs", topo->reported);
	json_put_number(object, "pairs_not_here", topo->strange);
	return object;
}

struct json_object *topo_document(const struct topo *topo)
{
	struct json_object *document = json_object_new_object();
	struct json_object *memory = json_object_new_array();
	struct json_object *initiators = json_object_new_array();
	struct json_object *pairs = json_object_new_array();

	json_object_object_add(document, "schema_version", json_object_new_int(SCHEMA_VERSION));
	json_put_text(document, "version", TOOL_VERSION);
	json_object_object_add(document, "measured", report_object(topo));
	for (size_t i = 0; i < topo->memory_count; i++)
		json_object_array_add(memory, memory_object(topo, i));
	for (size_t i = 0; i < topo->initiator_count; i++)
		json_object_array_add(initiators, initiator_object(topo, i));
	for (size_t i = 0; i < topo->memory_count; i++)
		for (size_t j = 0; j < topo->initiator_count; j++)
			json_object_array_add(pairs, pair_object(topo, i, j));
	json_object_object_add(document, "memory", memory);
	json_object_object_add(document, "initiators", initiators);
	json_object_object_add(document, "pairs", pairs);
	return document;
}
