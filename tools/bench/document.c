// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <json-c/json.h>
#include <math.h>

#include "bench.h"

#define FORMAT_VERSION	1

static void put_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

static void put_u64(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_int64((int64_t)value));
}

/* JSON has no infinity. */
static void put_double(struct json_object *object, const char *key, double value)
{
	json_object_object_add(object, key, isfinite(value) ? json_object_new_double(value) : NULL);
}

static struct json_object *counts_object(const struct comparison *item, enum side side)
{
	struct json_object *object = json_object_new_object();

	for (enum counter i = 0; i < COUNTERS; i++) {
		if (item->counts[side].known[i])
			put_u64(object, counter_name(i), item->counts[side].value[i]);
		else
			json_object_object_add(object, counter_name(i), NULL);
	}
	return object;
}

static struct json_object *seconds_array(const struct comparison *item, enum side side)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < item->samples; i++)
		json_object_array_add(array, json_object_new_double(item->seconds[side][i]));
	return array;
}

static struct json_object *time_object(const struct comparison *item)
{
	struct json_object *object = json_object_new_object();
	const struct interval *interval = &item->interval;

	put_u64(object, "pairs", interval->pairs);
	put_double(object, "ratio", interval->ratio);
	put_double(object, "low", interval->low);
	put_double(object, "high", interval->high);
	put_double(object, "half_width", interval->half);
	put_text(object, "window_is", finding_name(interval_finding(interval)));
	for (enum side side = WINDOW; side <= HOST; side++)
		json_object_object_add(object, side == WINDOW ? "window_seconds" : "host_seconds",
				       seconds_array(item, side));
	return object;
}

static struct json_object *comparison_object(const struct comparison *item)
{
	struct json_object *object = json_object_new_object();
	const struct initiator *initiator = item->initiator;

	put_text(object, "operation", item->operation->name);
	put_text(object, "initiator", initiator ? initiator->name : "CPU");
	put_text(object, "pci", initiator ? initiator->pci : "");
	json_object_object_add(object, "soft",
			       json_object_new_boolean(initiator && initiator->soft));
	put_u64(object, "bytes", item->bytes);
	if (item->failed) {
		put_text(object, "error", item->error.message);
		return object;
	}
	if (item->operation == &operation_register)
		put_u64(object, "window_bytes_pinned", item->bytes_pinned);
	json_object_object_add(object, "window", counts_object(item, WINDOW));
	json_object_object_add(object, "host", counts_object(item, HOST));
	json_object_object_add(object, "time", time_object(item));
	return object;
}

static struct json_object *sources_object(const struct bench *bench)
{
	struct json_object *object = json_object_new_object();

	for (enum counter i = 0; i < COUNTERS; i++)
		put_text(object, counter_name(i), counter_source(i));
	put_text(object, "iommu_page_sizes", bench->meter.page_sizes_source);
	return object;
}

static struct json_object *missing_object(const struct bench *bench)
{
	struct json_object *object = json_object_new_object();

	for (enum counter i = 0; i < COUNTERS; i++)
		if (bench->meter.missing[i][0])
			put_text(object, counter_name(i), bench->meter.missing[i]);
	return object;
}

static struct json_object *unmeasured_object(const struct bench *bench)
{
	struct json_object *object = json_object_new_object();
	struct unmeasured list[MOST_UNMEASURED];
	size_t count = bench_unmeasured(bench, list);

	for (size_t i = 0; i < count; i++)
		put_text(object, list[i].what, list[i].why);
	return object;
}

static struct json_object *machine_object(const struct bench *bench)
{
	struct json_object *object = json_object_new_object();

	put_text(object, "kernel", bench->machine.release);
	put_text(object, "hypervisor", bench->machine.hypervisor);
	json_object_object_add(object, "emulated",
			       json_object_new_boolean(bench->machine.emulated));
	return object;
}

static struct json_object *aperture_object(const struct bench *bench)
{
	struct json_object *object = json_object_new_object();
	char pci[VPEER_PCI_LEN];

	put_text(object, "pci", vpeer_pci_format(&bench->entry->pci, pci));
	put_u64(object, "bar", bench->entry->bar);
	put_u64(object, "size", bench->entry->size);
	put_text(object, "memory_type", bench->entry->memory_type);
	return object;
}

struct json_object *bench_document(const struct bench *bench)
{
	struct json_object *document = json_object_new_object();
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < bench->count; i++)
		json_object_array_add(array, comparison_object(&bench->items[i]));
	put_u64(document, "format", FORMAT_VERSION);
	put_text(document, "version", TOOL_VERSION);
	json_object_object_add(document, "machine", machine_object(bench));
	json_object_object_add(document, "aperture", aperture_object(bench));
	put_text(document, "host_memory", bench->settings.huge ? "thp" : "4k");
	put_double(document, "widest_half_width", WIDEST_HALF);
	put_u64(document, "pilot_pairs", PILOT_PAIRS);
	json_object_object_add(document, "comparisons", array);
	json_object_object_add(document, "sources", sources_object(bench));
	json_object_object_add(document, "not_counted", missing_object(bench));
	json_object_object_add(document, "unmeasured", unmeasured_object(bench));
	return document;
}
