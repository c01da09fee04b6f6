// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Verdicts, from a document of the selftest. */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../selftest/verdict.h"
#include "../util.h"
#include "topo.h"

#define SELFTEST_SCHEMA	1
#define MOST_BYTES	(64LL << 20)

const char *measure_name(enum measure measure)
{
	static const enum verdict verdicts[] = {
		[MEASURE_PASS] = VERDICT_PASS,
		[MEASURE_UNPROVEN] = VERDICT_UNPROVEN,
		[MEASURE_BOUNCED] = VERDICT_BOUNCED,
		[MEASURE_FAIL] = VERDICT_FAIL,
		[MEASURE_TIMEOUT] = VERDICT_TIMEOUT,
	};

	return verdict_name(verdicts[measure]);
}

const char *topo_verdict(const struct topo_pair *pair)
{
	return pair->measured ? measure_name(pair->verdict) : "not measured";
}

const char *topo_grade(const struct topo_pair *pair)
{
	if (!pair->measured)
		return "";
	return grade_name(pair->window ? GRADE_WINDOW : GRADE_OWNER);
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

static int64_t number_of(struct json_object *object, const char *key, int64_t without)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) ||
	    !json_object_is_type(value, json_type_int))
		return without;
	return json_object_get_int64(value);
}

static bool verdict_of(const char *name, enum measure *verdict)
{
	for (enum measure i = MEASURE_PASS; i <= MEASURE_TIMEOUT; i++) {
		if (strcmp(measure_name(i), name))
			continue;
		*verdict = i;
		return true;
	}
	return false;
}

static void take_verdict(struct topo_pair *pair, enum measure verdict, struct json_object *from)
{
	pair->window |= !!strcmp(text_of(from, "grade"), grade_name(GRADE_OWNER));
	if (pair->measured && pair->verdict >= verdict)
		return;
	free(pair->cause);
	pair->cause = xstrdup(text_of(from, "cause"));
	pair->measured = true;
	pair->verdict = verdict;
}

static bool fits_row(const struct topo_memory *row, struct json_object *aperture)
{
	if (strcmp(row->function->pci, text_of(aperture, "pci")) ||
	    number_of(aperture, "bar", -1) != row->bar)
		return false;
	return !row->node[0] ||
	       number_of(aperture, "bar_offset", 0) == (int64_t)row->bar_offset;
}

/* A disk's name is of its namespace; its function is what counts. */
static bool fits_column(const struct topo_initiator *column, struct json_object *initiator)
{
	bool rdma = !strcmp(text_of(initiator, "kind"), "rdma");

	if (rdma != column->rdma)
		return false;
	if (!rdma)
		return column->function &&
		       !strcmp(column->function->pci, text_of(initiator, "pci"));
	if (strcmp(column->name, text_of(initiator, "name")))
		return false;
	return !text_of(initiator, "pci")[0] || !column->function ||
	       !strcmp(column->function->pci, text_of(initiator, "pci"));
}

static bool take_pair(struct topo *topo, struct json_object *pair)
{
	struct json_object *aperture, *initiator;
	enum measure verdict;
	bool found = false;

	if (!json_object_object_get_ex(pair, "aperture", &aperture) ||
	    !json_object_object_get_ex(pair, "initiator", &initiator) ||
	    !verdict_of(text_of(pair, "verdict"), &verdict))
		return false;
	for (size_t i = 0; i < topo->memory_count; i++) {
		if (!fits_row(&topo->memory[i], aperture))
			continue;
		for (size_t j = 0; j < topo->initiator_count; j++) {
			if (!fits_column(&topo->initiators[j], initiator))
				continue;
			take_verdict(topo_pair(topo, i, j), verdict, pair);
			found = true;
		}
	}
	topo->reported++;
	topo->strange += !found;
	return true;
}

static int fail(struct vpeer_error *error, const char *path, const char *what)
{
	return vpeer_fail(error, EINVAL, VPEER_REASON_NONE, path,
			  "give it what 'vpeer selftest --json' printed on this machine", "%s",
			  what);
}

static int take_document(struct topo *topo, const char *path, struct json_object *document,
			 struct vpeer_error *error)
{
	struct json_object *pairs;

	if (!json_object_is_type(document, json_type_object) ||
	    number_of(document, "schema_version", 0) != SELFTEST_SCHEMA ||
	    !json_object_object_get_ex(document, "pairs", &pairs) ||
	    !json_object_is_type(pairs, json_type_array))
		return fail(error, path, "is no document of the selftest");
	for (size_t i = 0; i < json_object_array_length(pairs); i++)
		if (!take_pair(topo, json_object_array_get_idx(pairs, i)))
			return fail(error, path, "has a pair without aperture, initiator or "
				    "verdict");
	if (!topo->reported)
		return fail(error, path, "tells of no pair: nothing was tested");
	if (topo->strange == topo->reported)
		return fail(error, path, "is of another machine: none of its pairs is here");
	return 0;
}

int topo_measured(struct topo *topo, const char *path, struct vpeer_error *error)
{
	struct json_object *document;
	struct stat status;
	int err;

	if (stat(path, &status))
		return vpeer_fail(error, errno, VPEER_REASON_NONE, path, "name a file that can "
				  "be read", "cannot read: %s", strerror(errno));
	if (!S_ISREG(status.st_mode) || status.st_size > MOST_BYTES)
		return fail(error, path, "is no document of the selftest");
	document = json_object_from_file(path);
	if (!document)
		return fail(error, path, "is no JSON document, or cannot be read");
	topo->report = path;
	err = take_document(topo, path, document, error);
	json_object_put(document);
	return err;
}
