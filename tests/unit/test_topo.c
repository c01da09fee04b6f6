// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* "vpeer topo": distances, verdicts, tables, document and drawing. */
#include "topo_fixture.h"

#include <json-c/json.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

static const struct topo_pair *pair(const struct topo_fixture *fixture, size_t row, size_t column)
{
	return topo_pair(&fixture->topo, row, column);
}

static void distances_and_bridges(void **state)
{
	struct topo_fixture fixture;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "switch");
	assert_int_equal(fixture.topo.memory_count, 2);
	assert_int_equal(fixture.topo.initiator_count, 2);
	assert_int_equal(pair(&fixture, 0, 0)->distance, VPEER_DISTANCE_SAME_SWITCH);
	assert_string_equal(pair(&fixture, 0, 0)->bridge, "0000:16:00.0");
	assert_int_equal(pair(&fixture, 0, 1)->distance, VPEER_DISTANCE_FAR);
	assert_string_equal(pair(&fixture, 0, 1)->bridge, "");
	assert_string_equal(pair(&fixture, 1, 1)->bridge, "0000:ca:00.0");
	assert_int_equal(fixture.topo.bridge_count, 2);
	topo_end(&fixture);
}

static void initiators_are_rdma_and_nvme(void **state)
{
	struct topo_fixture fixture;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	assert_int_equal(fixture.topo.initiator_count, 3);
	assert_string_equal(fixture.topo.initiators[0].name, "mlx5_0");
	assert_string_equal(fixture.topo.initiators[0].function->pci, "0000:00:05.0");
	assert_true(fixture.topo.initiators[0].rdma);
	assert_false(fixture.topo.initiators[2].rdma);
	assert_string_equal(fixture.topo.initiators[2].function->pci, "0000:00:07.0");
	assert_int_equal(fixture.topo.memory[0].size, 128ULL << 30);
	assert_int_equal(fixture.topo.memory[0].bar, 2);
	topo_end(&fixture);
}

/* In software, on a network device of a function, or on one of none. */
static void soft_devices(void **state)
{
	struct topo_fixture fixture;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	fixture_file(fixture.root, "sys/class/infiniband/rxe0/parent", "eth1\n");
	fixture_file(fixture.root, "sys/class/infiniband/rxe1/parent", "lo\n");
	topo_again(&fixture);
	assert_int_equal(fixture.topo.initiator_count, 5);
	assert_string_equal(fixture.topo.initiators[1].name, "rxe0");
	assert_true(fixture.topo.initiators[1].soft);
	assert_string_equal(fixture.topo.initiators[1].function->pci, "0000:00:05.0");
	assert_string_equal(fixture.topo.initiators[4].name, "rxe1");
	assert_null(fixture.topo.initiators[4].function);
	assert_int_equal(pair(&fixture, 0, 4)->distance, VPEER_DISTANCE_UNKNOWN);
	topo_end(&fixture);
}

/* Rows are apertures where there are some. */
static void apertures_are_rows(void **state)
{
	static const char *const files[][2] = {
		{ "bar", "2\n" },	    { "size", "67108864\n" },  { "granule", "2097152\n" },
		{ "bytes_free", "0\n" },    { "bytes_pinned", "0\n" }, { "windows", "0\n" },
		{ "mappings", "0\n" },	    { "status", "ok\n" },      { "kind", "foreign\n" },
		{ "bar_offset", "65536\n" }, { "memory_type", "uncached\n" },
	};
	struct topo_fixture fixture;
	char path[128], target[512];

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		text_format(path, sizeof(path), "sys/class/vpeer/vpeer0/%s", files[i][0]);
		fixture_file(fixture.root, path, files[i][1]);
	}
	text_format(target, sizeof(target), "%s/sys/bus/pci/devices/0000:02:00.0",
		    (const char *)fixture.root);
	fixture_link(fixture.root, "sys/class/vpeer/vpeer0/device", target);
	topo_again(&fixture);
	assert_int_equal(fixture.topo.memory_count, 2);
	assert_string_equal(fixture.topo.memory[0].node, "");
	assert_string_equal(fixture.topo.memory[1].node, "/dev/vpeer0");
	assert_int_equal(fixture.topo.memory[1].size, 67108864);
	assert_int_equal(fixture.topo.memory[1].bar_offset, 65536);
	topo_end(&fixture);
}

static void cliques(void **state)
{
	struct topo_fixture fixture;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "wide");
	assert_int_equal(fixture.topo.memory[0].clique, PRESENT);
	assert_int_equal(fixture.topo.memory[0].clique_id, 0);
	assert_int_equal(fixture.topo.memory[7].clique, PRESENT);
	assert_int_equal(fixture.topo.memory[7].clique_id, 1);
	topo_end(&fixture);
	topo_begin(&fixture, TOPOLOGIES, "flat");
	assert_int_equal(fixture.topo.memory[0].clique, ABSENT);
	fixture_bytes(fixture.root, "sys/bus/pci/devices/0000:01:00.0/config",
		      fixture.topo.memory[0].function->config.bytes, 64);
	topo_again(&fixture);
	assert_int_equal(fixture.topo.memory[0].clique, NOT_READ);
	topo_end(&fixture);
}

static const char *diagonal(size_t row, size_t column)
{
	if (row == column)
		return row ? "PASS window" : "PASS";
	if (column == 2)
		return "TIMEOUT";
	return row ? NULL : "UNPROVEN";
}

static void verdicts_of_a_report(void **state)
{
	struct topo_fixture fixture;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	assert_string_equal(topo_verdict(pair(&fixture, 0, 0)), "not measured");
	assert_int_equal(topo_measure(&fixture, diagonal), 0);
	assert_int_equal(fixture.topo.reported, 5);
	assert_int_equal(fixture.topo.strange, 0);
	assert_string_equal(topo_verdict(pair(&fixture, 0, 0)), "PASS");
	assert_string_equal(topo_grade(pair(&fixture, 0, 0)), "owner");
	assert_string_equal(topo_verdict(pair(&fixture, 1, 1)), "PASS");
	assert_string_equal(topo_grade(pair(&fixture, 1, 1)), "window");
	assert_string_equal(topo_verdict(pair(&fixture, 0, 1)), "UNPROVEN");
	assert_string_equal(pair(&fixture, 0, 1)->cause, "bytes differ");
	assert_string_equal(topo_verdict(pair(&fixture, 0, 2)), "TIMEOUT");
	assert_string_equal(topo_verdict(pair(&fixture, 1, 0)), "not measured");
	topo_end(&fixture);
}

static const char *all_fail(size_t row, size_t column)
{
	(void)row;
	(void)column;
	return "FAIL";
}

static void the_worst_counts(void **state)
{
	struct topo_fixture fixture;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	assert_int_equal(topo_measure(&fixture, all_fail), 0);
	assert_int_equal(topo_measure(&fixture, diagonal), 0);
	assert_string_equal(topo_verdict(pair(&fixture, 0, 0)), "FAIL");
	assert_string_equal(topo_verdict(pair(&fixture, 0, 2)), "TIMEOUT");
	topo_end(&fixture);
}

static void other_reports_are_refused(void **state)
{
	static const char *const texts[] = {
		"", "{", "[]", "{ \"schema_version\": 2, \"pairs\": [] }",
		"{ \"schema_version\": 1, \"pairs\": [] }",
		"{ \"schema_version\": 1 }", "{ \"schema_version\": 1, \"pairs\": 1 }",
		"{ \"schema_version\": 1, \"pairs\": [ 1 ] }",
		"{ \"schema_version\": 1, \"pairs\": [ { \"aperture\": {}, \"initiator\": {}, "
		"\"verdict\": \"GOOD\" } ] }",
		/* Of another machine. */
		"{ \"schema_version\": 1, \"pairs\": [ { \"aperture\": { \"pci\": \"0000:77:00.0\","
		" \"bar\": 2 }, \"initiator\": { \"name\": \"mlx5_0\", \"kind\": \"rdma\" }, "
		"\"verdict\": \"PASS\" } ] }",
	};
	struct topo_fixture fixture;
	struct vpeer_error error;
	char path[512];

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		fixture_file(fixture.root, "report", texts[i]);
		text_format(path, sizeof(path), "%s/report", (const char *)fixture.root);
		assert_true(topo_measured(&fixture.topo, path, &error) < 0);
		assert_string_equal(error.who, path);
		assert_true(error.remedy[0]);
	}
	assert_true(topo_measured(&fixture.topo, fixture.root, &error) < 0);
	assert_true(topo_measured(&fixture.topo, "/nowhere", &error) < 0);
	assert_string_equal(topo_verdict(pair(&fixture, 0, 0)), "not measured");
	topo_end(&fixture);
}

static void print(const struct topo *topo, FILE *file)
{
	topo_print(topo, false, file);
}

static void tables(void **state)
{
	struct topo_fixture fixture;
	char *text;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "switch");
	text = topo_output(&fixture.topo, print);
	assert_non_null(strstr(text, "m0 0000:18:00.0  i0 mlx5_0  same-switch  0000:16:00.0  0 to "
				     "0  not measured\n"));
	assert_non_null(strstr(text, "vpeer selftest"));
	free(text);
	topo_end(&fixture);
}

static const char *spread(size_t row, size_t column)
{
	static const char *const names[] = { "PASS", "UNPROVEN", "BOUNCED", "FAIL", "TIMEOUT" };

	return names[(row + column) % ARRAY_SIZE(names)];
}

/* 8 GPUs and 16 VFs: no line is longer than a terminal, and all is explained. */
static void wide_machines_are_readable(void **state)
{
	struct topo_fixture fixture;
	char *text, *line, *rest;
	size_t cells = 0;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "wide");
	assert_int_equal(topo_measure(&fixture, spread), 0);
	text = topo_output(&fixture.topo, print);
	assert_non_null(strstr(text, "distances: host=same-bridge far=far\n"));
	assert_non_null(strstr(text, "+=PASS ~=UNPROVEN %=BOUNCED !=FAIL #=TIMEOUT"));
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		assert_true(strlen(line) <= 80);
		for (const char *at = line; *line == 'm' && *at; at++)
			cells += !!strchr("+~%!#", *at);
	}
	assert_int_equal(cells, 8 * 16 + 5); /* and the legend's */
	free(text);
	topo_end(&fixture);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

static void document(void **state)
{
	struct json_object *document, *item;
	struct topo_fixture fixture;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "switch");
	document = topo_document(&fixture.topo);
	assert_int_equal(json_object_get_int(member(document, "schema_version")), 1);
	assert_null(member(document, "measured"));
	item = json_object_array_get_idx(member(document, "memory"), 1);
	assert_string_equal(json_object_get_string(member(item, "id")), "m1");
	assert_string_equal(json_object_get_string(member(item, "host_bridge")), "pci0000:c9");
	assert_int_equal(json_object_array_length(member(item, "bridges")), 3);
	assert_int_equal(json_object_get_int(member(item, "numa_node")), 1);
	assert_string_equal(json_object_get_string(member(member(item, "clique"), "state")),
			    "absent");
	item = json_object_array_get_idx(member(document, "initiators"), 0);
	assert_string_equal(json_object_get_string(member(item, "kind")), "rdma");
	assert_int_equal(json_object_array_length(member(document, "pairs")), 4);
	item = json_object_array_get_idx(member(document, "pairs"), 0);
	assert_string_equal(json_object_get_string(member(item, "distance")), "same-switch");
	assert_string_equal(json_object_get_string(member(item, "verdict")), "not measured");
	json_object_put(document);
	topo_end(&fixture);
}

static xmlDoc *parsed(const char *text)
{
	xmlDoc *document = xmlReadMemory(text, (int)strlen(text), NULL, NULL, XML_PARSE_NONET);

	assert_non_null(document);
	return document;
}

static int count_of(xmlDoc *document, const char *path)
{
	xmlXPathContext *context = xmlXPathNewContext(document);
	xmlXPathObject *found;
	int count;

	assert_int_equal(xmlXPathRegisterNs(context, BAD_CAST "s",
					    BAD_CAST "http://www.w3.org/2000/svg"), 0);
	found = xmlXPathEvalExpression(BAD_CAST path, context);
	assert_non_null(found);
	count = xmlXPathNodeSetGetLength(found->nodesetval);
	xmlXPathFreeObject(found);
	xmlXPathFreeContext(context);
	return count;
}

static void drawing(void **state)
{
	struct topo_fixture fixture;
	char *text, *again;
	xmlDoc *document;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "wide");
	text = topo_output(&fixture.topo, topo_svg);
	again = topo_output(&fixture.topo, topo_svg);
	assert_string_equal(text, again);
	document = parsed(text);
	assert_int_equal(count_of(document, "//s:g"), 8 * 16);
	/* Host bridges, root ports, functions; lines to all but the first. */
	assert_int_equal(count_of(document, "//s:rect[@rx]"), 2 + 24 + 24);
	assert_int_equal(count_of(document, "//s:path"), 48);
	assert_int_equal(count_of(document, "//s:script|//s:a|//s:image|//@href"), 0);
	assert_int_equal(count_of(document, "//s:text[contains(., 'NUMA node 1')]"), 1);
	assert_int_equal(count_of(document, "//s:text[contains(., 'i15 mlx5_15')]"), 1);
	xmlFreeDoc(document);
	free(again);
	free(text);
	topo_end(&fixture);
}

/* What sysfs has is bytes. */
static void drawing_of_strange_names(void **state)
{
	struct topo_fixture fixture;
	xmlDoc *document;
	char *text;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	strcpy(fixture.topo.initiators[0].name, "<script>\"&'\x01\xff\xc3");
	text = topo_output(&fixture.topo, topo_svg);
	document = parsed(text);
	assert_int_equal(count_of(document, "//s:script"), 0);
	assert_int_equal(count_of(document, "//s:text[contains(., '<script>')]"), 1);
	xmlFreeDoc(document);
	free(text);
	topo_end(&fixture);
}

static void nothing_to_draw(void **state)
{
	struct topo_fixture fixture;
	char *text;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "none");
	assert_int_equal(fixture.topo.memory_count, 0);
	text = topo_output(&fixture.topo, print);
	assert_non_null(strstr(text, "no memory"));
	free(text);
	text = topo_output(&fixture.topo, topo_svg);
	xmlFreeDoc(parsed(text));
	free(text);
	topo_end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances_and_bridges),
		cmocka_unit_test(initiators_are_rdma_and_nvme),
		cmocka_unit_test(soft_devices),
		cmocka_unit_test(apertures_are_rows),
		cmocka_unit_test(cliques),
		cmocka_unit_test(verdicts_of_a_report),
		cmocka_unit_test(the_worst_counts),
		cmocka_unit_test(other_reports_are_refused),
		cmocka_unit_test(tables),
		cmocka_unit_test(wide_machines_are_readable),
		cmocka_unit_test(document),
		cmocka_unit_test(drawing),
		cmocka_unit_test(drawing_of_strange_names),
		cmocka_unit_test(nothing_to_draw),
	};

	return cmocka_run_group_tests_name("topo", tests, NULL, NULL);
}
