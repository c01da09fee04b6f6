// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* "vpeer topo --check": what is wrong in a topology file is found, and nothing in a good one. */
#include "topo_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define GUID	"sys/class/infiniband/mlx5_0/sys_image_guid"

struct fault {
	const char *from, *to;	/* in the file; of @from the first one */
	const char *name;
	enum state state;
	const char *meaning;	/* a part */
};

static char *replaced(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	size_t size = strlen(text) + strlen(to) + 1;
	char *copy;

	if (!at)
		fail_msg("the file has no %s", from);
	copy = xrealloc(NULL, size, 1);
	text_format(copy, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return copy;
}

static void check(const struct topo_fixture *fixture, const char *text, size_t length,
		  struct findings *all)
{
	*all = (struct findings){ 0 };
	topofile_check(&fixture->topo, "topology.xml", text, length, all);
	for (size_t i = 0; i < all->count; i++) {
		const struct finding *finding = &all->items[i];

		assert_true(finding->count && finding->meaning[0]);
		assert_memory_equal(finding->evidence[0].file, "topology.xml:", 13);
		if (finding->state != STATE_OK)
			assert_true(finding->remedy[0] && finding->job[0]);
	}
}

/* @line: where it must be, 0 for anywhere. */
static void expect(const struct findings *all, const struct fault *fault, size_t line)
{
	char place[64];

	text_format(place, sizeof(place), "topology.xml:%zu", line);
	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].state == fault->state &&
		    !strcmp(all->items[i].name, fault->name) &&
		    strstr(all->items[i].meaning, fault->meaning) &&
		    (!line || !strcmp(all->items[i].evidence[0].file, place)))
			return;
	topofile_print(all, stderr);
	fail_msg("not found: %s, %s, line %zu", fault->name, fault->meaning, line);
}

static size_t line_of(const char *text, const char *part)
{
	size_t line = 1;

	for (const char *at = text; at < strstr(text, part); at++)
		line += *at == '\n';
	return line;
}

static void find_all(const struct topo_fixture *fixture, const struct fault *faults, size_t count)
{
	char *text = topo_file(fixture), *wrong;
	struct findings all;

	for (size_t i = 0; i < count; i++) {
		wrong = replaced(text, faults[i].from, faults[i].to);
		check(fixture, wrong, strlen(wrong), &all);
		expect(&all, &faults[i], 0);
		findings_free(&all);
		free(wrong);
	}
	free(text);
}

static void faults_of_functions(void **state)
{
	static const struct fault faults[] = {
		{ "busid=\"0000:18:00.0\"", "busid=\"0000:2a:00.0\"", "function", STATE_FAIL,
		  "no such function" },
		{ "busid=\"0000:18:00.0\"", "busid=\"0000:2a:00.0\"", "missing", STATE_FAIL,
		  "GPU 0000:18:00.0" },
		{ "busid=\"0000:19:00.0\"", "busid=\"0000:18:00.0\"", "duplicate", STATE_FAIL,
		  "already" },
		{ "busid=\"0000:19:00.0\"", "busid=\"0000:18:00.0\"", "missing", STATE_FAIL,
		  "mlx5_0 0000:19:00.0" },
		{ "busid=\"0000:19:00.0\"", "busid=\"0000:18:00.0\"", "class", STATE_FAIL,
		  "another device has this address" },
		{ "busid=\"0000:cc:00.0\"", "busid=\"0000:CC:00.0\"", "busid", STATE_FAIL,
		  "letter by letter" },
		{ "busid=\"0000:cc:00.0\"", "busid=\"cc:00.0\"", "busid", STATE_FAIL,
		  "letter by letter" },
		{ "<pci busid=\"0000:cc:00.0\"", "<pci", "attribute", STATE_FAIL, "no busid" },
		{ "numaid=\"1\"", "numaid=\"0\"", "numa", STATE_FAIL, "has it at node 1" },
		{ "numaid=\"1\"", "numaid=\"0\"", "duplicate", STATE_FAIL, "NUMA node 0 stands" },
		{ "numaid=\"1\"", "numaid=\"7\"", "numa", STATE_FAIL, "no NUMA node 7" },
		{ "numaid=\"1\"", "numaid=\"-1\"", "numa", STATE_WARN, "names no NUMA node" },
		{ "numaid=\"1\"", "numaid=\"one\"", "attribute", STATE_FAIL, "no number" },
		{ " numaid=\"1\"", "", "attribute", STATE_FAIL, "no numaid" },
		{ "affinity=\"ffffffff\"", "affinity=\"ffffffff,00000000\"", "affinity",
		  STATE_FAIL, "none of NUMA node 0's" },
		{ "affinity=\"ffffffff\"", "affinity=\"ffff\"", "affinity", STATE_FAIL,
		  "not the CPUs" },
		{ "affinity=\"ffffffff\"", "affinity=\"0-31\"", "affinity", STATE_FAIL,
		  "no mask" },
		{ "link_width=\"16\"", "link_width=\"160\"", "link", STATE_FAIL, "so wide" },
		{ "16.0 GT/s PCIe", "fast", "link", STATE_FAIL, "8 GT/s" },
		{ "16.0 GT/s PCIe\" link_width=\"16\" vendor=\"0x10de\"",
		  "32.0 GT/s PCIe\" link_width=\"16\" vendor=\"0x10de\"", "link", STATE_WARN,
		  "more than" },
		{ "vendor=\"GenuineIntel\"", "vendor=\"AuthenticAMD\"", "cpu-make", STATE_WARN,
		  "GenuineIntel" },
		{ "modelid=\"106\"", "modelid=\"143\"", "cpu-make", STATE_WARN, "modelid 106" },
		{ " modelid=\"106\"", "", "attribute", STATE_FAIL, "no modelid" },
		{ "class=\"0x060400\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\" "
		  "vendor=\"0x1000\"", "class=\"0x030200\" vendor=\"0x1000\"", "class", STATE_FAIL,
		  "another device" },
	};
	struct topo_fixture fixture;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "switch");
	find_all(&fixture, faults, ARRAY_SIZE(faults));
	topo_end(&fixture);
}

static void faults_of_devices(void **state)
{
	static const struct fault faults[] = {
		{ "name=\"mlx5_0\"", "name=\"mlx5_7\"", "net", STATE_FAIL, "no RDMA or network" },
		{ "name=\"mlx5_0\"", "name=\"mlx5_1\"", "net", STATE_FAIL,
		  "mlx5_1 is a device of 0000:00:06.0" },
		{ "name=\"mlx5_0\"", "name=\"mlx5_0\" guid=\"0x1\"", "guid", STATE_FAIL,
		  "another GUID" },
		{ "name=\"mlx5_0\"", "", "attribute", STATE_FAIL, "no name" },
		{ "name=\"mlx5_0\"", "name=\"mlx5_0\" gdr=\"yes\"", "attribute", STATE_FAIL,
		  "no number" },
		{ "name=\"mlx5_0\"", "name=\"mlx5_0\" colour=\"red\"", "attribute", STATE_WARN,
		  "does not know the attribute 'colour'" },
		{ "<nic>\n        <net name=\"mlx5_0\"/>\n      </nic>", "", "key", STATE_FAIL,
		  "looks for mlx5_0 at 0000:00:00.0" },
		{ "class=\"0x020000\" link_speed=\"32.0 GT/s PCIe\" ", "class=\"0x020000\" ",
		  "attribute", STATE_FAIL, "does not fill it in" },
		{ "vendor=\"0x10de\" device=\"0x2330\"/>",
		  "vendor=\"0x10de\" device=\"0x2330\"><gpu dev=\"0\"><nvlink "
		  "target=\"0000:77:00.0\" count=\"4\" tclass=\"0x030200\"/></gpu></pci>",
		  "nvlink", STATE_FAIL, "no GPU 0000:77:00.0" },
		{ "vendor=\"0x15b3\" device=\"0x101e\">",
		  "vendor=\"0x15b3\" device=\"0x101e\"><gpu dev=\"0\"/>", "class", STATE_FAIL,
		  "no GPU" },
	};
	struct topo_fixture fixture;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	fixture_file(fixture.root, GUID, "a088:c203:0055:0c0e\n");
	find_all(&fixture, faults, ARRAY_SIZE(faults));
	topo_end(&fixture);
}

/* What NCCL, and older ones, write themselves is right. */
static void rightly_otherwise(void **state)
{
	static const char *const changes[][2] = {
		{ "name=\"mlx5_0\"", "name=\"mlx5_0\" guid=\"0xe0c550003c288a0\"" },
		{ "name=\"mlx5_0\"", "name=\"mlx5_0\" guid=\"0xa088c20300550c0e\"" },
		{ "name=\"mlx5_0\"", "name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\" "
				     "maxconn=\"131072\" gdr=\"1\"" },
		{ "familyid=\"175\"", "familyid=\"25\"" },
		{ " affinity=\"0000ffff\"", "" },
		{ "affinity=\"0000ffff\"", "affinity=\"00000000,0000ffff\"" },
		{ "vendor=\"0x10de\" device=\"0x2330\"/>",
		  "vendor=\"0x10de\" device=\"0x2330\"><gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\">"
		  "<nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/></gpu>"
		  "</pci>" },
		{ "class=\"0x030200\" ", "" },
	};
	struct topo_fixture fixture;
	struct findings all;
	char *text, *other;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	fixture_file(fixture.root, GUID, "a088:c203:0055:0c0e\n");
	text = topo_file(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		other = replaced(text, changes[i][0], changes[i][1]);
		check(&fixture, other, strlen(other), &all);
		if (findings_of(&all, STATE_FAIL) || findings_of(&all, STATE_WARN)) {
			topofile_print(&all, stderr);
			fail_msg("not well: %s", changes[i][1]);
		}
		findings_free(&all);
		free(other);
	}
	free(text);
	topo_end(&fixture);
}

static void faults_of_form(void **state)
{
	static const struct fault faults[] = {
		{ "<system version=\"1\">", "<system>", "root", STATE_FAIL, "no version" },
		{ "version=\"1\"", "version=\"3\"", "root", STATE_FAIL, "version 3" },
		{ "</system>", "<switch/></system>", "element", STATE_FAIL, "no <switch>" },
		{ "</system>", "<pci busid=\"0000:01:00.0\"/></system>", "element", STATE_FAIL,
		  "<pci> stands in <system>" },
		{ "</system>", "", "xml", STATE_FAIL, "ends too early" },
		{ "<cpu", "<cpu\tx=\"1\"", "reader", STATE_FAIL, "line break or a tab" },
		{ "<cpu ", "<cpu\n", "reader", STATE_FAIL, "line break or a tab" },
		{ "  <cpu", "\t<cpu", "reader", STATE_FAIL, "a tab, or text" },
		{ "</cpu>", "</cpu >", "reader", STATE_FAIL, "line break or a tab" },
		{ "numaid=", "numaid =", "reader", STATE_FAIL, "beside a '='" },
		{ "<!-- ", "<?xml version=\"1.0\"?>\n<!-- ", "reader", STATE_FAIL, "declaration" },
		{ "<!-- ", "\xef\xbb\xbf<!-- ", "reader", STATE_FAIL, "byte order mark" },
		{ "<!-- ", "<!--a=b ", "reader", STATE_FAIL, "'='" },
		{ "</cpu>", "<![CDATA[x]]></cpu>", "reader", STATE_FAIL, "markup" },
		{ "vendor=\"Auth", "vendor=\"&#65;uth", "reader", STATE_WARN, "an escape" },
		{ "<!-- ", "<!DOCTYPE system>\n<!-- ", "xml", STATE_FAIL, "DOCTYPE" },
	};
	struct topo_fixture fixture;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	find_all(&fixture, faults, ARRAY_SIZE(faults));
	topo_end(&fixture);
}

static void lines_are_right(void **state)
{
	static const struct fault fault = { "", "", "function", STATE_FAIL, "no such" };
	struct topo_fixture fixture;
	struct findings all;
	char *text, *wrong;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "switch");
	text = topo_file(&fixture);
	wrong = replaced(text, "busid=\"0000:cd:00.0\"", "busid=\"0000:ce:00.0\"");
	check(&fixture, wrong, strlen(wrong), &all);
	expect(&all, &fault, line_of(wrong, "0000:ce:00.0"));
	findings_free(&all);
	free(wrong);
	free(text);
	topo_end(&fixture);
}

/* Said once, not for each function. */
static void another_machines_file(void **state)
{
	static const struct fault fault = { "", "", "machine", STATE_FAIL, "another machine's" };
	struct topo_fixture wide, flat;
	struct findings all;
	char *text;

	(void)state;
	topo_begin(&wide, TOPOLOGIES, "wide");
	topo_begin(&flat, TOPOLOGIES, "flat");
	text = topo_file(&wide);
	check(&flat, text, strlen(text), &all);
	expect(&all, &fault, line_of(text, "<system"));
	assert_true(all.count < 6);
	findings_free(&all);
	free(text);
	topo_end(&flat);
	topo_end(&wide);
}

/* Entities of entities: a few bytes that would be gigabytes. */
static void entity_bomb(void **state)
{
	static const char bomb[] =
		"<!DOCTYPE system [\n<!ENTITY a \"0123456789\">\n"
		"<!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">\n"
		"<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\">\n"
		"<!ENTITY d \"&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;\">\n"
		"<!ENTITY e SYSTEM \"file:///etc/passwd\">\n]>\n"
		"<system version=\"1\"><cpu numaid=\"&d;\">&d;&e;</cpu></system>\n";
	static const struct fault fault = { "", "", "xml", STATE_FAIL, "entities" };
	struct topo_fixture fixture;
	struct findings all;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	check(&fixture, bomb, strlen(bomb), &all);
	assert_int_equal(all.count, 1);
	expect(&all, &fault, 1);
	findings_free(&all);
	topo_end(&fixture);
}

static void huge_and_missing_files(void **state)
{
	static const struct fault fault = { "", "", "xml", STATE_FAIL, "too large" };
	struct topo_fixture fixture;
	struct findings all = { 0 };
	char path[512], *bytes;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	bytes = xrealloc(NULL, 10 << 20, 1);
	memset(bytes, ' ', 10 << 20);
	fixture_bytes(fixture.root, "huge.xml", bytes, 10 << 20);
	free(bytes);
	text_format(path, sizeof(path), "%s/huge.xml", (const char *)fixture.root);
	assert_int_equal(topofile_read(&fixture.topo, path, &all), 0);
	expect(&all, &fault, 0);
	findings_free(&all);
	assert_true(topofile_read(&fixture.topo, "/nowhere", &all) < 0);
	assert_true(topofile_read(&fixture.topo, fixture.root, &all) < 0);
	assert_int_equal(all.count, 0);
	topo_end(&fixture);
}

static char *with_bridges(int count, size_t *size)
{
	char *text;
	FILE *file = open_memstream(&text, size);

	assert_non_null(file);
	fputs("<system version=\"1\"><cpu numaid=\"0\">", file);
	for (int i = 0; i < count; i++)
		fprintf(file, "<pci busid=\"%04x:ff:%02x.0\" class=\"0x060400\"/>", i / 31,
			i % 31);
	fputs("</cpu></system>", file);
	assert_int_equal(fclose(file), 0);
	return text;
}

/* More elements than NCCL takes, and far more. */
static void too_many_elements(void **state)
{
	static const struct fault fault = { "", "", "size", STATE_FAIL, "fewer than 256" };
	struct topo_fixture fixture;
	struct findings all;
	size_t size;
	char *text;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	for (int count = 300; count < 20000; count *= 60) {
		text = with_bridges(count, &size);
		check(&fixture, text, size, &all);
		expect(&all, &fault, 1);
		assert_true(all.count < 20);
		findings_free(&all);
		free(text);
	}
	topo_end(&fixture);
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

/* Cut anywhere it is found to be no XML; with any bytes changed nothing crashes. */
static void cut_and_spoilt_files(void **state)
{
	static const struct fault fault = { "", "", "xml", STATE_FAIL, "" };
	struct topo_fixture fixture;
	struct findings all;
	unsigned int seed = 1;
	size_t length;
	char *text, *copy;

	(void)state;
	topo_begin(&fixture, TOPOLOGIES, "flat");
	text = topo_file(&fixture);
	length = strlen(text);
	for (size_t cut = 0; cut < length - 2; cut += 7) {
		check(&fixture, text, cut, &all);
		expect(&all, &fault, 0);
		findings_free(&all);
	}
	copy = xstrdup(text);
	for (int i = 0; i < 3000; i++) {
		memcpy(copy, text, length);
		for (unsigned int j = 0; j < 1 + next_random(&seed) % 4; j++)
			copy[next_random(&seed) % length] =
				"<>/=\"' \t\nab1\xff&!-?"[next_random(&seed) % 19];
		check(&fixture, copy, length, &all);
		assert_true(all.count);
		findings_free(&all);
	}
	free(copy);
	free(text);
	topo_end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_of_functions),
		cmocka_unit_test(faults_of_devices),
		cmocka_unit_test(rightly_otherwise),
		cmocka_unit_test(faults_of_form),
		cmocka_unit_test(lines_are_right),
		cmocka_unit_test(another_machines_file),
		cmocka_unit_test(entity_bomb),
		cmocka_unit_test(huge_and_missing_files),
		cmocka_unit_test(too_many_elements),
		cmocka_unit_test(cut_and_spoilt_files),
	};

	return cmocka_run_group_tests_name("topofile", tests, NULL, NULL);
}
