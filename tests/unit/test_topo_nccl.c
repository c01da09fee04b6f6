// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Topology files for NCCL: what is written, by a strict schema and by vpeer's own check. */
#include "topo_fixture.h"

#include <dirent.h>
#include <libxml/parser.h>
#include <libxml/relaxng.h>
#include <libxml/xpath.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define SCHEMA	"nccl-topo.rng"

static void quiet(void *context, const char *format, ...)
{
	(void)context;
	(void)format;
}

/* With what is wrong on stderr, unless it is meant to be. */
static bool obeys(const char *text, bool meant)
{
	xmlRelaxNGParserCtxt *parser = xmlRelaxNGNewParserCtxt(SCHEMA);
	xmlRelaxNG *schema = xmlRelaxNGParse(parser);
	xmlRelaxNGValidCtxt *context;
	xmlDoc *document;
	int wrong;

	assert_non_null(schema);
	context = xmlRelaxNGNewValidCtxt(schema);
	if (!meant)
		xmlRelaxNGSetValidErrors(context, quiet, quiet, NULL);
	document = xmlReadMemory(text, (int)strlen(text), NULL, NULL, XML_PARSE_NONET);
	assert_non_null(document);
	wrong = xmlRelaxNGValidateDoc(context, document);
	xmlFreeDoc(document);
	xmlRelaxNGFreeValidCtxt(context);
	xmlRelaxNGFree(schema);
	xmlRelaxNGFreeParserCtxt(parser);
	return !wrong;
}

static bool is_well(const struct topo_fixture *fixture, const char *text)
{
	struct findings all = { 0 };
	bool well;

	topofile_check(&fixture->topo, "topology.xml", text, strlen(text), &all);
	well = !findings_of(&all, STATE_FAIL) && !findings_of(&all, STATE_WARN) &&
	       !findings_of(&all, STATE_UNKNOWN);
	if (!well)
		topofile_print(&all, stderr);
	findings_free(&all);
	return well;
}

/* What is written obeys the schema, and "vpeer topo --check" finds nothing in it. */
static char *written(const struct topo_fixture *fixture)
{
	char *text = topo_file(fixture);

	assert_non_null(text);
	assert_true(obeys(text, true));
	assert_true(is_well(fixture, text));
	return text;
}

static bool has_gpu(const struct topo *topo)
{
	for (size_t i = 0; i < topo->memory_count; i++)
		if (topo_is_gpu(topo->memory[i].function))
			return true;
	return false;
}

static bool has_pairs(const struct topo *topo)
{
	for (size_t i = 0; i < topo->initiator_count; i++)
		if (topo->initiators[i].function)
			return topo->memory_count;
	return false;
}

static const char *all_pass(size_t row, size_t column)
{
	(void)row;
	(void)column;
	return "PASS";
}

static size_t round_trips(const char *directory)
{
	struct dirent **items;
	int count = scandir(directory, &items, NULL, alphasort);
	size_t written_count = 0;

	assert_true(count > 0);
	for (int i = 0; i < count; i++) {
		struct topo_fixture fixture;

		if (items[i]->d_name[0] != '.') {
			topo_begin(&fixture, directory, items[i]->d_name);
			if (has_gpu(&fixture.topo)) {
				free(written(&fixture));
				if (!topo_measure(&fixture, all_pass))
					free(written(&fixture));
				else
					assert_false(has_pairs(&fixture.topo));
				written_count++;
			} else {
				assert_null(topo_file(&fixture));
			}
			topo_end(&fixture);
		}
		free(items[i]);
	}
	free(items);
	return written_count;
}

static void all_machines_make_a_round_trip(void **state)
{
	(void)state;
	assert_true(round_trips(SITES) >= 2);
	assert_int_equal(round_trips(TOPOLOGIES), 3);
}

static char *replaced(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	size_t size = strlen(text) + strlen(to) + 1;
	char *copy = xrealloc(NULL, size, 1);

	assert_non_null(at);
	text_format(copy, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return copy;
}

/* The schema says no. */
static void schema_refuses(void **state)
{
	static const char *const changes[][2] = {
		{ "version=\"1\"", "version=\"2\"" },
		{ "<system version=\"1\">", "<system>" },
		{ "numaid=\"0\"", "numaid=\"-1\"" },
		{ " numaid=\"0\"", "" },
		{ "affinity=\"", "affinity=\"x" },
		{ "busid=\"0000:18:00.0\"", "busid=\"0000:1A:00.0\"" },
		{ "busid=\"0000:18:00.0\"", "busid=\"18:00.0\"" },
		{ " class=\"0x030200\"", "" },
		{ "class=\"0x030200\"", "class=\"0x0302\"" },
		{ "class=\"0x060400\"", "class=\"0x080100\"" },
		{ "16.0 GT/s PCIe", "16 GT" },
		{ "link_width=\"16\"", "link_width=\"17\"" },
		{ "vendor=\"0x10de\"", "vendor=\"10de\"" },
		{ "modelid", "model" },
		{ "</system>", "<gpu/></system>" },
		{ "</cpu>", "text</cpu>" },
	};
	struct topo_fixture fixture;
	char *text, *changed;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "switch");
	text = written(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		changed = replaced(text, changes[i][0], changes[i][1]);
		if (obeys(changed, false))
			fail_msg("obeys the schema with %s", changes[i][1]);
		free(changed);
	}
	free(text);
	topo_end(&fixture);
}

static int count_of(const char *text, const char *path)
{
	xmlDoc *document = xmlReadMemory(text, (int)strlen(text), NULL, NULL, XML_PARSE_NONET);
	xmlXPathContext *context = xmlXPathNewContext(document);
	xmlXPathObject *found = xmlXPathEvalExpression(BAD_CAST path, context);
	int count;

	assert_non_null(found);
	count = xmlXPathNodeSetGetLength(found->nodesetval);
	xmlXPathFreeObject(found);
	xmlXPathFreeContext(context);
	xmlFreeDoc(document);
	return count;
}

/* As sysfs shows it: a GPU and a NIC below each switch, under their nodes. */
static void switches_stay(void **state)
{
	struct topo_fixture fixture;
	char *text;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "switch");
	assert_int_equal(topo_measure(&fixture, all_pass), 0);
	text = written(&fixture);
	assert_int_equal(count_of(text, "//pci[@busid='0000:16:00.0']//pci[@busid='0000:18:00.0' "
				  "or @busid='0000:19:00.0']"), 2);
	assert_int_equal(count_of(text, "/system/cpu[@numaid='1']//pci[@busid='0000:cd:00.0']"), 1);
	assert_int_equal(count_of(text, "//pci[starts-with(@busid, 'ffff')]"), 0);
	assert_int_equal(count_of(text, "/system/cpu[@numaid='1' and @vendor='GenuineIntel' and "
				  "@familyid='6' and @modelid='106' and "
				  "@affinity='ffffffff,00000000']"), 1);
	free(text);
	topo_end(&fixture);
}

/* What is not known is said, and no hyphens spoil the comment. */
static void flat_without_measurement(void **state)
{
	struct topo_fixture fixture;
	char *text;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	text = written(&fixture);
	assert_non_null(strstr(text, "is a guess"));
	assert_non_null(strstr(text, "Not measured"));
	assert_non_null(strstr(text, "link does not show"));
	assert_int_equal(count_of(text, "/system/cpu[@numaid='0']/pci"), 4);
	/* NCCL would look for both at 0000:00:00.0. */
	assert_int_equal(count_of(text, "//pci[@busid='0000:00:05.0']/nic/net[@name='mlx5_0']"), 1);
	/* The port's 2.5 GT/s x1 is QEMU's. */
	assert_int_equal(count_of(text, "//pci[@busid='0000:00:01.0' and "
				  "@link_speed='32.0 GT/s PCIe' and @link_width='16']"), 1);
	/* As NCCL reckons it from family 25. */
	assert_int_equal(count_of(text, "//cpu[@familyid='175']"), 1);
	free(text);
	topo_end(&fixture);
}

/* How many of them stand below the same made-up bridge as the GPU. */
static int together(const char *text, const char *gpu, const char *device)
{
	char path[256];

	text_format(path, sizeof(path),
		    "//pci[starts-with(@busid, 'ffff:') and pci[@busid='%s']]/pci[@busid='%s']",
		    gpu, device);
	return count_of(text, path);
}

static void all_pairs_pass(void **state)
{
	struct topo_fixture fixture;
	char *text;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	assert_int_equal(topo_measure(&fixture, all_pass), 0);
	text = written(&fixture);
	assert_int_equal(together(text, "0000:01:00.0", "0000:00:05.0"), 1);
	assert_int_equal(together(text, "0000:01:00.0", "0000:00:06.0"), 0);
	assert_int_equal(together(text, "0000:02:00.0", "0000:00:06.0"), 1);
	assert_null(strstr(text, "Not measured"));
	free(text);
	topo_end(&fixture);
}

/* The first GPU must leave the first NIC to the second one, which passes with no other. */
static const char *one_way(size_t row, size_t column)
{
	return row && column ? "FAIL" : column ? "PASS window" : "PASS";
}

static void each_gets_one_that_passed(void **state)
{
	struct topo_fixture fixture;
	char *text;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	assert_int_equal(topo_measure(&fixture, one_way), 0);
	text = written(&fixture);
	assert_int_equal(together(text, "0000:01:00.0", "0000:00:06.0"), 1);
	assert_int_equal(together(text, "0000:02:00.0", "0000:00:05.0"), 1);
	assert_int_equal(count_of(text, "//net[@gdr]"), 0);
	assert_non_null(strstr(text, " 0000:00:06.0: bytes were compared through the BAR"));
	free(text);
	topo_end(&fixture);
}

/* What did not pass is not put together; what went wrong is not used. */
static const char *second_fails(size_t row, size_t column)
{
	(void)row;
	return column ? "BOUNCED" : "UNPROVEN";
}

static void none_passes(void **state)
{
	struct topo_fixture fixture;
	char *text;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	assert_int_equal(topo_measure(&fixture, second_fails), 0);
	text = written(&fixture);
	assert_int_equal(count_of(text, "//pci[starts-with(@busid, 'ffff')]"), 0);
	assert_non_null(strstr(text, "no pair passed"));
	assert_int_equal(count_of(text, "//net[@name='mlx5_0' and not(@gdr)]"), 1);
	assert_int_equal(count_of(text, "//net[@name='mlx5_1' and @gdr='0']"), 1);
	free(text);
	topo_end(&fixture);
}

/* One NIC for two GPUs. */
static const char *first_only(size_t row, size_t column)
{
	(void)row;
	return column ? NULL : "PASS";
}

static void shared_nic(void **state)
{
	struct topo_fixture fixture;
	char *text;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	assert_int_equal(topo_measure(&fixture, first_only), 0);
	text = written(&fixture);
	assert_int_equal(together(text, "0000:01:00.0", "0000:00:05.0"), 1);
	assert_int_equal(together(text, "0000:02:00.0", "0000:00:05.0"), 1);
	assert_int_equal(count_of(text, "/system/cpu/pci[@busid='0000:00:06.0']"), 1);
	free(text);
	topo_end(&fixture);
}

/* 8 GPUs, 16 VFs, two nodes: two VFs of the same node for each. */
static void wide_machine(void **state)
{
	struct topo_fixture fixture;
	char *text, path[256];

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "wide");
	assert_int_equal(topo_measure(&fixture, all_pass), 0);
	text = written(&fixture);
	assert_int_equal(count_of(text, "/system/cpu/pci"), 8);
	for (unsigned int i = 0; i < 8; i++) {
		text_format(path, sizeof(path), "/system/cpu[@numaid='%u']"
			    "/pci[@busid='ffff:ff:%02x.0' and count(pci) = 3 and "
			    "count(pci[@class='0x030200']) = 1]", i / 4, i + 1);
		assert_int_equal(count_of(text, path), 1);
	}
	assert_null(strstr(text, "guess"));
	free(text);
	topo_end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_machines_make_a_round_trip),
		cmocka_unit_test(schema_refuses),
		cmocka_unit_test(switches_stay),
		cmocka_unit_test(flat_without_measurement),
		cmocka_unit_test(all_pairs_pass),
		cmocka_unit_test(each_gets_one_that_passed),
		cmocka_unit_test(none_passes),
		cmocka_unit_test(shared_nic),
		cmocka_unit_test(wide_machine),
	};

	return cmocka_run_group_tests_name("topo_nccl", tests, NULL, NULL);
}
