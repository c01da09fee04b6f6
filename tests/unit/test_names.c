// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Every number of an enum in the headers has its words in the library. */
#include "fixture.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define MAX_VALUES 128

struct value {
	unsigned int number;
	char name[48];	/* as words have it: the symbol without its prefix, in small letters */
};

static void name_of_symbol(char name[48], const char *symbol, const char *prefix)
{
	if (strncmp(symbol, prefix, strlen(prefix)))
		fail_msg("%s does not start with %s", symbol, prefix);
	snprintf(name, 48, "%s", symbol + strlen(prefix));
	for (char *at = name; *at; at++)
		*at = *at == '_' ? '-' : (char)tolower((unsigned char)*at);
}

static size_t read_values(FILE *header, const char *prefix, struct value *values)
{
	char line[256], symbol[64];
	size_t count = 0;

	while (fgets(line, sizeof(line), header) && strncmp(line, "};", 2)) {
		if (sscanf(line, " %63[A-Z0-9_] = %u", symbol, &values[count].number) != 2)
			continue;
		name_of_symbol(values[count].name, symbol, prefix);
		assert_true(++count < MAX_VALUES);
	}
	return count;
}

static size_t read_enum(const char *path, const char *name, const char *prefix,
			struct value values[MAX_VALUES])
{
	FILE *header = fopen(path, "r");
	char line[256], wanted[64];
	size_t count = 0;

	assert_non_null(header);
	snprintf(wanted, sizeof(wanted), "enum %s {\n", name);
	while (!count && fgets(line, sizeof(line), header))
		if (!strcmp(line, wanted))
			count = read_values(header, prefix, values);
	fclose(header);
	return count;
}

static void sentence(const char *text)
{
	size_t length = strlen(text);

	if (length <= 8 || length >= sizeof(((struct vpeer_error *)0)->remedy) - 64 ||
	    strchr(".!, ", text[length - 1]) || text[0] == ' ' || strchr(text, '\n'))
		fail_msg("'%s' is no sentence without its final period", text);
}

static void check_reasons(const struct value *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned int number = values[i].number;

		assert_string_equal(vpeer_reason_name(number), values[i].name);
		sentence(vpeer_reason_text(number));
		sentence(vpeer_reason_remedy(number));
		if (number != VPEER_REASON_NONE &&
		    vpeer_reason_mender(number) == VPEER_MENDER_UNKNOWN)
			fail_msg("%s: who mends it?", values[i].name);
	}
}

static bool has(const struct value *values, size_t count, unsigned int number)
{
	for (size_t i = 0; i < count; i++)
		if (values[i].number == number)
			return true;
	return false;
}

static void reasons(void **state)
{
	static struct value values[2 * MAX_VALUES];
	size_t count = read_enum(UAPI_HEADER, "vpeer_reason", "VPEER_REASON_", values);
	size_t known = 0;

	(void)state;
	assert_true(count >= 35);
	count += read_enum(REG_HEADER, "vpeer_reg_reason", "VPEER_REASON_", values + count);
	assert_true(has(values, count, VPEER_REASON_FLUSH_FAILED));
	check_reasons(values, count);
	for (unsigned int i = 0; i < 8192; i++)
		if (strcmp(vpeer_reason_name(i), "unknown")) {
			assert_true(has(values, count, i));
			known++;
		} else {
			assert_int_equal(vpeer_reason_mender(i), VPEER_MENDER_UNKNOWN);
		}
	assert_int_equal(known, count);
	assert_string_equal(vpeer_reason_name(~0U), "unknown");
	sentence(vpeer_reason_text(~0U));
	sentence(vpeer_reason_remedy(~0U));
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(values[i].name, values[j].name);
}

static void causes(void **state)
{
	struct value values[MAX_VALUES];
	size_t count = read_enum(UAPI_HEADER, "vpeer_cause", "VPEER_CAUSE_", values);

	(void)state;
	assert_true(count >= 8);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(vpeer_cause_name(values[i].number), values[i].name);
		sentence(vpeer_cause_text(values[i].number));
	}
	assert_string_equal(vpeer_cause_name((unsigned int)count), "unknown");
	assert_string_equal(vpeer_cause_name(~0U), "unknown");
	sentence(vpeer_cause_text(~0U));
}

static void enum_named(const char *name, const char *prefix, size_t least,
		       const char *(*name_of)(unsigned int number))
{
	struct value values[MAX_VALUES];
	size_t count = read_enum(REG_HEADER, name, prefix, values);

	assert_true(count >= least);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(name_of(values[i].number), values[i].name);
	assert_string_equal(name_of((unsigned int)count), "unknown");
	assert_string_equal(name_of(~0U), "unknown");
}

static void other_names(void **state)
{
	(void)state;
	enum_named("vpeer_route", "VPEER_ROUTE_", 5, vpeer_route_name);
	enum_named("vpeer_memory_kind", "VPEER_MEMORY_", 7, vpeer_memory_kind_name);
	enum_named("vpeer_distance", "VPEER_DISTANCE_", 8, vpeer_distance_name);
}

static void menders(void **state)
{
	struct value values[MAX_VALUES];
	size_t count = read_enum(REG_HEADER, "vpeer_mender", "VPEER_MENDER_", values);
	struct vpeer_error error;

	(void)state;
	assert_int_equal(count, 4);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(vpeer_mender_text(values[i].number),
						vpeer_mender_text(values[j].number));
	assert_string_equal(vpeer_mender_text(~0U), vpeer_mender_text(VPEER_MENDER_UNKNOWN));
	assert_int_equal(vpeer_reason_mender(VPEER_REASON_BAD_ALIGNMENT), VPEER_MENDER_PROGRAM);
	assert_int_equal(vpeer_reason_mender(VPEER_REASON_MEMLOCK), VPEER_MENDER_GUEST);
	assert_int_equal(vpeer_reason_mender(VPEER_REASON_TRAPPED), VPEER_MENDER_HOST);
	vpeer_fail_reason(&error, ENOMEM, VPEER_REASON_MEMLOCK, "mlx5_0", "cannot register");
	assert_int_equal(error.mender, VPEER_MENDER_GUEST);
	vpeer_fail(&error, ENOMEM, VPEER_REASON_NONE, "mlx5_0", "", "cannot register");
	assert_int_equal(error.mender, VPEER_MENDER_UNKNOWN);
}

/* Where the errno alone is known. */
static void menders_by_errno(void **state)
{
	struct vpeer_error error;

	(void)state;
	vpeer_fail_open(&error, EACCES, "/dev/vpeer0");
	assert_int_equal(error.mender, VPEER_MENDER_GUEST);
	vpeer_fail_open(&error, ENOENT, VPEER_CONTROL_NODE);
	assert_int_equal(error.mender, VPEER_MENDER_GUEST);
	vpeer_fail_open(&error, EXDEV, "/dev/vpeer0");
	assert_int_equal(error.mender, VPEER_MENDER_UNKNOWN);
	vpeer_fail_mmap(&error, EINVAL, "0000:01:00.0");
	assert_int_equal(error.mender, VPEER_MENDER_PROGRAM);
	assert_int_equal(vpeer_fail_open(NULL, ENOENT, "/dev/vpeer0"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons),
		cmocka_unit_test(causes),
		cmocka_unit_test(other_names),
		cmocka_unit_test(menders),
		cmocka_unit_test(menders_by_errno),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL) != 0;
}
