// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What else is in the IOMMU group of a function, as "vpeer host" tells it. */
#include "host_seen.h"

#include <string.h>

#include "util.h"

/* A bridge keeps its group only where a driver has it that does not let go. */
static void bridges_of_a_group(void **state)
{
	struct host_tree tree = host_tree_good;
	const struct finding *finding;
	struct seen seen;

	tree.shared = true;
	tree.sound_class = 0x060100;
	tree.sound_driver = "lpc_ich";
	seen_look(&seen, &tree, *state);
	finding = finding_of(&seen.all, "iommu-group", TREE_GPU);
	assert_int_equal(finding->state, STATE_FAIL);
	expect_text(finding->meaning, TREE_SOUND " (lpc_ich)");
	expect_text(finding->remedy, "echo " TREE_SOUND " > /sys/bus/pci/drivers/lpc_ich/unbind");
	seen_forget(&seen);
}

static void free_bridges_of_a_group(void **state)
{
	static const struct said nothing[MOST_SPEAKING];
	struct host_tree tree = host_tree_good;

	tree.shared = true;
	tree.sound_class = 0x060400;
	tree.sound_driver = "pcieport";
	expect_tree(state, &tree, nothing);
}

static void driverless_bridge_of_a_group(void **state)
{
	static const struct said nothing[MOST_SPEAKING];
	struct host_tree tree = host_tree_good;

	tree.shared = true;
	tree.sound_class = 0x060100;
	tree.sound_driver = NULL;
	expect_tree(state, &tree, nothing);
}

/* A function of the root complex has no port that could isolate it. */
static void group_without_ports(void **state)
{
	struct host_tree tree = host_tree_good;
	struct findings all = { 0 };
	struct host_place place;
	struct host host;

	tree.shared = true;
	host_tree_make(&tree, *state, &place);
	host_read(&host, &place);
	assert_int_equal(host_add(&host, TREE_GPU), 0);
	host.functions[0].bridge_count = 0;
	check_functions(&all, &host);
	expect_text(finding_of(&all, "iommu-group", TREE_GPU)->remedy, "no port is above");
	findings_free(&all);
	host_free(&host);
}

/* Of the class of bridges, and yet a function that a driver of the host has. */
static void group_nvswitch(void **state)
{
	static const struct said said[MOST_SPEAKING] = { { "iommu-group", STATE_FAIL } };
	struct host_tree tree = host_tree_good;

	tree.shared = true;
	tree.sound_class = 0x068000;
	tree.sound_driver = "nvidia-nvswitch";
	expect_tree(state, &tree, said);
}

/* A group larger than its line: it is told how many are left out. */
static void large_group(void **state)
{
	struct seen seen;
	char path[128];

	for (unsigned int i = 0; i < 100; i++) {
		text_format(path, sizeof(path), "sys/kernel/iommu_groups/5/devices/0000:%02x:00.0",
			    0x40 + i);
		fixture_directory(*state, path);
	}
	seen_look(&seen, &host_tree_good, *state);
	for (size_t i = 0; i < seen.all.count; i++)
		if (!strcmp(seen.all.items[i].name, "iommu-group") &&
		    !strcmp(seen.all.items[i].object, TREE_GPU))
			assert_non_null(strstr(seen.all.items[i].meaning, " more: only one"));
	assert_int_equal(findings_named(&seen.all, "iommu-group", STATE_WARN), 1);
	seen_forget(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(group_nvswitch), WITH_TREE(large_group), WITH_TREE(bridges_of_a_group),
		WITH_TREE(free_bridges_of_a_group), WITH_TREE(driverless_bridge_of_a_group),
		WITH_TREE(group_without_ports),
	};

	return cmocka_run_group_tests_name("host_groups", tests, NULL, NULL) != 0;
}
