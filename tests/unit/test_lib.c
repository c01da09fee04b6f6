// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "sysfs.h"

static void pci_good(void **state)
{
	struct vpeer_pci_address address;
	char text[VPEER_PCI_LEN];

	(void)state;
	assert_int_equal(vpeer_pci_parse("0000:01:00.0", &address), 0);
	assert_int_equal(address.domain, 0);
	assert_int_equal(address.bus, 1);
	assert_int_equal(address.devfn, 0);
	assert_int_equal(vpeer_pci_parse("10000:e1:1f.7", &address), 0);
	assert_int_equal(address.domain, 0x10000);
	assert_int_equal(address.devfn, 0xff);
	assert_string_equal(vpeer_pci_format(&address, text), "10000:e1:1f.7");
	assert_int_equal(vpeer_pci_parse("A:0b.1", &address), 0);
	assert_string_equal(vpeer_pci_format(&address, text), "0000:0a:0b.1");
	assert_int_equal(vpeer_pci_parse("ffffffff:ff:1f.7", &address), 0);
	assert_string_equal(vpeer_pci_format(&address, text), "ffffffff:ff:1f.7");
}

static void pci_bad(void **state)
{
	static const char *const texts[] = {
		"", "0", ":", "0000:01:00", "0000:01:00.", "0000:01:00.8", "0000:01:20.0",
		"0000:01:00.0 ", " 0000:01:00.0", "0000:01:00.00", "000:01:00.0",
		"123456789:01:00.0", "0000:100:00.0", "0000:01:00.0/..", "-1:00.0", "0x1:00.0",
		"0000::00.0", "gg:00.0",
	};
	struct vpeer_pci_address address = { .domain = 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!vpeer_pci_parse(texts[i], &address))
			fail_msg("accepted '%s'", texts[i]);
	assert_int_equal(vpeer_pci_parse(NULL, &address), -EINVAL);
	assert_int_equal(address.domain, 7);
}

static void aperture_file(const char *root, const char *name, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "class/vpeer/%s/%s", name, file);
	fixture_file(root, path, text);
}

static void aperture_fixture(const char *root, const char *name, const char *pci)
{
	char path[256], target[256];

	aperture_file(root, name, "bar", "2\n");
	aperture_file(root, name, "size", "67108864\n");
	aperture_file(root, name, "granule", "2097152\n");
	aperture_file(root, name, "kind", "owned\n");
	aperture_file(root, name, "bar_offset", "4194304\n");
	aperture_file(root, name, "memory_type", "write-combining\n");
	aperture_file(root, name, "bytes_free", "65011712\n");
	aperture_file(root, name, "bytes_pinned", "4096\n");
	aperture_file(root, name, "windows", "1\n");
	aperture_file(root, name, "mappings", "3\n");
	aperture_file(root, name, "status", "ok\n");
	snprintf(path, sizeof(path), "class/vpeer/%s/device", name);
	snprintf(target, sizeof(target), "../../../devices/pci0000:00/%s", pci);
	fixture_link(root, path, target);
}

static void list_sorted(void **state)
{
	struct vpeer_entry *entries;
	char pci[VPEER_PCI_LEN];
	size_t count;

	aperture_fixture(*state, "vpeer10", "0000:02:00.0");
	aperture_fixture(*state, "vpeer2", "0000:01:00.1");
	fixture_directory(*state, "class/vpeer/other");
	assert_int_equal(vpeer_list_at(*state, &entries, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_int_equal(entries[0].index, 2);
	assert_int_equal(entries[1].index, 10);
	assert_string_equal(vpeer_pci_format(&entries[0].pci, pci), "0000:01:00.1");
	assert_string_equal(entries[0].node, "/dev/vpeer2");
	assert_int_equal(entries[0].bar, 2);
	assert_int_equal(entries[0].size, 64 << 20);
	assert_int_equal(entries[0].granule, 2 << 20);
	assert_int_equal(entries[0].bar_offset, 4 << 20);
	assert_int_equal(entries[0].bytes_free, 62 << 20);
	assert_int_equal(entries[0].bytes_pinned, 4096);
	assert_int_equal(entries[0].windows, 1);
	assert_int_equal(entries[0].mappings, 3);
	assert_string_equal(entries[0].memory_type, "write-combining");
	assert_string_equal(entries[0].status, "ok");
	vpeer_list_free(entries);
}

static void list_without_module(void **state)
{
	struct vpeer_entry *entries;
	struct vpeer_error error;
	size_t count = 9;

	assert_int_equal(vpeer_list_at(*state, &entries, &count, &error), 0);
	assert_int_equal(count, 0);
	assert_null(entries);
}

static void list_garbage(void **state)
{
	struct vpeer_entry *entries;
	struct vpeer_error error;
	size_t count;

	aperture_fixture(*state, "vpeer0", "0000:01:00.0");
	aperture_file(*state, "vpeer0", "size", "many\n");
	assert_int_equal(vpeer_list_at(*state, &entries, &count, &error), -EINVAL);
	assert_int_equal(error.err, EINVAL);
	assert_non_null(strstr(error.who, "vpeer0"));
	assert_null(entries);
	assert_int_equal(count, 0);
}

static void list_leaves_out_detached(void **state)
{
	struct vpeer_entry *entries;
	size_t count;

	aperture_fixture(*state, "vpeer0", "0000:01:00.0");
	fixture_directory(*state, "class/vpeer/vpeer1");
	assert_int_equal(vpeer_list_at(*state, &entries, &count, NULL), 0);
	assert_int_equal(count, 1);
	vpeer_list_free(entries);
}

static void open_errors(void **state)
{
	struct vpeer_aperture *aperture;
	struct vpeer_error error;

	(void)state;
	assert_int_equal(vpeer_open(&aperture, "nonsense", &error), -EINVAL);
	assert_non_null(strstr(error.remedy, "vpeer0, by index"));
	assert_int_equal(error.mender, VPEER_MENDER_PROGRAM);
	assert_int_equal(vpeer_open(&aperture, NULL, &error), -EINVAL);
	assert_non_null(strstr(error.message, "the name is NULL"));
	assert_string_equal(error.who, "aperture");
	assert_int_equal(error.mender, VPEER_MENDER_PROGRAM);
	assert_int_equal(vpeer_open(&aperture, "vpeer", NULL), -EINVAL);
	assert_int_equal(vpeer_open(&aperture, "99999999999", &error), -EINVAL);
	assert_int_equal(error.mender, VPEER_MENDER_PROGRAM);
	assert_int_equal(vpeer_open(&aperture, "/dev/vpeer4294967295", &error), -ENOENT);
	assert_non_null(strstr(error.remedy, "vpeer attach"));
	assert_int_equal(vpeer_open(&aperture, "/dev/null", &error), -ENOTTY);
	assert_non_null(strstr(error.message, "no node of vpeer"));
	assert_int_equal(error.mender, VPEER_MENDER_PROGRAM);
	assert_int_equal(vpeer_open(&aperture, "/etc/passwd", &error), -ENOTTY);
	assert_int_equal(error.mender, VPEER_MENDER_PROGRAM);
	assert_null(aperture);
}

static void expect_refusal(int got, int want, enum vpeer_reason reason, const char *words,
			   struct vpeer_error *error)
{
	assert_int_equal(got, want);
	assert_int_equal(error->reason, reason);
	if (!strstr(error->message, words) || !error->remedy[0])
		fail_msg("'%s' (%s) lacks '%s'", error->message, error->remedy, words);
	vpeer_error_clear(error);
}

static void alloc_refusals(void **state)
{
	struct vpeer_aperture aperture = {
		.fd = -1,
		.size = 64 << 20,
		.granule = 2 << 20,
		.who = "0000:01:00.0",
	};
	struct vpeer_window *window;
	struct vpeer_error error;

	(void)state;
	expect_refusal(vpeer_window_alloc(&aperture, 0, VPEER_ANY_OFFSET, &window, &error),
		       -EINVAL, VPEER_REASON_BAD_ARGUMENT, "the size is 0", &error);
	expect_refusal(vpeer_window_alloc(&aperture, (64 << 20) + 1, 0, &window, &error), -EINVAL,
		       VPEER_REASON_BEYOND_END, "larger than the aperture (67108864 bytes)",
		       &error);
	expect_refusal(vpeer_window_alloc(&aperture, 1, 4096, &window, &error), -EINVAL,
		       VPEER_REASON_BAD_ALIGNMENT,
		       "offset 4096 is not a multiple of the granule 2097152", &error);
	expect_refusal(vpeer_window_alloc(&aperture, 1, 3 << 20, &window, &error), -EINVAL,
		       VPEER_REASON_BAD_ALIGNMENT, "offset 3145728", &error);
	/* What is good goes to the module. */
	assert_int_equal(vpeer_window_alloc(&aperture, 1, 4 << 20, &window, &error), -EBADF);
	assert_int_equal(vpeer_window_alloc(&aperture, 1, VPEER_ANY_OFFSET, &window, &error),
			 -EBADF);
	assert_null(window);
}

static void map_refusals(void **state)
{
	struct vpeer_aperture aperture = { .fd = -1, .size = 64 << 20, .who = "0000:01:00.0" };
	struct vpeer_window window = { .aperture = &aperture, .size = 2 << 20 };
	struct vpeer_error error;
	void *mapped;

	(void)state;
	expect_refusal(vpeer_window_map(&window, 100, 1, PROT_READ, &mapped, &error), -EINVAL,
		       VPEER_REASON_BAD_ALIGNMENT,
		       "offset 100 is not a multiple of the page size 4096", &error);
	expect_refusal(vpeer_window_map(&window, 4096, 2 << 20, PROT_READ, &mapped, &error),
		       -EINVAL, VPEER_REASON_BEYOND_END,
		       "offset 4096 and length 2097152 leave the window of 2097152 bytes", &error);
	expect_refusal(vpeer_window_map(&window, 2 << 20, 0, PROT_READ, &mapped, &error), -EINVAL,
		       VPEER_REASON_BEYOND_END, "offset 2097152", &error);
	expect_refusal(vpeer_window_map(&window, 0, 0, PROT_READ | PROT_EXEC, &mapped, &error),
		       -EPERM, VPEER_REASON_EXEC_MAPPING, "executable", &error);
	expect_refusal(vpeer_window_map(&window, 0, 0, PROT_NONE, &mapped, &error), -EINVAL,
		       VPEER_REASON_BAD_ARGUMENT, "the protection is 0", &error);
	expect_refusal(vpeer_window_map(&window, 0, 0, PROT_READ | 0x1000000, &mapped, &error),
		       -EINVAL, VPEER_REASON_BAD_ARGUMENT, "0x1000001", &error);
	/* What is good goes to the module. */
	assert_int_equal(vpeer_window_map(&window, 0, 0, PROT_WRITE, &mapped, &error), -EBADF);
	assert_int_equal(vpeer_window_map(&window, 0, 0, PROT_READ, &mapped, &error), -EBADF);
	assert_null(mapped);
}

static void export_refusals(void **state)
{
	static const struct {
		uint64_t offset;
		uint64_t size;
		enum vpeer_reason reason;
		const char *words;
	} cases[] = {
		{ 1, 4096, VPEER_REASON_BAD_ALIGNMENT, "offset 1 or size 4096 is not a multiple" },
		{ 4096, 4095, VPEER_REASON_BAD_ALIGNMENT, "size 4095" },
		{ 2 << 20, 0, VPEER_REASON_BEYOND_WINDOW, "leave the window of 2097152 bytes" },
		{ 2 << 20, 4096, VPEER_REASON_BEYOND_WINDOW, "offset 2097152 and size 4096" },
		{ 4096, 2 << 20, VPEER_REASON_BEYOND_WINDOW, "offset 4096" },
		{ -4096ULL, 8192, VPEER_REASON_BEYOND_WINDOW, "offset 18446744073709547520" },
		{ 4096, -4096ULL, VPEER_REASON_BEYOND_WINDOW, "size 18446744073709547520" },
	};
	struct vpeer_aperture aperture = { .fd = -1, .size = 64 << 20, .who = "0000:01:00.0" };
	struct vpeer_window window = { .aperture = &aperture, .size = 2 << 20 };
	struct vpeer_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = 7;

		expect_refusal(vpeer_window_dmabuf(&window, cases[i].offset, cases[i].size, &fd,
						   &error),
			       -EINVAL, cases[i].reason, cases[i].words, &error);
		assert_int_equal(fd, -1);
	}
}

static void errno_words(void **state)
{
	struct vpeer_error error;

	(void)state;
	assert_int_equal(vpeer_fail_open(&error, EACCES, "/dev/vpeer0"), -EACCES);
	assert_non_null(strstr(error.remedy, "group vpeer"));
	assert_int_equal(vpeer_fail_open(&error, EACCES, VPEER_CONTROL_NODE), -EACCES);
	assert_string_equal(error.remedy, "run it as root");
	assert_string_equal(error.who, VPEER_CONTROL_NODE);
	assert_int_equal(vpeer_fail_open(&error, ENOENT, VPEER_CONTROL_NODE), -ENOENT);
	assert_non_null(strstr(error.message, "not loaded"));
	assert_int_equal(vpeer_fail_mmap(&error, EBUSY, "0000:01:00.0"), -EBUSY);
	assert_non_null(strstr(error.message, "has a window there"));
	assert_string_equal(error.who, "0000:01:00.0");
	assert_int_equal(vpeer_fail_mmap(&error, EXDEV, "x"), -EXDEV);
	assert_non_null(strstr(error.message, strerror(EXDEV)));
	assert_int_equal(vpeer_fail_mmap(NULL, EBUSY, "x"), -EBUSY);
}

static void bar_named(unsigned int bar, enum vpeer_reason reason, const char *who,
		      const char *message, const char *remedy)
{
	static const char pci[] = "0000:05:00.0";
	struct vpeer_error error;

	vpeer_fail(&error, EINVAL, reason, pci, vpeer_reason_remedy(reason), "cannot attach: %s",
		   vpeer_reason_text(reason));
	vpeer_name_bar(pci, bar, &error);
	assert_int_equal(error.err, EINVAL);
	assert_int_equal(error.reason, reason);
	assert_string_equal(error.who, who);
	if (!strstr(error.message, message) || !strstr(error.remedy, remedy))
		fail_msg("'%s' (%s) lacks '%s' or '%s'", error.message, error.remedy, message,
			 remedy);
}

static void bar_refusals(void **state)
{
	(void)state;
	bar_named(3, VPEER_REASON_NO_SUCH_BAR, "0000:05:00.0 BAR 3", "upper half", "lspci");
	bar_named(0, VPEER_REASON_TOO_SMALL, "0000:05:00.0 BAR 0", "smaller than a page",
		  "pick a BAR that holds memory ('vpeer list --all'");
	bar_named(VPEER_BAR_AUTO, VPEER_REASON_NO_PAGES, "0000:05:00.0, largest prefetchable BAR",
		  "under 2 MiB", "pick a BAR that holds memory ('vpeer list --all'");
	bar_named(VPEER_BAR_AUTO, VPEER_REASON_NO_SUCH_BAR, "0000:05:00.0",
		  "the function has no prefetchable memory BAR", "--bar N");
	bar_named(2, VPEER_REASON_DRIVER_BOUND, "0000:05:00.0", "another driver", "unbind");
}

static void numbers(void **state)
{
	static const char *const bad[] = { "", "-1", "+1", " 1", "1 ", "0x", "1k",
					   "18446744073709551616" };
	uint64_t value;

	(void)state;
	assert_int_equal(vpeer_parse_u64("18446744073709551615", &value), 0);
	assert_true(value == UINT64_MAX);
	assert_int_equal(vpeer_parse_u64("0x1f", &value), 0);
	assert_int_equal(value, 31);
	assert_int_equal(vpeer_parse_u64("010", &value), 0);
	assert_int_equal(value, 10);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!vpeer_parse_u64(bad[i], &value))
			fail_msg("accepted '%s'", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pci_good),
		cmocka_unit_test(pci_bad),
		cmocka_unit_test_setup_teardown(list_sorted, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(list_without_module, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(list_garbage, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(list_leaves_out_detached, fixture_begin,
						fixture_end),
		cmocka_unit_test(open_errors),
		cmocka_unit_test(alloc_refusals),
		cmocka_unit_test(map_refusals),
		cmocka_unit_test(export_refusals),
		cmocka_unit_test(errno_words),
		cmocka_unit_test(bar_refusals),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests_name("lib", tests, NULL, NULL) != 0;
}
