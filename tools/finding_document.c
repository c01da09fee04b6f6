// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "document.h"
#include "finding.h"

static struct json_object *evidence_array(const struct finding *finding)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < finding->count; i++) {
		struct json_object *item = json_object_new_object();

		json_put_text(item, "file", finding->evidence[i].file);
		json_put_text(item, "value", finding->evidence[i].value);
		json_object_array_add(array, item);
	}
	return array;
}

static struct json_object *finding_document(const struct finding *finding)
{
	struct json_object *object = json_object_new_object();

	if (finding->group[0])
		json_put_text(object, "group", finding->group);
	json_put_text(object, "name", finding->name);
	json_put_text(object, "object", finding->object);
	json_put_text(object, "state", state_name(finding->state));
	json_put_text(object, "meaning", finding->meaning);
	json_put_known(object, "remedy", finding->remedy);
	json_put_known(object, "job", finding->job);
	json_object_object_add(object, "evidence", evidence_array(finding));
	return object;
}

struct json_object *findings_summary(const struct findings *all)
{
	struct json_object *object = json_object_new_object();

	for (enum state state = STATE_OK; state < STATES; state++)
		json_put_number(object, state_name(state), findings_of(all, state));
	return object;
}

struct json_object *findings_document(const struct findings *all)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < all->count; i++)
		json_object_array_add(array, finding_document(&all->items[i]));
	return array;
}
