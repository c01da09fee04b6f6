// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "../document.h"
#include "metrics.h"

#define SCHEMA_VERSION	1

static struct json_object *place(const struct vpeer_pci_address *pci, unsigned int bar)
{
	struct json_object *object = json_object_new_object();
	char text[VPEER_PCI_LEN];

	json_put_text(object, "pci", vpeer_pci_format(pci, text));
	json_put_number(object, "bar", bar);
	return object;
}

static struct json_object *aperture(const struct reading *reading)
{
	struct json_object *object = place(&reading->entry.pci, reading->entry.bar);

	json_put_text(object, "node", reading->entry.node);
	json_put_text(object, "kind", reading->entry.kind);
	json_put_text(object, "memory_type", reading->entry.memory_type);
	json_put_text(object, "status", reading->entry.status);
	for (size_t i = 0; i < METRICS; i++) {
		const struct sample *sample = &reading->samples[i];

		json_object_object_add(object, metrics[i].file, sample->known ?
				       json_object_new_uint64(sample->value) : NULL);
	}
	return object;
}

static struct json_object *range_object(const struct quarantine *range)
{
	struct json_object *object = place(&range->pci, range->bar);

	json_put_number(object, "address", range->start);
	json_put_number(object, "size", range->size);
	json_put_number(object, "bytes_pinned", range->pinned);
	return object;
}

struct json_object *readings_document(const struct readings *readings)
{
	struct json_object *document = json_object_new_object();
	struct json_object *array = json_object_new_array();

	json_put_number(document, "schema_version", SCHEMA_VERSION);
	json_put_known(document, "module_version", readings->version);
	for (size_t i = 0; i < readings->count; i++)
		json_object_array_add(array, aperture(&readings->items[i]));
	json_object_object_add(document, "apertures", array);
	array = json_object_new_array();
	for (size_t i = 0; i < readings->range_count; i++)
		json_object_array_add(array, range_object(&readings->ranges[i]));
	json_object_object_add(document, "quarantine", array);
	return document;
}
