// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* "vpeer stat": what is read, and in which form it is shown. */
#include "fixture.h"

#include <ctype.h>
#include <json-c/json.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat/metrics.h"
#include "util.h"

#define MOST_NAMES 64

static void put(const char *root, unsigned int index, const char *name, const char *value)
{
	char path[128], text[128];

	text_format(path, sizeof(path), "class/vpeer/vpeer%u/%s", index, name);
	text_format(text, sizeof(text), "%s\n", value);
	fixture_file(root, path, text);
}

static void make_aperture(const char *root, unsigned int index, const char *pci)
{
	char path[128], target[128];
	static const char *const numbers[] = {
		"bytes_free", "windows", "mappings", "bar_offset", "faults_4k", "faults_2m",
		"bytes_scrubbed", "revocations", "dmabufs", "dmabuf_maps", "dmabuf_bytes_mapped",
		"config_read_ns",
	};

	text_format(path, sizeof(path), "class/vpeer/vpeer%u/device", index);
	text_format(target, sizeof(target), "../../../devices/%s", pci);
	fixture_link(root, path, target);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		put(root, index, numbers[i], "0");
	put(root, index, "bar", "2");
	put(root, index, "size", "67108864");
	put(root, index, "granule", "2097152");
	put(root, index, "bytes_pinned", "8192");
	put(root, index, "read_ns", "1250");
	put(root, index, "kind", "owned");
	put(root, index, "memory_type", "write-combining");
	put(root, index, "status", "ok");
}

static void make_two(const char *root)
{
	make_aperture(root, 0, "0000:01:00.0");
	make_aperture(root, 1, "0000:03:00.0");
	fixture_file(root, "module/vpeer/version", "0.1.0\n");
	fixture_file(root, "class/misc/vpeerctl/quarantine",
		     "0000:05:00.0 bar2 0x380000000000 67108864 4096\n");
}

static char *printed(const struct readings *readings,
		     void (*print)(const struct readings *readings, FILE *file))
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	print(readings, file);
	fclose(file);
	return text;
}

static void has_line(const char *text, const char *line)
{
	size_t length = strlen(line);

	for (const char *at = strstr(text, line); at; at = strstr(at + 1, line))
		if ((at == text || at[-1] == '\n') && at[length] == '\n')
			return;
	fail_msg("no line '%s' in:\n%s", line, text);
}

static void shown(void **state)
{
	struct readings readings;
	char *text;

	make_two(*state);
	assert_int_equal(readings_take(&readings, *state, NULL, NULL), 0);
	assert_int_equal(readings.count, 2);
	text = printed(&readings, readings_print);
	has_line(text, "0000:01:00.0 BAR 2 (/dev/vpeer0, owned, ok)");
	has_line(text, "0000:03:00.0 BAR 2 (/dev/vpeer1, owned, ok)");
	has_line(text, "  bytes_pinned          8 KiB");
	has_line(text, "  read_ns               1250");
	has_line(text, "  config_read_ns        -");
	has_line(text, "0000:05:00.0 BAR 2 at 0x380000000000: 64 MiB quarantined, 4 KiB of it "
		 "pinned");
	free(text);
	readings_free(&readings);
}

static void one_of_two(void **state)
{
	struct vpeer_pci_address pci;
	struct readings readings;
	struct vpeer_error error;

	make_two(*state);
	assert_int_equal(vpeer_pci_parse("0000:03:00.0", &pci), 0);
	assert_int_equal(readings_take(&readings, *state, &pci, &error), 0);
	assert_int_equal(readings.count, 1);
	assert_int_equal(readings.items[0].entry.index, 1);
	readings_free(&readings);
	assert_int_equal(vpeer_pci_parse("0000:04:00.0", &pci), 0);
	assert_int_equal(readings_take(&readings, *state, &pci, &error), -ENOENT);
	assert_string_equal(error.who, "0000:04:00.0");
	readings_free(&readings);
}

/* A metric's name, as far as its labels or value. */
static size_t name_length(const char *line)
{
	size_t length = 0;

	while (isalnum((unsigned char)line[length]) || line[length] == '_')
		length++;
	return length;
}

/* Each family has HELP, TYPE and samples, in this order and once. */
static void check_families(const char *text)
{
	char family[128] = "", *seen[MOST_NAMES], *copy = xstrdup(text), *rest = copy, *line;
	bool counter = false, typed = false;
	size_t count = 0;

	while ((line = strsep(&rest, "\n"))) {
		if (!strncmp(line, "# HELP ", 7)) {
			text_format(family, sizeof(family), "%.*s", (int)name_length(line + 7),
				    line + 7);
			for (size_t i = 0; i < count; i++)
				assert_string_not_equal(seen[i], family);
			assert_true(count < MOST_NAMES);
			seen[count++] = xstrdup(family);
			typed = false;
		} else if (!strncmp(line, "# TYPE ", 7)) {
			assert_false(typed);
			typed = true;
			counter = strstr(line, " counter");
			assert_true(counter || strstr(line, " gauge"));
			assert_true(!strncmp(line + 7, family, strlen(family)));
		} else if (*line) {
			assert_true(typed && name_length(line) == strlen(family));
			assert_true(!strncmp(line, family, strlen(family)));
			assert_int_equal(counter, !!strstr(family, "_total"));
		}
	}
	assert_true(count > 10);
	while (count--)
		free(seen[count]);
	free(copy);
}

static void prometheus(void **state)
{
	struct readings readings;
	char *text;

	make_two(*state);
	put(*state, 1, "status", "a \"b\\");
	assert_int_equal(readings_take(&readings, *state, NULL, NULL), 0);
	text = printed(&readings, readings_prometheus);
	check_families(text);
	has_line(text, "vpeer_module_loaded{version=\"0.1.0\"} 1");
	has_line(text, "vpeer_aperture_pinned_bytes{pci=\"0000:03:00.0\",bar=\"2\","
		 "node=\"/dev/vpeer1\"} 8192");
	has_line(text, "vpeer_aperture_read_seconds{pci=\"0000:01:00.0\",bar=\"2\","
		 "node=\"/dev/vpeer0\"} 0.000001250");
	has_line(text, "vpeer_aperture_info{pci=\"0000:03:00.0\",bar=\"2\",node=\"/dev/vpeer1\","
		 "kind=\"owned\",memory_type=\"write-combining\",status=\"a \\\"b\\\\\"} 1");
	has_line(text, "vpeer_quarantined_pinned_bytes{pci=\"0000:05:00.0\",bar=\"2\","
		 "address=\"0x380000000000\"} 4096");
	assert_null(strstr(text, "config_read"));
	free(text);
	readings_free(&readings);
}

/* An older module has fewer counters. */
static void fewer_counters(void **state)
{
	struct json_object *document, *array, *value;
	struct readings readings;
	char path[512], *text;

	make_two(*state);
	text_format(path, sizeof(path), "%s/class/vpeer/vpeer0/dmabufs", (char *)*state);
	assert_int_equal(remove(path), 0);
	assert_int_equal(readings_take(&readings, *state, NULL, NULL), 0);
	text = printed(&readings, readings_prometheus);
	check_families(text);
	assert_null(strstr(text, "vpeer_aperture_dmabufs{pci=\"0000:01:00.0\""));
	assert_non_null(strstr(text, "vpeer_aperture_dmabufs{pci=\"0000:03:00.0\""));
	free(text);
	document = readings_document(&readings);
	assert_true(json_object_object_get_ex(document, "apertures", &array));
	assert_true(json_object_object_get_ex(json_object_array_get_idx(array, 0), "dmabufs",
					      &value));
	assert_null(value);
	assert_true(json_object_object_get_ex(json_object_array_get_idx(array, 1), "dmabufs",
					      &value));
	assert_int_equal(json_object_get_int64(value), 0);
	json_object_put(document);
	readings_free(&readings);
}

static void without_module(void **state)
{
	struct readings readings;
	char *text;

	assert_int_equal(readings_take(&readings, *state, NULL, NULL), 0);
	assert_int_equal(readings.count, 0);
	text = printed(&readings, readings_prometheus);
	assert_string_equal(text, "# HELP vpeer_module_loaded Whether vpeer.ko is loaded.\n"
			    "# TYPE vpeer_module_loaded gauge\nvpeer_module_loaded 0\n");
	free(text);
	readings_free(&readings);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(shown), CASE(one_of_two), CASE(prometheus), CASE(fewer_counters),
		CASE(without_module),
	};

	return cmocka_run_group_tests_name("stat", tests, NULL, NULL);
}
