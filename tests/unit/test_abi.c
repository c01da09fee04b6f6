// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The shared library exports what the headers declare, and nothing else. */
#include "fixture.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "vpeer.h"

#define VERSION "LIBVPEER_1.0"

static void *library;

static int open_library(void **state)
{
	(void)state;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	return library ? 0 : -1;
}

static int close_library(void **state)
{
	(void)state;
	return dlclose(library);
}

/* The name in front of the first parenthesis of a declaration. */
static bool declared_name(const char *line, char name[64])
{
	const char *end = strchr(line, '('), *start = end;

	if (strncmp(line, "VPEER_EXPORT ", 13) || !end)
		return false;
	while (start > line && start[-1] != ' ' && start[-1] != '*')
		start--;
	snprintf(name, 64, "%.*s", (int)(end - start), start);
	return true;
}

static size_t check_header(const char *path)
{
	FILE *header = fopen(path, "r");
	char line[256], name[64];
	size_t found = 0;

	assert_non_null(header);
	while (fgets(line, sizeof(line), header)) {
		if (!declared_name(line, name))
			continue;
		found++;
		if (!dlvsym(library, name, VERSION))
			fail_msg("%s is not exported as " VERSION, name);
	}
	fclose(header);
	return found;
}

static void exports_declared(void **state)
{
	(void)state;
	assert_true(check_header(HEADER) >= 34);
	assert_true(check_header(REG_HEADER) >= 39);
}

static void hides_internals(void **state)
{
	static const char *const names[] = { "vpeer_fail", "vpeer_ioctl", "vpeer_list_at",
					     "vpeer_sysfs_read", "vpeer_parse_u64",
					     "vpeer_pair_read", "vpeer_reg_reason_words" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (dlsym(library, names[i]))
			fail_msg("%s is exported", names[i]);
}

/* Layouts that programs were compiled with. */
static void layouts(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct vpeer_pci_address), 8);
	assert_int_equal(sizeof(struct vpeer_error), 936);
	assert_int_equal(offsetof(struct vpeer_error, message), 136);
	assert_int_equal(sizeof(struct vpeer_entry), 328);
	assert_int_equal(offsetof(struct vpeer_entry, status), 104);
	assert_int_equal(offsetof(struct vpeer_error, mender), 904);
	assert_int_equal(sizeof(struct vpeer_context_options), 136);
	assert_int_equal(offsetof(struct vpeer_context_options, revoked), 56);
	assert_int_equal(sizeof(struct vpeer_reg_options), 48);
	assert_int_equal(sizeof(struct vpeer_range), 16);
	assert_int_equal(sizeof(struct vpeer_memory_info), 152);
	assert_int_equal(offsetof(struct vpeer_memory_info, node), 52);
	assert_int_equal(sizeof(struct vpeer_pair_info), 176);
	assert_int_equal(offsetof(struct vpeer_pair_info, reasons), 44);
	assert_int_equal(sizeof(struct vpeer_stats), 240);
	assert_int_equal(offsetof(struct vpeer_stats, probes), 152);
	assert_int_equal(sizeof(struct vpeer_export), 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exports_declared),
		cmocka_unit_test(hides_internals),
		cmocka_unit_test(layouts),
	};

	return cmocka_run_group_tests_name("abi", tests, open_library, close_library) != 0;
}
