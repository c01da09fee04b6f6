// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* "vpeer host" on hosts that are made up: well ones and broken ones. */
#include "host_seen.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <string.h>

#include "util.h"

static void good_host(void **state)
{
	static const char *const names[] = {
		"iommu", "interrupt-remapping", "kernel-command-line", "kvm", "vfio", "hugepages",
		"address-width", "driver", "iommu-group", "bars", "bar-address-width",
		"node-hugepages", "link",
		"relaxed-ordering", "max-read-request", "ats", "vf-trust", "vf-spoof-check",
		"vf-rate", "vf-link-state", "acs", "route", "max-payload", "numa",
	};
	static const struct said nothing[MOST_SPEAKING];
	struct seen seen;

	seen_look(&seen, &host_tree_good, *state);
	assert_int_equal(seen.host.function_count, 2);
	assert_string_equal(seen.host.functions[0].pci, TREE_GPU);
	assert_string_equal(seen.host.functions[1].pci, TREE_VF);
	assert_int_equal(seen.path_count, 1);
	assert_int_equal(seen.paths[0].route, ROUTE_DIRECT);
	assert_string_equal(seen.paths[0].common, "0000:01:00.0");
	assert_int_equal(seen.paths[0].bridge_count, 2);
	expect_said(&seen.all, nothing);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!findings_named(&seen.all, names[i], STATE_OK))
			fail_msg("no check %s", names[i]);
	seen_forget(&seen);
}

#define BROKEN(name, change, ...) \
	static void name(void **state) \
	{ \
		static const struct said said[MOST_SPEAKING] = { __VA_ARGS__ }; \
		struct host_tree tree = host_tree_good; \
	\
		change; \
		expect_tree(state, &tree, said); \
	}

#define UNSEEN(name) { name, STATE_UNKNOWN }

BROKEN(no_iommu, tree.iommu = false, { "iommu", STATE_FAIL }, UNSEEN("interrupt-remapping"))
BROKEN(no_remapping, tree.remapping = false, { "interrupt-remapping", STATE_FAIL })
BROKEN(no_kvm, tree.kvm = false, { "kvm", STATE_FAIL })
BROKEN(no_vfio, tree.type1 = false, { "vfio", STATE_FAIL })
BROKEN(old_iommufd, tree.type1 = false; tree.iommufd = true, { "vfio", STATE_WARN })
BROKEN(group_used, tree.shared = true; tree.sound_driver = "snd", { "iommu-group", STATE_FAIL })
BROKEN(group_shared, tree.shared = true, { "iommu-group", STATE_WARN })
BROKEN(stub, tree.shared = true; tree.sound_driver = "pci-stub", { "iommu-group", STATE_WARN })
BROKEN(translated_blocked, tree.nic_acs = 0x5f, { "acs", STATE_FAIL }, { "route", STATE_WARN })
BROKEN(translated_blocked_of_gpu, tree.gpu_acs = 0x5f, { "acs", STATE_WARN })
BROKEN(no_spoof_check, tree.settings.spoof_check = false, { "vf-spoof-check", STATE_WARN })
BROKEN(no_redirect, tree.nic_acs = 0x59, { "acs", STATE_FAIL }, { "route", STATE_WARN })
BROKEN(no_source_validation, tree.nic_acs = 0x5c, { "acs", STATE_FAIL })
BROKEN(egress_control, tree.nic_acs = 0x7d, { "acs", STATE_WARN })
BROKEN(no_direct_translated, tree.nic_acs = 0x1d, { "route", STATE_WARN })
BROKEN(ats_off, tree.ats = OFF, { "ats", STATE_WARN }, { "route", STATE_WARN })
BROKEN(ats_absent, tree.ats = WITHOUT, { "ats", STATE_WARN }, { "route", STATE_WARN })
BROKEN(ats_forbidden, tree.cmdline = "quiet pci=noats", { "kernel-command-line", STATE_FAIL })
BROKEN(cmdline_unread, tree.cmdline = NULL, { "kernel-command-line", STATE_UNKNOWN })
BROKEN(no_hugepages, tree.free_pages = 0, { "hugepages", STATE_WARN })
BROKEN(no_node_pages, tree.node_pages = 0, { "node-hugepages", STATE_WARN })
BROKEN(vf_unlisted, tree.unlisted = true, { "vf-settings", STATE_UNKNOWN })
BROKEN(no_trust, tree.settings.trust = false, { "vf-trust", STATE_WARN })
BROKEN(limited_rate, tree.settings.max_tx_rate = 1000, { "vf-rate", STATE_WARN })
BROKEN(link_down, strcpy(tree.settings.link_state, "disable"), { "vf-link-state", STATE_FAIL })
BROKEN(no_settings, tree.settings_err = -ENODATA, { "vf-settings", STATE_UNKNOWN })
BROKEN(bar_too_high, tree.gpu_bar = 1ULL << 46, { "bar-address-width", STATE_FAIL })
BROKEN(bar_unassigned, tree.gpu_bar = 0, { "bars", STATE_FAIL })
BROKEN(narrow_iommu, tree.iommu_width = 39, { "address-width", STATE_WARN })
BROKEN(narrow_link, tree.gpu_width = "8", { "link", STATE_WARN })
BROKEN(host_driver, tree.gpu_driver = "nvidia", { "driver", STATE_WARN })
BROKEN(no_relaxed_ordering, tree.relaxed = false, { "relaxed-ordering", STATE_WARN })
BROKEN(small_reads, tree.read_request = 512, { "max-read-request", STATE_WARN })
BROKEN(unlike_payload, tree.nic_payload = 512, { "max-payload", STATE_FAIL })
BROKEN(across_sockets, tree.vf_node = 1, { "numa", STATE_WARN })
BROKEN(odd_node, tree.gpu_node = -5, { "numa", STATE_UNKNOWN })
BROKEN(bar_beyond, tree.gpu_bar = ~0ULL << 36, { "bar-address-width", STATE_FAIL })
BROKEN(no_node, tree.gpu_node = -1, { "numa", STATE_UNKNOWN })

static void translated_blocked_without_ats(void **state)
{
	static const struct said said[MOST_SPEAKING] = {
		{ "acs", STATE_WARN }, { "ats", STATE_WARN }, { "route", STATE_WARN },
	};
	struct host_tree tree = host_tree_good;

	tree.nic_acs = 0x5f;
	tree.ats = WITHOUT;
	expect_tree(state, &tree, said);
}

/* Registers that were read are shown, also when all of their bits are off. */
static void acs_all_off(void **state)
{
	struct host_tree tree = host_tree_good;
	const struct finding *finding;
	struct seen seen;

	tree.nic_acs = 0;
	seen_look(&seen, &tree, *state);
	finding = finding_of(&seen.all, "acs", TREE_NIC_PORT);
	assert_int_equal(finding->state, STATE_FAIL);
	assert_string_equal(finding->evidence[0].value, "ACSCtl SrcValid- TransBlk- ReqRedir- "
			    "CmpltRedir- UpstreamFwd- DirectTrans-");
	seen_forget(&seen);
}

static void acs_offers_nothing(void **state)
{
	struct host_tree tree = host_tree_good;
	const struct finding *finding;
	struct seen seen;

	tree.nic_acs = 0;
	tree.nic_acs_cap = 0;
	seen_look(&seen, &tree, *state);
	finding = finding_of(&seen.all, "acs", TREE_NIC_PORT);
	assert_int_equal(finding->state, STATE_OK);
	expect_text(finding->meaning, "offers none");
	expect_text(finding->evidence[0].value, "ACSCap without any bit");
	seen_forget(&seen);
}

static void no_memory_bars(void **state)
{
	struct findings all = { 0 };
	struct host_place place;
	struct host host;

	host_tree_make(&host_tree_good, *state, &place);
	host_read(&host, &place);
	assert_int_equal(host_add(&host, TREE_PF), 0);
	check_functions(&all, &host);
	assert_string_equal(finding_of(&all, "bars", TREE_PF)->meaning, "it has no memory BAR");
	findings_free(&all);
	host_free(&host);
}

/* Words that only contain one that matters. */
static void other_words(void **state)
{
	static const struct said nothing[MOST_SPEAKING];
	struct host_tree tree = host_tree_good;

	tree.cmdline = "mynoats=1 root=LABEL=disable_acs_redirect xnoats,noatsx";
	expect_tree(state, &tree, nothing);
}

static void not_root(void **state)
{
	static const struct said said[MOST_SPEAKING] = {
		{ "relaxed-ordering", STATE_UNKNOWN }, { "max-read-request", STATE_UNKNOWN },
		{ "ats", STATE_UNKNOWN }, { "acs", STATE_UNKNOWN }, { "route", STATE_UNKNOWN },
		{ "max-payload", STATE_UNKNOWN },
	};
	struct host_tree tree = host_tree_good;

	tree.config_bytes = 64;
	expect_tree(state, &tree, said);
}

/* Configuration space as it reads in D3cold. */
static void asleep(void **state)
{
	struct config config = { .length = sizeof(config.bytes) };
	struct express express;
	struct acs acs;
	struct ats ats;

	(void)state;
	memset(config.bytes, 0xff, sizeof(config.bytes));
	config_express(&config, &express);
	config_acs(&config, &acs);
	config_ats(&config, &ats);
	assert_int_equal(express.presence, NOT_READ);
	assert_int_equal(acs.presence, NOT_READ);
	assert_int_equal(ats.presence, NOT_READ);
	assert_non_null(strstr(config_missing(&config), "D3cold"));
	memset(config.bytes, 0, sizeof(config.bytes));
	config_express(&config, &express);
	assert_int_equal(express.presence, ABSENT);
}

/* Capability lists that lead in a circle end. */
static void circular(void **state)
{
	struct config config = { .length = sizeof(config.bytes) };
	struct express express;
	struct acs acs;

	(void)state;
	config.bytes[PCI_STATUS] = PCI_STATUS_CAP_LIST;
	config.bytes[PCI_CAPABILITY_LIST] = 0x40;
	config.bytes[0x41] = 0x40;
	config_express(&config, &express);
	assert_int_equal(express.presence, ABSENT);
	config.bytes[0x40] = PCI_CAP_ID_EXP;
	config.bytes[0x100] = PCI_EXT_CAP_ID_ERR;
	config.bytes[0x103] = 0x10;
	config_acs(&config, &acs);
	assert_int_equal(acs.presence, ABSENT);
}

/* A newer iommufd maps BARs. */
static void new_iommufd(void **state)
{
	static const struct said nothing[MOST_SPEAKING];
	struct host_tree tree = host_tree_good;

	tree.type1 = false;
	tree.iommufd = true;
	tree.release = "6.19.0-rc1";
	expect_tree(state, &tree, nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(good_host), WITH_TREE(no_iommu), WITH_TREE(no_remapping),
		WITH_TREE(no_kvm), WITH_TREE(no_vfio), WITH_TREE(old_iommufd),
		WITH_TREE(new_iommufd), WITH_TREE(group_used), WITH_TREE(group_shared),
		WITH_TREE(no_redirect), WITH_TREE(no_source_validation),
		WITH_TREE(egress_control), WITH_TREE(no_direct_translated), WITH_TREE(ats_off),
		WITH_TREE(ats_absent), WITH_TREE(ats_forbidden), WITH_TREE(no_hugepages),
		WITH_TREE(no_node_pages), WITH_TREE(vf_unlisted), WITH_TREE(no_trust),
		WITH_TREE(limited_rate), WITH_TREE(link_down), WITH_TREE(no_settings),
		WITH_TREE(bar_too_high), WITH_TREE(bar_unassigned), WITH_TREE(narrow_iommu),
		WITH_TREE(narrow_link), WITH_TREE(host_driver), WITH_TREE(no_relaxed_ordering),
		WITH_TREE(small_reads), WITH_TREE(unlike_payload), WITH_TREE(across_sockets),
		WITH_TREE(no_node), WITH_TREE(not_root), cmocka_unit_test(asleep),
		cmocka_unit_test(circular), WITH_TREE(stub), WITH_TREE(cmdline_unread),
		WITH_TREE(other_words), WITH_TREE(odd_node), WITH_TREE(bar_beyond),
		WITH_TREE(translated_blocked), WITH_TREE(translated_blocked_without_ats),
		WITH_TREE(translated_blocked_of_gpu), WITH_TREE(no_spoof_check),
		WITH_TREE(acs_all_off), WITH_TREE(acs_offers_nothing), WITH_TREE(no_memory_bars),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL) != 0;
}
