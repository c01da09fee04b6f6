// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "../document.h"
#include "../util.h"
#include "check.h"

#define SCHEMA_VERSION	1

static struct json_object *machine_object(const struct site *site)
{
	struct json_object *object = json_object_new_object();

	json_put_known(object, "osrelease", site->release);
	json_put_known(object, "cmdline", site->cmdline);
	json_put_known(object, "hypervisor", site->hypervisor);
	json_put_flag(object, "privileged", site->place->privileged);
	return object;
}

static const char *role(const struct site *site, const struct function *function)
{
	if (site_is_memory(site, function))
		return "memory";
	return site_is_initiator(site, function) ? "initiator" : "other";
}

static struct json_object *functions_array(const struct site *site)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];
		struct json_object *object = function_document(function);

		json_put_text(object, "role", role(site, function));
		json_put_known(object, "physfn", function->sriov.physfn);
		json_object_array_add(array, object);
	}
	return array;
}

struct json_object *doctor_document(const struct site *site, const struct findings *all)
{
	struct json_object *document = json_object_new_object();

	json_object_object_add(document, "schema_version", json_object_new_int(SCHEMA_VERSION));
	json_put_text(document, "version", TOOL_VERSION);
	json_object_object_add(document, "machine", machine_object(site));
	json_object_object_add(document, "functions", functions_array(site));
	json_object_object_add(document, "checks", findings_document(all));
	json_object_object_add(document, "summary", findings_summary(all));
	return document;
}
