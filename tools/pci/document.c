// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "../document.h"
#include "../util.h"
#include "function.h"

static struct json_object *acs_object(uint16_t bits)
{
	struct json_object *object = json_object_new_object();

	for (size_t i = 0; i < ACS_BITS; i++)
		json_put_flag(object, acs_bits[i].name, bits & acs_bits[i].mask);
	return object;
}

static void put_acs(struct json_object *object, const struct acs *acs)
{
	bool there = acs->presence == PRESENT;

	json_object_object_add(object, "ACSCap", there ? acs_object(acs->cap) : NULL);
	json_object_object_add(object, "ACSCtl", there ? acs_object(acs->ctl) : NULL);
}

static void put_ats(struct json_object *object, const struct ats *ats)
{
	struct json_object *cap = NULL, *ctl = NULL;

	if (ats->presence == PRESENT) {
		cap = json_object_new_object();
		json_put_number(cap, "InvalidateQueueDepth", ats->queue_depth);
		ctl = json_object_new_object();
		json_put_flag(ctl, "Enable", ats->enable);
		json_put_number(ctl, "SmallestTranslationUnit", ats->stu);
	}
	json_object_object_add(object, "ATSCap", cap);
	json_object_object_add(object, "ATSCtl", ctl);
}

static void put_express(struct json_object *object, const struct express *express)
{
	struct json_object *cap = NULL, *ctl = NULL;

	if (express->presence == PRESENT) {
		cap = json_object_new_object();
		json_put_number(cap, "MaxPayload", express->payload_cap);
		ctl = json_object_new_object();
		json_put_flag(ctl, "RlxdOrd", express->relaxed_ordering);
		json_put_flag(ctl, "ExtTag", express->ext_tag);
		json_put_number(ctl, "MaxPayload", express->payload);
		json_put_number(ctl, "MaxReadReq", express->read_request);
	}
	json_object_object_add(object, "DevCap", cap);
	json_object_object_add(object, "DevCtl", ctl);
}

static struct json_object *bars_array(const struct function *function)
{
	struct json_object *array = json_object_new_array();

	for (unsigned int i = 0; i < PCI_BARS; i++) {
		const struct pci_bar *bar = &function->bars[i];
		struct json_object *item;

		if (!bar->size)
			continue;
		item = json_object_new_object();
		json_put_number(item, "bar", i);
		json_put_number(item, "start", bar->start);
		json_put_number(item, "size", bar->size);
		json_put_flag(item, "memory", bar->memory);
		json_put_flag(item, "64-bit", bar->wide);
		json_put_flag(item, "prefetchable", bar->prefetchable);
		json_put_flag(item, "unassigned", bar->unassigned);
		json_object_array_add(array, item);
	}
	return array;
}

static struct json_object *group_object(const struct group *group)
{
	struct json_object *object, *devices;

	if (!group->known)
		return NULL;
	object = json_object_new_object();
	devices = json_object_new_array();
	for (size_t i = 0; i < group->count; i++)
		json_object_array_add(devices, json_object_new_string(group->members[i]));
	json_put_number(object, "number", group->number);
	json_put_known(object, "type", group->type);
	json_object_object_add(object, "devices", devices);
	return object;
}

static struct json_object *bridges_array(const struct function *function)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < function->bridge_count; i++)
		json_object_array_add(array, json_object_new_string(function->bridges[i]));
	return array;
}

struct json_object *function_document(const struct function *function)
{
	struct json_object *object = json_object_new_object();
	char class[16];

	text_format(class, sizeof(class), "0x%06x", function->class);
	json_put_text(object, "pci", function->pci);
	json_put_known(object, "vendor", function->vendor);
	json_put_known(object, "device", function->device);
	json_put_text(object, "class", class);
	json_put_known(object, "driver", function->driver);
	json_put_signed(object, "numa_node", function->numa_node);
	json_put_known(object, "root", function->root);
	json_object_object_add(object, "bridges", bridges_array(function));
	json_object_object_add(object, "iommu_group", group_object(&function->group));
	json_object_object_add(object, "resource", bars_array(function));
	json_put_number(object, "config_bytes", function->config.length);
	put_express(object, &function->express);
	put_ats(object, &function->ats);
	put_acs(object, &function->acs);
	return object;
}
