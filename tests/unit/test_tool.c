// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apertures.h"
#include "holders.h"
#include "module.h"
#include "pcidev.h"
#include "quarantine.h"
#include "table.h"
#include "util.h"

static void sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "1", 1 }, { "4096", 4096 }, { "64K", 65536 }, { "64k", 65536 },
		{ "64KiB", 65536 }, { "1M", 1 << 20 }, { "2GiB", 2ULL << 30 },
		{ "1T", 1ULL << 40 }, { "0x1000", 4096 }, { "0", 0 },
	};
	static const char *const bad[] = { "", "K", "1X", "1KB", "1Ki", "1 K", "-1", "1.5M",
					   "1KiBx", "0x", "99999999999999999999999999999999999",
					   "0 ", "1\t", "1@", "0 iB" };
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse_size(good[i].text, &bytes), 0);
		assert_true(bytes == good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (!parse_size(bad[i], &bytes))
			fail_msg("accepted '%s'", bad[i]);
	assert_int_equal(parse_size("16777216T", &bytes), -ERANGE);
}

static void bytes_text(void **state)
{
	char text[BYTES_LEN];

	(void)state;
	assert_string_equal(format_bytes(0, text), "0 B");
	assert_string_equal(format_bytes(65521, text), "65521 B");
	assert_string_equal(format_bytes(65536, text), "64 KiB");
	assert_string_equal(format_bytes(64ULL << 20, text), "64 MiB");
	assert_string_equal(format_bytes(UINT64_MAX, text), "18446744073709551615 B");
}

static void table_text(void **state)
{
	static const char *const titles[] = { "A", "LONG" };
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	struct table table;

	(void)state;
	assert_non_null(file);
	table_begin(&table, 2, titles);
	table_cell(&table, "%s", "wide cell");
	table_cell(&table, "%d", 7);
	table_cell(&table, "%s", "");
	table_cell(&table, "x");
	table_print(&table, file);
	table_end(&table);
	fclose(file);
	assert_string_equal(text, "A          LONG\nwide cell  7\n-          x\n");
	free(text);
}

static void resource_lines(void **state)
{
	struct pci_bar bar;

	(void)state;
	assert_int_equal(pci_parse_resource("0x0000380000000000 0x0000380003ffffff "
					    "0x000000000014220c", &bar), 0);
	assert_true(bar.start == 0x380000000000);
	assert_int_equal(bar.size, 64 << 20);
	assert_true(bar.memory && bar.prefetchable);
	assert_int_equal(pci_parse_resource("0x0 0x0 0x0", &bar), 0);
	assert_int_equal(bar.size, 0);
	assert_int_equal(pci_parse_resource("0xc000 0xc01f 0x40101", &bar), 0);
	assert_false(bar.memory);
	assert_int_equal(pci_parse_resource("0x2000 0x1000 0x200", &bar), -EINVAL);
	assert_int_equal(pci_parse_resource("what", &bar), -EINVAL);
}

static void function_fixture(const char *root, const char *pci, const char *bar2,
			     const char *driver)
{
	char path[256], text[1024];

	snprintf(path, sizeof(path), "bus/pci/devices/%s/resource", pci);
	snprintf(text, sizeof(text), "0xfe000000 0xfe000fff 0x40200\n0x0 0x0 0x0\n%s\n"
		 "0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n", bar2);
	fixture_file(root, path, text);
	if (!driver)
		return;
	snprintf(path, sizeof(path), "bus/pci/devices/%s/driver", pci);
	snprintf(text, sizeof(text), "../../../../bus/pci/drivers/%s", driver);
	fixture_link(root, path, text);
}

static void candidates(void **state)
{
	struct candidate *found;
	size_t count;

	function_fixture(*state, "0000:03:00.0", "0x10000000 0x13ffffff 0x14220c", "nvidia");
	function_fixture(*state, "0000:01:00.0", "0x20000000 0x201fffff 0x14220c", NULL);
	function_fixture(*state, "0000:02:00.0", "0x30000000 0x300fffff 0x14220c", NULL);
	function_fixture(*state, "0000:04:00.0", "0x40000000 0x43ffffff 0x140204", NULL);
	function_fixture(*state, "0000:05:00.0", "0x50000000 0x53ffffff 0x14220c", "vpeer");
	assert_int_equal(pci_candidates(*state, &found, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(found[0].pci.bus, 1);
	assert_int_equal(found[0].bar, 2);
	assert_int_equal(found[0].size, 2 << 20);
	assert_string_equal(found[0].driver, "");
	assert_string_equal(found[1].driver, "nvidia");
	free(found);
}

/* What sysfs tells of the BARs of a function that has another driver. */
static void judged_bars(void **state)
{
	static const struct {
		const char *line;	/* of BAR 2 */
		unsigned int bar;
		bool force;
		enum vpeer_reason reason;
	} cases[] = {
		{ "0x10000000 0x13ffffff 0x14220c", VPEER_BAR_AUTO, false, VPEER_REASON_NONE },
		{ "0x10000000 0x13ffffff 0x14220c", 2, false, VPEER_REASON_NONE },
		{ "0x10000000 0x13ffffff 0x14220c", 3, true, VPEER_REASON_NO_SUCH_BAR },
		{ "0x10000000 0x13ffffff 0x140204", VPEER_BAR_AUTO, true,
		  VPEER_REASON_NO_SUCH_BAR },
		{ "0x10000000 0x13ffffff 0x140204", 2, false, VPEER_REASON_NOT_PREFETCHABLE },
		{ "0x10000000 0x13ffffff 0x140204", 2, true, VPEER_REASON_NONE },
		{ "0x10000000 0x1000ffff 0x14220c", VPEER_BAR_AUTO, false, VPEER_REASON_NO_PAGES },
		{ "0xc000 0xc01f 0x40101", 2, true, VPEER_REASON_NOT_MEMORY },
		{ "0x0 0x3ffffff 0x14220c", VPEER_BAR_AUTO, false, VPEER_REASON_UNASSIGNED },
		{ "0x0 0x0 0x0", VPEER_BAR_AUTO, false, VPEER_REASON_NO_SUCH_BAR },
	};
	char pci[VPEER_PCI_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		text_format(pci, sizeof(pci), "0000:%02zx:00.0", i + 1);
		function_fixture(*state, pci, cases[i].line, "nvidia");
		if (pci_judge_bar(*state, pci, cases[i].bar, cases[i].force) != cases[i].reason)
			fail_msg("'%s' BAR %u: not %s", cases[i].line, cases[i].bar,
				 vpeer_reason_name(cases[i].reason));
	}
	assert_int_equal(pci_judge_bar(*state, "0000:ff:00.0", 0, false), VPEER_REASON_NONE);
}

static void quarantine_lines(void **state)
{
	struct quarantine *ranges, range;
	char pci[VPEER_PCI_LEN];
	size_t count;

	fixture_file(*state, "class/misc/vpeerctl/quarantine",
		     "0000:01:00.0 bar2 0x380000000000 67108864 1048576\n"
		     "0000:02:00.0 bar0 0x1000 4096 4096\n");
	assert_int_equal(quarantine_read(*state, &ranges, &count), 0);
	assert_int_equal(count, 2);
	assert_string_equal(vpeer_pci_format(&ranges[0].pci, pci), "0000:01:00.0");
	assert_int_equal(ranges[0].bar, 2);
	assert_true(ranges[0].start == 0x380000000000);
	assert_int_equal(ranges[0].size, 64 << 20);
	assert_int_equal(ranges[0].pinned, 1 << 20);
	free(ranges);
	assert_int_equal(quarantine_parse("0000:01:00.0 bar2 0x0 1", &range), -EINVAL);
	assert_int_equal(quarantine_parse("0000:01:00.0 bar2 0x0 1 1 1", &range), -EINVAL);
	assert_int_equal(quarantine_parse("elsewhere bar2 0x0 1 1", &range), -EINVAL);
}

static void quarantine_empty(void **state)
{
	struct quarantine *ranges;
	size_t count;

	assert_int_equal(quarantine_read(*state, &ranges, &count), 0);
	assert_int_equal(count, 0);
	fixture_file(*state, "class/misc/vpeerctl/quarantine", "");
	assert_int_equal(quarantine_read(*state, &ranges, &count), 0);
	assert_int_equal(count, 0);
}

static void apertures_of_a_function(void **state)
{
	struct vpeer_entry entries[] = {
		{ .pci = { .bus = 1 }, .index = 0 },
		{ .pci = { .bus = 2 }, .index = 1 },
		{ .pci = { .bus = 1 }, .index = 2 },
		{ .pci = { .bus = 1, .devfn = 1 }, .index = 3 },
	};
	const struct vpeer_pci_address address = { .bus = 1 };

	(void)state;
	assert_int_equal(apertures_pick(&address, entries, ARRAY_SIZE(entries)), 2);
	assert_int_equal(entries[0].index, 0);
	assert_int_equal(entries[1].index, 2);
	entries[1].bytes_pinned = 4096;
	assert_int_equal(apertures_pick_pinned(entries, 2), 1);
	assert_int_equal(entries[0].index, 2);
}

static void aperture_attributes(const char *root, const char *name, const char *dmabufs,
				const char *mapped)
{
	char path[64];

	text_format(path, sizeof(path), "class/vpeer/%s/dmabufs", name);
	fixture_file(root, path, dmabufs);
	text_format(path, sizeof(path), "class/vpeer/%s/dmabuf_bytes_mapped", name);
	fixture_file(root, path, mapped);
}

static void dmabufs_of_apertures(void **state)
{
	struct vpeer_entry entries[] = { { .index = 0 }, { .index = 1 }, { .index = 12 } };
	size_t count = ARRAY_SIZE(entries);
	struct dmabufs *dmabufs;

	aperture_attributes(*state, "vpeer0", "0\n", "0\n");
	aperture_attributes(*state, "vpeer12", "3\n", "1048576\n");
	assert_int_equal(apertures_dmabufs(*state, entries, &count, &dmabufs), 0);
	assert_int_equal(count, 2);
	assert_int_equal(entries[1].index, 12);
	assert_int_equal(dmabufs[0].count, 0);
	assert_int_equal(dmabufs[1].count, 3);
	assert_int_equal(dmabufs[1].bytes_mapped, 1 << 20);
	free(dmabufs);
	/* That it is there, but tells no number, is an error. */
	fixture_file(*state, "class/vpeer/vpeer12/dmabufs", "many\n");
	assert_true(apertures_dmabufs(*state, entries, &count, &dmabufs) < 0);
	free(dmabufs);
}

static const struct holder *holder_of(const struct holders *found, pid_t pid)
{
	for (size_t i = 0; i < found->count; i++)
		if (found->items[i].pid == pid)
			return &found->items[i];
	fail_msg("process %d is not named", (int)pid);
	return NULL;
}

static void holders_by_node(void **state)
{
	struct holders found = { 0 };

	fixture_file(*state, "12/maps", "7f00-7f01 rw-s 00000000 00:05 1 /dev/vpeer1 (deleted)\n");
	fixture_file(*state, "12/comm", "trainer\n");
	fixture_directory(*state, "12/fd");
	fixture_file(*state, "13/maps", "7f00-7f01 rw-s 00000000 00:05 1 /dev/vpeer11\n");
	fixture_directory(*state, "13/fd");
	fixture_file(*state, "14/maps", "");
	fixture_file(*state, "14/comm", "reader\n");
	fixture_link(*state, "14/fd/5", "/dev/vpeer1");
	fixture_file(*state, "self/maps", "x /dev/vpeer1\n");
	/* It has ended meanwhile. */
	fixture_file(*state, "15/maps", "7f00-7f01 rw-s 00000000 00:05 1 /dev/vpeer1\n");
	assert_int_equal(holders_of_node(&found, *state, "/dev/vpeer1"), 0);
	assert_int_equal(found.count, 2);
	assert_string_equal(holder_of(&found, 12)->command, "trainer");
	assert_string_equal(holder_of(&found, 14)->use, "has /dev/vpeer1 open or mapped");
	assert_false(holder_of(&found, 14)->sure);
	assert_int_equal(holders_of_node(&found, *state, "/dev/vpeer1"), 0);
	assert_int_equal(found.count, 2);
	holders_free(&found);
	assert_false(holder_path_matches("/dev/vpeer10", "/dev/vpeer1"));
	assert_false(holder_path_matches("/dev/vpeer", "/dev/vpeer1"));
}

static void holders_by_dmabuf(void **state)
{
	struct holders found = { 0 };

	fixture_file(*state, "12/fdinfo/3", "pos:\t0\nsize:\t4096\ncount:\t2\nexp_name:\tvpeer\n");
	fixture_file(*state, "12/comm", "trainer\n");
	fixture_file(*state, "13/fdinfo/3", "exp_name:\tvpeerish\n");
	fixture_file(*state, "13/comm", "other\n");
	fixture_file(*state, "14/fdinfo/3", "name:\texp_name:\tvpeer\n");
	fixture_file(*state, "14/comm", "misleading\n");
	assert_int_equal(holders_of_dmabufs(&found, *state), 0);
	assert_int_equal(found.count, 1);
	assert_string_equal(holder_of(&found, 12)->use, "has a DMA-buf of vpeer open");
	holders_free(&found);
}

#define WINDOWS "offset size pinned mappings uid state kind dmabufs mapped pids\n"

static void holders_by_module(void **state)
{
	const struct vpeer_entry entry = { .index = 1, .node = "/dev/vpeer1" };
	struct holders found = { 0 };

	fixture_file(*state, "12/comm", "trainer\n");
	fixture_file(*state, "13/comm", "other\n");
	fixture_file(*state, "14/comm", "loader\n");
	assert_int_equal(holders_of_windows(&found, *state, *state, &entry), -ENOENT);
	fixture_file(*state, "vpeer/vpeer1/windows",
		     WINDOWS "0x0 2097152 4096 0 0 revoked explicit 0 4096 12,99\n"
			     "0x200000 2097152 4096 0 0 active explicit 0 4096 13\n"
			     "0x400000 2097152 0 1 0 revoked implicit 1 0 13\n"
			     "0x600000 2097152 65536 0 0 draining implicit 0 0 12,0,14\n"
			     "0x800000 2097152 4096 0 0 revoked explicit 0 0 -\n");
	assert_int_equal(holders_of_windows(&found, *state, *state, &entry), 0);
	assert_int_equal(found.count, 2);
	assert_true(found.outside);
	assert_true(holder_of(&found, 12)->sure);
	assert_string_equal(holder_of(&found, 14)->use,
			    "mapped or registered memory of /dev/vpeer1 that is held");
	holders_free(&found);
	fixture_file(*state, "vpeer/vpeer1/windows",
		     "offset size pinned mappings uid state kind dmabufs mapped\n");
	assert_int_equal(holders_of_windows(&found, *state, *state, &entry), -EPROTO);
}

static void holders_by_quarantine(void **state)
{
	const struct vpeer_pci_address address = { .bus = 1 };
	struct holders found = { 0 };

	fixture_file(*state, "12/comm", "trainer\n");
	fixture_file(*state, "13/comm", "other\n");
	fixture_file(*state, "vpeer/quarantine",
		     "function bar start size pinned pids\n"
		     "0000:01:00.0 bar2 0x380000000000 67108864 4096 12\n"
		     "0000:02:00.0 bar2 0x390000000000 67108864 4096 13\n");
	assert_int_equal(holders_of_quarantine(&found, *state, *state, &address), 0);
	assert_int_equal(found.count, 1);
	assert_string_equal(holder_of(&found, 12)->use,
			    "mapped or registered memory of 0000:01:00.0 that is held");
	holders_free(&found);
}

static void expect_load(int err, const char *message, const char *remedy,
			const struct module_facts *base)
{
	struct module_facts facts = *base;
	struct vpeer_error error;

	facts.err = err;
	assert_int_equal(module_diagnose(&facts, &error), facts.found ? -err : -ENOENT);
	if (!strstr(error.message, message))
		fail_msg("'%s' lacks '%s'", error.message, message);
	if (!strstr(error.remedy, remedy))
		fail_msg("'%s' lacks '%s'", error.remedy, remedy);
}

static void module_causes(void **state)
{
	struct module_facts facts = {
		.found = true,
		.root = true,
		.release = "6.12.95+deb13-amd64",
		.vermagic = "6.12.95+deb13-amd64 SMP preempt mod_unload modversions",
	};

	(void)state;
	expect_load(EKEYREJECTED, "unsigned or its signature", "mokutil --import", &facts);
	expect_load(ENOKEY, "not signed by an enrolled key", "mok.pub", &facts);
	expect_load(ENOENT, "(not readable from the log)", "rebuild", &facts);
	expect_load(EPERM, "may not load modules", "container", &facts);
	expect_load(EIO, strerror(EIO), "dmesg", &facts);
	strcpy(facts.missing, "pci_frob");
	expect_load(ENOENT, "pci_frob", "rebuild", &facts);
	facts.missing[0] = '\0';
	strcpy(facts.lockdown, "integrity");
	expect_load(EPERM, "lockdown", "mokutil", &facts);
	facts.sig_enforce = true;
	expect_load(ENOKEY, "enforced", "sign-file", &facts);
	facts.root = false;
	expect_load(EPERM, "only root", "sudo", &facts);
	strcpy(facts.vermagic, "6.1.0-57-amd64 SMP");
	expect_load(ENOEXEC, "built for kernel 6.1.0-57-amd64,",
		    "dkms autoinstall -k 6.12.95+deb13-amd64", &facts);
	facts.found = false;
	expect_load(ENOENT, "no vpeer.ko",
		    "install linux-headers-6.12.95+deb13-amd64, then in the source 'make && make "
		    "install-module', or 'dkms install vpeer/" TOOL_VERSION
		    " -k 6.12.95+deb13-amd64'", &facts);
}

static void module_lines(void **state)
{
	char text[64];

	(void)state;
	module_parse_lockdown("none [integrity] confidentiality", text, sizeof(text));
	assert_string_equal(text, "integrity");
	module_parse_lockdown("garbage", text, sizeof(text));
	assert_string_equal(text, "");
	assert_true(module_parse_unknown_symbol("3,1,2,-;vpeer: Unknown symbol pci_frob (err -2)\n",
						text, sizeof(text)));
	assert_string_equal(text, "pci_frob");
	assert_true(module_parse_unknown_symbol("vpeer: disagrees about version of symbol pin_x\n",
						text, sizeof(text)));
	assert_string_equal(text, "pin_x");
	assert_false(module_parse_unknown_symbol("nvme: Unknown symbol pci_frob (err -2)", text,
						 sizeof(text)));
}

/* Exit status of a child without any descriptor that looks at what came for them. */
static int without_standard_files(void)
{
	closefrom(0);
	if (hold_standard_files())
		return 1;
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) != 3)
		return 2;
	return write(STDOUT_FILENO, "x", 1) == -1 ? 0 : 3;
}

static void standard_files(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (!child)
		_exit(without_standard_files());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(bytes_text),
		cmocka_unit_test(table_text),
		cmocka_unit_test(resource_lines),
		cmocka_unit_test_setup_teardown(candidates, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(judged_bars, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(quarantine_lines, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(quarantine_empty, fixture_begin, fixture_end),
		cmocka_unit_test(apertures_of_a_function),
		cmocka_unit_test_setup_teardown(dmabufs_of_apertures, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(holders_by_node, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(holders_by_dmabuf, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(holders_by_module, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(holders_by_quarantine, fixture_begin, fixture_end),
		cmocka_unit_test(module_causes),
		cmocka_unit_test(module_lines),
		cmocka_unit_test(standard_files),
	};

	return cmocka_run_group_tests_name("tool", tests, NULL, NULL) != 0;
}
