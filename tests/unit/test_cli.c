// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Exit statuses and where messages go, of the tool as it is run. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"

struct run {
	int status;
	char out[4096];
	char err[4096];
};

static void read_all(FILE *file, char text[4096])
{
	size_t got = fread(text, 1, 4095, file);

	assert_int_equal(ferror(file), 0);
	text[got] = '\0';
}

static struct run run(const char *root, const char *arguments)
{
	char command[1024];
	struct run run;
	FILE *file;
	int status;

	text_format(command, sizeof(command), TOOL " %s 2>%s/err", arguments, root);
	file = popen(command, "re");
	assert_non_null(file);
	read_all(file, run.out);
	status = pclose(file);
	assert_true(WIFEXITED(status));
	run.status = WEXITSTATUS(status);
	text_format(command, sizeof(command), "%s/err", root);
	file = fopen(command, "re");
	assert_non_null(file);
	read_all(file, run.err);
	fclose(file);
	return run;
}

static void usage_errors(void **state)
{
	static const char *const arguments[] = {
		"", "frobnicate", "--frobnicate", "help frobnicate",
		"help list extra", "list extra", "list --bogus",
		"attach", "attach 0000:01:00.0 0000:02:00.0", "attach nowhere",
		"attach 0000:01:00.0 --bar", "attach 0000:01:00.0 --bar 6",
		"attach 0000:01:00.0 --bar -1", "attach 0000:01:00.9", "detach", "detach vpeer0",
		"detach --force 0000:01:00.0", "revoke", "revoke x",
		"selftest extra", "selftest --aperture 1", "selftest --accept owner",
		"selftest --timeout 0", "selftest --timeout 1s", "selftest --timeout 99999999",
		"selftest --sizes 0", "selftest --sizes 17M", "selftest --sizes 1,,2",
		"selftest --sizes ''", "selftest --sizes 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
		"selftest --scratch /dev/sda", "selftest --scratch /dev/sda:0:1G",
		"selftest --seed -1", "selftest --rdma",
		"bench extra", "bench --aperture 1", "bench --size 0", "bench --size 1M",
		"bench --size 3000000", "bench --seconds 0", "bench --seconds 1s",
		"bench --host hugetlb", "bench --only ''", "bench --only touch,", "bench --svg",
		"bench --only everything", "bench --scratch /dev/sda", "bench --rdma",
		"bench --aperture 0000:01:00.0 --aperture 0000:02:00.0",
		"topo extra", "topo --svg", "topo --check", "topo --measured", "topo --bogus",
		"topo --json --svg x", "topo --json --nccl-xml", "topo --list --nccl-xml",
		"topo --list --json", "topo --strict", "topo --check x --measured y",
		"topo --check x --svg y",
		"host", "host frobnicate", "host check nowhere", "host check --bogus", "host xml",
		"host qemu", "host qemu --", "host qemu -- 0000:01:00.0",
		"host qemu --memory 1 0000:01:00.0", "host qemu --memory 0 0000:01:00.0",
		"host qemu --cpus 0 0000:01:00.0", "host qemu --cpus many 0000:01:00.0",
		"host qemu --topology tree 0000:01:00.0",
		"host qemu --guest-iommu amd 0000:01:00.0",
		"host qemu --firmware none 0000:01:00.0", "host qemu --append x 0000:01:00.0",
		"host qemu --name 'a b' 0000:01:00.0", "host qemu --managed 0000:01:00.0",
		"host xml --kernel k --append 'a\nb' 0000:01:00.0",
		"host xml --kernel 'k\xff' 0000:01:00.0",
		"host qemu --lines 0000:01:00.0 -- 'a\nb'",
		"host xml --fragment --memory 1G 0000:01:00.0",
		"host xml --name a --fragment 0000:01:00.0",
		"host xml --fragment --firmware ovmf 0000:01:00.0",
		"host xml --lines 0000:01:00.0", "host xml --memory", "host xml nowhere",
	};

	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		struct run result = run(*state, arguments[i]);

		if (result.status != EXIT_USAGE)
			fail_msg("'%s' exits %d", arguments[i], result.status);
		if (result.out[0] || !strstr(result.err, "usage: vpeer"))
			fail_msg("'%s' says '%s'", arguments[i], result.err);
	}
}

static void help_texts(void **state)
{
	static const char *const commands[] = { "list", "attach", "detach", "revoke", "selftest",
					       "bench",	"host" };
	struct run result = run(*state, "help");
	char arguments[64];

	assert_int_equal(result.status, EXIT_PASS);
	assert_string_equal(result.err, "");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		assert_non_null(strstr(result.out, commands[i]));
		text_format(arguments, sizeof(arguments), "help %s", commands[i]);
		assert_int_equal(run(*state, arguments).status, EXIT_PASS);
		assert_non_null(strstr(run(*state, arguments).out, "usage: vpeer"));
		text_format(arguments, sizeof(arguments), "%s --help", commands[i]);
		assert_int_equal(run(*state, arguments).status, EXIT_PASS);
		assert_non_null(strstr(run(*state, arguments).out, "  --help "));
	}
	assert_string_equal(run(*state, "-h").out, result.out);
	assert_string_equal(run(*state, "--help").out, result.out);
	result = run(*state, "--version");
	assert_int_equal(result.status, EXIT_PASS);
	assert_non_null(strstr(result.out, TOOL_VERSION));
}

/* A machine without the module, as one that builds the project is. */
/* Releases of json-c break lines in an empty list or not. */
static bool has_empty_list(const char *text, const char *start)
{
	const char *at = strstr(text, start);

	if (!at)
		return false;
	at += strlen(start);
	return at[strspn(at, " \n")] == ']';
}

static void without_module(void **state)
{
	struct run result;

	if (!access("/sys/module/vpeer", F_OK))
		skip();
	result = run(*state, "selftest");
	assert_int_equal(result.status, EXIT_NOTHING);
	assert_non_null(strstr(result.err, "nothing to test"));
	result = run(*state, "selftest --json");
	assert_int_equal(result.status, EXIT_NOTHING);
	assert_true(has_empty_list(result.out, "\"pairs\":["));
	result = run(*state, "list --all");
	assert_non_null(strstr(result.out, "no aperture is attached\n"));
	result = run(*state, "selftest --aperture 0000:01:00.0");
	assert_int_equal(result.status, EXIT_FAIL);
	assert_non_null(strstr(result.err, "0000:01:00.0"));
	result = run(*state, "list --json");
	assert_int_equal(result.status, EXIT_PASS);
	assert_non_null(strstr(result.out, "\"schema_version\""));
	result = run(*state, "detach 0000:01:00.0");
	assert_int_equal(result.status, EXIT_FAIL);
	assert_non_null(strstr(result.err, "modprobe vpeer"));
	result = run(*state, "revoke ffff:ff:1f.7");
	assert_int_equal(result.status, EXIT_FAIL);
	assert_non_null(strstr(result.err, "ffff:ff:1f.7: there is no PCI function"));
	assert_non_null(strstr(result.err, "remedy:"));
}

static void expect_unwritten(const char *root, const char *arguments)
{
	struct run result = run(root, arguments);

	if (result.status != EXIT_FAIL)
		fail_msg("'%s' exits %d", arguments, result.status);
	if (!strstr(result.err, "standard output") || !strstr(result.err, "remedy:"))
		fail_msg("'%s' says '%s'", arguments, result.err);
}

static void host_refusals(void **state)
{
	static const char *const arguments[] = {
		"host check ffff:ff:1f.7", "host qemu ffff:ff:1f.7", "host xml ffff:ff:1f.7",
	};

	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		struct run result = run(*state, arguments[i]);

		assert_int_equal(result.status, EXIT_FAIL);
		assert_string_equal(result.out, "");
		assert_non_null(strstr(result.err, "ffff:ff:1f.7: there is no such PCI function"));
		assert_non_null(strstr(result.err, "remedy:"));
	}
}

/* Whatever machine this is. */
static void host_document_printed(void **state)
{
	struct run result = run(*state, "host check --json | head -c 4000");

	assert_non_null(strstr(result.out, "\"schema_version\":1"));
	assert_non_null(strstr(result.out, "\"osrelease\":"));
	result = run(*state, "host check");
	assert_true(result.status == EXIT_PASS || result.status == EXIT_FAIL ||
		    result.status == EXIT_NOTHING);
	if (result.status == EXIT_NOTHING)
		assert_non_null(strstr(result.err, "only the host was looked at"));
}

static void output_errors(void **state)
{
	static const char *const arguments[] = {
		"list >/dev/full", "list >&-", "list --json >/dev/full", "list --json >&-",
		"list --all >/dev/full", "--version >/dev/full", "--version >&-",
		"help >/dev/full", "help >&-", "help list >/dev/full",
	};

	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++)
		expect_unwritten(*state, arguments[i]);
	assert_int_equal(run(*state, "frobnicate >&-").status, EXIT_USAGE);
	assert_int_equal(run(*state, "--version <&-").status, EXIT_PASS);
}

static void limits_told(void **state)
{
	assert_non_null(strstr(run(*state, "selftest --timeout 0").err, "at least 1"));
	assert_non_null(strstr(run(*state, "bench --seconds 0").err, "at least 1"));
}

/* As in 'vpeer help | head', once head has gone. */
static void reader_gone(void **state)
{
	char command[1024], path[512];
	struct run result;
	FILE *file;

	text_format(command, sizeof(command),
		    "{ sleep 0.3; " TOOL " help 2>%s/err; echo $? >%s/status; } | :",
		    (char *)*state, (char *)*state);
	assert_int_equal(system(command), 0);
	text_format(path, sizeof(path), "%s/err", (char *)*state);
	file = fopen(path, "re");
	assert_non_null(file);
	read_all(file, result.err);
	fclose(file);
	assert_string_equal(result.err, "");
	text_format(path, sizeof(path), "%s/status", (char *)*state);
	file = fopen(path, "re");
	assert_non_null(file);
	read_all(file, result.out);
	fclose(file);
	assert_string_equal(result.out, "1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(usage_errors, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(help_texts, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(limits_told, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(host_refusals, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(host_document_printed, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(output_errors, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(reader_gone, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(without_module, fixture_begin, fixture_end),
	};

	return cmocka_run_group_tests_name("command line", tests, NULL, NULL) != 0;
}
