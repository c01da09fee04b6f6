// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* "vpeer host" on hosts that are made up: well ones and broken ones. */
#include "fixture.h"

#include <errno.h>
#include <json-c/json.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/check.h"
#include "host/guest.h"
#include "host_tree.h"
#include "util.h"

#define MOST_SPEAKING 8

struct said {
	const char *name;
	enum state state;
};

struct seen {
	struct host_place place;
	struct host host;
	struct path *paths;
	size_t path_count;
	struct findings all;
};

static void look(struct seen *seen, const struct host_tree *tree, const char *root)
{
	*seen = (struct seen){ 0 };
	host_tree_make(tree, root, &seen->place);
	host_read(&seen->host, &seen->place);
	host_add_default(&seen->host);
	seen->path_count = host_paths(&seen->host, &seen->paths);
	check_all(&seen->all, &seen->host, seen->paths, seen->path_count);
}

static void forget(struct seen *seen)
{
	findings_free(&seen->all);
	free(seen->paths);
	host_free(&seen->host);
}

static size_t count_named(const struct findings *all, const char *name, enum state state)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		count += !strcmp(all->items[i].name, name) && all->items[i].state == state;
	return count;
}

/* Those named speak, and no other does. */
static void expect(const struct findings *all, const struct said *said)
{
	size_t wanted = 0;

	for (; wanted < MOST_SPEAKING && said[wanted].name; wanted++)
		if (!count_named(all, said[wanted].name, said[wanted].state))
			fail_msg("%s is not %s", said[wanted].name, state_name(said[wanted].state));
	for (size_t i = 0; i < all->count; i++) {
		const struct finding *finding = &all->items[i];
		bool meant = finding->state == STATE_OK;

		for (size_t j = 0; j < wanted; j++)
			meant |= !strcmp(said[j].name, finding->name) &&
				 said[j].state == finding->state;
		if (!meant)
			fail_msg("%s %s is %s: %s", finding->object, finding->name,
				 state_name(finding->state), finding->meaning);
		if (finding->state == STATE_FAIL && (!finding->remedy[0] || !finding->job[0]))
			fail_msg("%s names no remedy", finding->name);
		if (!finding->count || !finding->meaning[0])
			fail_msg("%s shows nothing", finding->name);
	}
}

static void expect_tree(void **state, const struct host_tree *tree, const struct said *said)
{
	struct seen seen;

	look(&seen, tree, *state);
	expect(&seen.all, said);
	forget(&seen);
}

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

	look(&seen, &host_tree_good, *state);
	assert_int_equal(seen.host.function_count, 2);
	assert_string_equal(seen.host.functions[0].pci, TREE_GPU);
	assert_string_equal(seen.host.functions[1].pci, TREE_VF);
	assert_int_equal(seen.path_count, 1);
	assert_int_equal(seen.paths[0].route, ROUTE_DIRECT);
	assert_string_equal(seen.paths[0].common, "0000:01:00.0");
	assert_int_equal(seen.paths[0].bridge_count, 2);
	expect(&seen.all, nothing);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!count_named(&seen.all, names[i], STATE_OK))
			fail_msg("no check %s", names[i]);
	forget(&seen);
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

static const struct finding *find(const struct findings *all, const char *name, const char *object)
{
	for (size_t i = 0; i < all->count; i++)
		if (!strcmp(all->items[i].name, name) && !strcmp(all->items[i].object, object))
			return &all->items[i];
	fail_msg("no check %s of %s", name, object);
	return NULL;
}

static void expect_text(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("no '%s' in: %s", wanted, text);
}

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

/* A bridge keeps its group only where a driver has it that does not let go. */
static void bridges_of_a_group(void **state)
{
	struct host_tree tree = host_tree_good;
	const struct finding *finding;
	struct seen seen;

	tree.shared = true;
	tree.sound_class = 0x060100;
	tree.sound_driver = "lpc_ich";
	look(&seen, &tree, *state);
	finding = find(&seen.all, "iommu-group", TREE_GPU);
	assert_int_equal(finding->state, STATE_FAIL);
	expect_text(finding->meaning, TREE_SOUND " (lpc_ich)");
	expect_text(finding->remedy, "echo " TREE_SOUND " > /sys/bus/pci/drivers/lpc_ich/unbind");
	forget(&seen);
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

/* Registers that were read are shown, also when all of their bits are off. */
static void acs_all_off(void **state)
{
	struct host_tree tree = host_tree_good;
	const struct finding *finding;
	struct seen seen;

	tree.nic_acs = 0;
	look(&seen, &tree, *state);
	finding = find(&seen.all, "acs", TREE_NIC_PORT);
	assert_int_equal(finding->state, STATE_FAIL);
	assert_string_equal(finding->evidence[0].value, "ACSCtl SrcValid- TransBlk- ReqRedir- "
			    "CmpltRedir- UpstreamFwd- DirectTrans-");
	forget(&seen);
}

static void acs_offers_nothing(void **state)
{
	struct host_tree tree = host_tree_good;
	const struct finding *finding;
	struct seen seen;

	tree.nic_acs = 0;
	tree.nic_acs_cap = 0;
	look(&seen, &tree, *state);
	finding = find(&seen.all, "acs", TREE_NIC_PORT);
	assert_int_equal(finding->state, STATE_OK);
	expect_text(finding->meaning, "offers none");
	expect_text(finding->evidence[0].value, "ACSCap without any bit");
	forget(&seen);
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
	expect_text(find(&all, "iommu-group", TREE_GPU)->remedy, "no port is above");
	findings_free(&all);
	host_free(&host);
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
	assert_string_equal(find(&all, "bars", TREE_PF)->meaning, "it has no memory BAR");
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

static struct json_object *member(struct json_object *object, const char *path)
{
	struct json_object *found = NULL;

	if (json_pointer_get(object, path, &found))
		fail_msg("the document has no %s", path);
	return found;
}

static const char *text_of(struct json_object *object, const char *path)
{
	return json_object_get_string(member(object, path));
}

static void document(void **state)
{
	struct json_object *object;
	struct seen seen;

	look(&seen, &host_tree_good, *state);
	object = host_document(&seen.host, seen.paths, seen.path_count, &seen.all);
	assert_int_equal(json_object_get_int(member(object, "/schema_version")), 1);
	assert_string_equal(text_of(object, "/host/iommu/driver"), "intel-iommu");
	assert_string_equal(text_of(object, "/host/iommu/address_width"), "48");
	assert_string_equal(text_of(object, "/host/cpu/physical_bits"), "46");
	assert_string_equal(text_of(object, "/host/hugepages/0/size"), "1073741824");
	assert_null(member(object, "/host/hugepages/0/node"));
	assert_string_equal(text_of(object, "/host/hugepages/2/node"), "1");
	assert_string_equal(text_of(object, "/devices/0/pci"), TREE_GPU);
	assert_string_equal(text_of(object, "/devices/0/role"), "memory");
	assert_string_equal(text_of(object, "/devices/0/class"), "0x030200");
	assert_string_equal(text_of(object, "/devices/0/resource/1/size"), "68719476736");
	assert_string_equal(text_of(object, "/devices/0/resource/1/64-bit"), "true");
	assert_string_equal(text_of(object, "/devices/0/iommu_group/devices/0"), TREE_GPU);
	assert_string_equal(text_of(object, "/devices/0/DevCtl/MaxReadReq"), "4096");
	assert_null(member(object, "/devices/0/ATSCtl"));
	assert_string_equal(text_of(object, "/devices/1/ATSCtl/Enable"), "true");
	assert_string_equal(text_of(object, "/devices/1/sriov/physfn"), TREE_PF);
	assert_string_equal(text_of(object, "/devices/1/sriov/settings/trust"), "true");
	assert_string_equal(text_of(object, "/bridges/2/pci"), TREE_GPU_PORT);
	assert_string_equal(text_of(object, "/bridges/2/ACSCtl/DirectTrans"), "true");
	assert_string_equal(text_of(object, "/bridges/2/ACSCtl/TransBlk"), "false");
	assert_string_equal(text_of(object, "/bridges/2/ACSCap/TransBlk"), "true");
	assert_string_equal(text_of(object, "/paths/0/route"), "direct");
	assert_string_equal(text_of(object, "/summary/fail"), "0");
	json_object_put(object);
	forget(&seen);
}

/* JSON is UTF-8, whatever bytes the kernel was booted with. */
static void document_of_bytes(void **state)
{
	struct host_tree tree = host_tree_good;
	struct json_object *object;
	struct seen seen;

	tree.cmdline = "a=\xc3\xa4 b=\xff\xfe c=\xc0\xaf d=\xed\xa0\x80";
	look(&seen, &tree, *state);
	object = host_document(&seen.host, seen.paths, seen.path_count, &seen.all);
	assert_string_equal(text_of(object, "/host/cmdline"), "a=\xc3\xa4 b=?? c=?? d=???");
	json_object_put(object);
	forget(&seen);
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
	look(&seen, &host_tree_good, *state);
	for (size_t i = 0; i < seen.all.count; i++)
		if (!strcmp(seen.all.items[i].name, "iommu-group") &&
		    !strcmp(seen.all.items[i].object, TREE_GPU))
			assert_non_null(strstr(seen.all.items[i].meaning, " more: only one"));
	assert_int_equal(count_named(&seen.all, "iommu-group", STATE_WARN), 1);
	forget(&seen);
}

/* A host that has the functions of @tree that are named. */
static void chosen(struct seen *seen, const struct host_tree *tree, const char *root,
		   const char *first, const char *second)
{
	*seen = (struct seen){ 0 };
	host_tree_make(tree, root, &seen->place);
	host_read(&seen->host, &seen->place);
	assert_int_equal(host_add(&seen->host, first), 0);
	if (second)
		assert_int_equal(host_add(&seen->host, second), 0);
}

static char *emitted(const struct seen *seen, const struct guest_wish *wish,
		     void (*print)(const struct guest *guest, FILE *file))
{
	struct vpeer_error error;
	struct guest guest;
	char *text = NULL;
	size_t size;
	FILE *file;

	if (guest_may(&seen->host, wish, &error) ||
	    guest_plan(&guest, &seen->host, wish, &error))
		fail_msg("%s: %s", error.who, error.message);
	file = open_memstream(&text, &size);
	assert_non_null(file);
	print(&guest, file);
	fclose(file);
	return text;
}

static const struct guest_wish plain_wish = {
	.name = "vpeer",
	.memory = 8ULL << 30,
	.cpus = 4,
};

static void qemu_line(void **state)
{
	struct guest_wish wish = plain_wish;
	char *extra[2];
	struct seen seen;
	char *text;

	extra[0] = xstrdup("-serial");
	extra[1] = xstrdup("it's");
	wish.extra = extra;
	wish.extra_count = ARRAY_SIZE(extra);
	chosen(&seen, &host_tree_good, *state, TREE_GPU, TREE_VF);
	text = emitted(&seen, &wish, guest_print_qemu);
	expect_text(text, "-machine q35,accel=kvm,memory-backend=ram0 ");
	expect_text(text, "-cpu host,host-phys-bits=on ");
	expect_text(text, "size=8192M,share=on,prealloc=on,hugetlb=on,hugetlbsize=1048576K,"
		    "host-nodes=0,policy=bind ");
	expect_text(text, "-fw_cfg name=opt/ovmf/X-PciMmio64Mb,string=262144 ");
	expect_text(text, "-device pcie-root-port,id=rp0,bus=pcie.0,chassis=1,slot=1 "
		    "-device vfio-pci,id=dev0,host=0000:03:00.0,bus=rp0 "
		    "-device pcie-root-port,id=rp1,bus=pcie.0,chassis=2,slot=2 "
		    "-device vfio-pci,id=dev1,host=0000:04:00.1,bus=rp1 ");
	expect_text(text, " -serial 'it'\\''s'\n");
	assert_null(strstr(text, "-numa"));
	assert_null(strstr(text, "intel-iommu"));
	assert_int_equal(strchr(text, '\n')[1], '\0');
	free(text);
	free(extra[0]);
	free(extra[1]);
	forget(&seen);
}

static void qemu_nodes(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;
	char *text;

	tree.vf_node = 1;
	tree.iommu_width = 39;
	tree.iommufd = true;
	tree.release = "7.0.0";
	wish.switches = true;
	wish.guest_iommu = true;
	wish.iommufd = true;
	wish.lines = true;
	wish.seabios = true;
	wish.kernel = "/boot/my kernel";
	chosen(&seen, &tree, *state, TREE_GPU, TREE_VF);
	text = emitted(&seen, &wish, guest_print_qemu);
	expect_text(text, "\nq35,accel=kvm,kernel-irqchip=split\n");
	expect_text(text, "\nhost,host-phys-bits=on,host-phys-bits-limit=39\n");
	expect_text(text, "\nnode,nodeid=1,cpus=2-3,memdev=ram1\n");
	expect_text(text, "host-nodes=1,policy=bind\n");
	expect_text(text, "\nq35-pcihost.pci-hole64-size=256G\n");
	expect_text(text, "\n/boot/my kernel\n");
	expect_text(text, "\nintel-iommu,intremap=on,caching-mode=on,device-iotlb=on,aw-bits=39\n");
	expect_text(text, "\npxb-pcie,id=pxb1,bus=pcie.0,bus_nr=56,numa_node=1\n");
	expect_text(text, "\nx3130-upstream,id=sw1,bus=up1\n");
	expect_text(text, "\nxio3130-downstream,id=rp1,bus=sw1,chassis=4,slot=4\n");
	expect_text(text, "\nvfio-pci,id=dev1,host=0000:04:00.1,bus=rp1,iommufd=iommufd0\n");
	assert_null(strstr(text, "pflash"));
	free(text);
	forget(&seen);
}

static void xml_domain(void **state)
{
	struct guest_wish wish = plain_wish;
	struct seen seen;
	char *text;

	wish.kernel = "/boot/a&b<c";
	wish.guest_iommu = true;
	chosen(&seen, &host_tree_good, *state, TREE_GPU, TREE_VF);
	text = emitted(&seen, &wish, guest_print_xml);
	expect_text(text, "<kernel>/boot/a&amp;b&lt;c</kernel>");
	expect_text(text, "<page size='1048576' unit='KiB'/>");
	expect_text(text, "<vcpupin vcpu='3' cpuset='0-15'/>");
	expect_text(text, "<memory mode='strict' nodeset='0'/>");
	expect_text(text, "<ioapic driver='qemu'/>");
	expect_text(text, "<address domain='0x0000' bus='0x04' slot='0x00' function='0x1'/>");
	expect_text(text, "aw_bits='48'");
	expect_text(text, "X-PciMmio64Mb,string=262144'/>");
	free(text);
	wish.fragment = true;
	wish.managed = true;
	text = emitted(&seen, &wish, guest_print_xml);
	assert_null(strstr(text, "<domain"));
	expect_text(text, "managed='yes'");
	free(text);
	forget(&seen);
}

static void expect_error(const struct vpeer_error *error, const char *who, const char *message,
			 const char *remedy)
{
	assert_string_equal(error->who, who);
	expect_text(error->message, message);
	expect_text(error->remedy, remedy);
}

static void expect_refused(const struct seen *seen, const struct guest_wish *wish, int err,
			   const char *who, const char *message, const char *remedy)
{
	struct vpeer_error error;
	struct guest guest;
	int got = guest_may(&seen->host, wish, &error);

	if (!got)
		got = guest_plan(&guest, &seen->host, wish, &error);
	assert_int_equal(got, err);
	expect_error(&error, who, message, remedy);
}

static void refused_driver(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;

	tree.gpu_driver = "nvidia";
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &wish, -EBUSY, TREE_GPU, "bound to nvidia",
		       "driverctl set-override " TREE_GPU " vfio-pci");
	wish.managed = true;
	free(emitted(&seen, &wish, guest_print_xml));
	forget(&seen);
}

static void refused_group(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.shared = true;
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &plain_wish, -EBUSY, TREE_GPU, TREE_SOUND, "");
	assert_int_equal(host_add(&seen.host, TREE_SOUND), 0);
	free(emitted(&seen, &plain_wish, guest_print_qemu));
	forget(&seen);
}

static void given_nvswitch(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.shared = true;
	tree.sound_class = 0x068000;
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &plain_wish, -EBUSY, TREE_GPU, TREE_SOUND, "");
	assert_int_equal(host_add(&seen.host, TREE_SOUND), 0);
	free(emitted(&seen, &plain_wish, guest_print_qemu));
	forget(&seen);
}

static void refused_pf(void **state)
{
	struct guest_wish wish = plain_wish;
	struct seen seen;

	wish.managed = true;
	chosen(&seen, &host_tree_good, *state, TREE_PF, NULL);
	expect_refused(&seen, &wish, -EBUSY, TREE_PF, "PF that has VFs", "");
	forget(&seen);
}

static void refused_bridge(void **state)
{
	struct vpeer_error error;
	struct host_place place;
	struct host host;

	host_tree_make(&host_tree_good, *state, &place);
	host_read(&host, &place);
	assert_int_equal(host_add_named(&host, TREE_GPU, &error), 0);
	assert_int_equal(host_add_named(&host, TREE_GPU_PORT, &error), -EINVAL);
	expect_error(&error, TREE_GPU_PORT, "bridge", "endpoints");
	assert_int_equal(host_add_named(&host, "0000:0f:00.0", &error), -ENOENT);
	expect_error(&error, "0000:0f:00.0", "no such PCI function", "lspci");
	host_free(&host);
}

static void refused_bridge_of_group(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.shared = true;
	tree.sound_class = 0x060100;
	tree.sound_driver = "lpc_ich";
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &plain_wish, -EBUSY, TREE_GPU, "the bridge " TREE_SOUND,
		       "drivers/lpc_ich/unbind");
	forget(&seen);
}

static void given_beside_free_bridge(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.shared = true;
	tree.sound_class = 0x060100;
	tree.sound_driver = NULL;
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	free(emitted(&seen, &plain_wish, guest_print_qemu));
	forget(&seen);
}

static void refused_bars(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.gpu_bar = 0;
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &plain_wish, -ENOSPC, TREE_GPU, "BAR 1 has no address", "");
	forget(&seen);
}

static void refused_iommu(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.iommu = false;
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &plain_wish, -ENODEV, TREE_GPU, "no IOMMU group", "");
	forget(&seen);
}

static void refused_iommufd(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;

	wish.iommufd = true;
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &wish, -ENODEV, "/dev/iommu", "not loaded", "modprobe iommufd");
	seen.host.vfio.iommufd_module = ANSWER_UNKNOWN;
	expect_refused(&seen, &wish, -ENODEV, "/dev/iommu", "not there", "if the kernel was");
	seen.host.vfio.iommufd = true;
	expect_refused(&seen, &wish, -EOPNOTSUPP, "/dev/iommu", "Linux 6.12.1 does not map BARs",
		       "type1");
	forget(&seen);
}

/* Debian's kernels are built without: nothing to load. */
static void refused_iommufd_not_built(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct vpeer_error error;
	struct seen seen;

	wish.iommufd = true;
	tree.modules = "kernel/drivers/vfio/vfio.ko.xz: kernel/virt/lib/irqbypass.ko.xz\n";
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &wish, -ENODEV, "/dev/iommu", "6.12.1 was built without iommufd",
		       "leave --iommufd out");
	assert_int_not_equal(guest_may(&seen.host, &wish, &error), 0);
	assert_null(strstr(error.remedy, "modprobe"));
	forget(&seen);
}

static void modules_unread(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.modules = NULL;
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	assert_int_equal(seen.host.vfio.iommufd_module, ANSWER_UNKNOWN);
	forget(&seen);
}

/* Memory that the host does not have is refused; on both nodes, each has its share. */
static void refused_memory(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;

	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	wish.memory = 33ULL << 30;
	expect_refused(&seen, &wish, -ENOMEM, "guest", "33 GiB of memory are wanted of node 0, "
		       "which has 32 GiB in all beside its huge pages, and 32 GiB in free huge "
		       "pages", "less --memory");
	wish.fragment = true;
	free(emitted(&seen, &wish, guest_print_xml));
	wish.fragment = false;
	wish.memory = 32ULL << 30;
	free(emitted(&seen, &wish, guest_print_qemu));
	forget(&seen);
}

static void refused_memory_of_host(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;

	tree.free_pages = 0;
	tree.gpu_node = -1;
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	wish.memory = 129ULL << 30;
	expect_refused(&seen, &wish, -ENOMEM, "guest", "129 GiB of memory are wanted of the host, "
		       "which has 128 GiB", "less --memory");
	forget(&seen);
}

static char *warned(const struct seen *seen, const struct guest_wish *wish)
{
	struct vpeer_error error;
	struct guest guest;
	char *text = NULL;
	size_t size;
	FILE *file;

	assert_int_equal(guest_plan(&guest, &seen->host, wish, &error), 0);
	file = open_memstream(&text, &size);
	assert_non_null(file);
	guest_warn(&guest, file);
	fclose(file);
	return text;
}

static void warned_of(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;
	char *text;

	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	assert_int_equal(seen.host.cpus, 32);
	wish.cpus = 32;
	text = warned(&seen, &wish);
	assert_string_equal(text, "");
	free(text);
	wish.cpus = 33;
	text = warned(&seen, &wish);
	expect_text(text, "33 CPUs are wanted, and the host has 32");
	expect_text(text, "remedy: ");
	free(text);
	wish.cpus = 4;
	seen.host.pool_count = 0;
	text = warned(&seen, &wish);
	expect_text(text, "node 0 has no 8 GiB in free huge pages");
	free(text);
	wish.fragment = true;
	text = warned(&seen, &wish);
	assert_string_equal(text, "");
	free(text);
	forget(&seen);
}

static void refused_width(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;

	tree.iommu_width = 36;
	chosen(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &wish, -ERANGE, "guest", "more than the 36 bits", "");
	wish.cpus = 0;
	expect_refused(&seen, &wish, -EINVAL, "guest", "too few", "");
	forget(&seen);
}

/* Sizes that nothing can have end in a refusal. */
static void refused_sizes(void **state)
{
	struct guest_wish wish = plain_wish;
	struct seen seen;

	chosen(&seen, &host_tree_good, *state, TREE_GPU, NULL);
	wish.memory = 1ULL << 63;
	expect_refused(&seen, &wish, -ERANGE, "guest", "more than the 46 bits", "");
	seen.host.cpu.physical = 0;
	seen.host.iommu.width = 0;
	expect_refused(&seen, &wish, -ERANGE, "guest", "more than the 52 bits", "");
	wish.memory = plain_wish.memory;
	seen.host.functions[0].bars[1].size = 1ULL << 63;
	expect_refused(&seen, &wish, -ERANGE, "guest", "more than the 52 bits", "");
	seen.host.functions[0].bars[1].size = UINT64_MAX;
	expect_refused(&seen, &wish, -ERANGE, "guest", "more than the 52 bits", "");
	forget(&seen);
}

#define WITH_TREE(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(good_host), WITH_TREE(no_iommu), WITH_TREE(no_remapping),
		WITH_TREE(no_kvm), WITH_TREE(no_vfio), WITH_TREE(old_iommufd),
		WITH_TREE(new_iommufd), WITH_TREE(group_used), WITH_TREE(group_shared),
		WITH_TREE(no_redirect), WITH_TREE(no_source_validation),
		WITH_TREE(egress_control), WITH_TREE(no_direct_translated), WITH_TREE(ats_off),
		WITH_TREE(ats_absent), WITH_TREE(ats_forbidden), WITH_TREE(no_hugepages),
		WITH_TREE(no_node_pages), WITH_TREE(vf_unlisted),
		WITH_TREE(no_trust), WITH_TREE(limited_rate), WITH_TREE(link_down),
		WITH_TREE(no_settings), WITH_TREE(bar_too_high), WITH_TREE(bar_unassigned),
		WITH_TREE(narrow_iommu), WITH_TREE(narrow_link), WITH_TREE(host_driver),
		WITH_TREE(no_relaxed_ordering), WITH_TREE(small_reads),
		WITH_TREE(unlike_payload), WITH_TREE(across_sockets), WITH_TREE(no_node),
		WITH_TREE(not_root), cmocka_unit_test(asleep),
		cmocka_unit_test(circular), WITH_TREE(document), WITH_TREE(qemu_line),
		WITH_TREE(qemu_nodes), WITH_TREE(xml_domain), WITH_TREE(refused_driver),
		WITH_TREE(refused_group), WITH_TREE(refused_pf), WITH_TREE(refused_bridge),
		WITH_TREE(refused_bars), WITH_TREE(refused_iommu),
		WITH_TREE(refused_iommufd), WITH_TREE(refused_width),
		WITH_TREE(stub), WITH_TREE(group_nvswitch), WITH_TREE(cmdline_unread),
		WITH_TREE(other_words), WITH_TREE(document_of_bytes), WITH_TREE(large_group),
		WITH_TREE(given_nvswitch), WITH_TREE(refused_sizes), WITH_TREE(odd_node),
		WITH_TREE(bar_beyond),
		WITH_TREE(translated_blocked), WITH_TREE(translated_blocked_without_ats),
		WITH_TREE(translated_blocked_of_gpu), WITH_TREE(no_spoof_check),
		WITH_TREE(bridges_of_a_group), WITH_TREE(free_bridges_of_a_group),
		WITH_TREE(driverless_bridge_of_a_group), WITH_TREE(acs_all_off),
		WITH_TREE(acs_offers_nothing), WITH_TREE(group_without_ports),
		WITH_TREE(no_memory_bars), WITH_TREE(refused_bridge_of_group),
		WITH_TREE(given_beside_free_bridge), WITH_TREE(refused_iommufd_not_built),
		WITH_TREE(modules_unread), WITH_TREE(refused_memory),
		WITH_TREE(refused_memory_of_host), WITH_TREE(warned_of),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL) != 0;
}
