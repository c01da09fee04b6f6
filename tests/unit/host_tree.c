// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host_tree.h"

#include <linux/pci_regs.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "util.h"

#define ROOT_PORT	"devices/pci0000:00/0000:00:01.0"
#define UPSTREAM	ROOT_PORT "/0000:01:00.0"
#define GPU_PORT	UPSTREAM "/" TREE_GPU_PORT
#define NIC_PORT	UPSTREAM "/" TREE_NIC_PORT

#define ACS_GOOD	0x5d

const struct host_tree host_tree_good = {
	.iommu = true,
	.remapping = true,
	.kvm = true,
	.type1 = true,
	.sound_driver = "vfio-pci",
	.sound_class = 0x040300,
	.gpu_driver = "vfio-pci",
	.cmdline = "root=/dev/sda1 intel_iommu=on",
	.release = "6.12.1",
	.modules = "kernel/drivers/vfio/vfio.ko.xz: kernel/drivers/iommu/iommufd/iommufd.ko.xz\n"
		   "kernel/drivers/iommu/iommufd/iommufd.ko.xz:\n",
	.node_memory = 64,
	.cpus = "0-15,16,17-31\n",
	.iommu_width = 48,
	.free_pages = 64,
	.node_pages = 32,
	.gpu_bar = 0x380000000000,
	.gpu_width = "16",
	.gpu_acs = ACS_GOOD,
	.nic_acs = ACS_GOOD,
	.nic_acs_cap = 0x5f,
	.ats = ON,
	.relaxed = true,
	.read_request = 4096,
	.nic_payload = 256,
	.config_bytes = 4096,
	.settings = {
		.trust_known = true,
		.trust = true,
		.spoof_check_known = true,
		.spoof_check = true,
		.link_state_known = true,
		.link_state = "auto",
	},
};

struct part {
	const struct host_tree *tree;
	const char *root;
	const char *path;	/* below sys */
	const char *pci;
};

static const struct host_tree *current;

static int read_settings(const char *netdev, unsigned int vf, struct vf_settings *settings)
{
	assert_string_equal(netdev, "ens1");
	assert_int_equal(vf, 0);
	*settings = current->settings;
	return current->settings_err;
}

static void put(const struct part *part, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put(const struct part *part, const char *name, const char *format, ...)
{
	char path[512], text[1024];
	va_list args;

	text_format(path, sizeof(path), "sys/%s/%s", part->path, name);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fixture_file(part->root, path, text);
}

static void put_link(const struct part *part, const char *name, const char *target)
{
	char path[512];

	text_format(path, sizeof(path), "sys/%s/%s", part->path, name);
	fixture_link(part->root, path, target);
}

/* Configuration space with PCI Express, and ACS and ATS where asked for. */
static void put_config(const struct part *part, unsigned int type, unsigned int payload,
		       uint32_t acs, enum capability ats)
{
	const struct config_space space = {
		.type = type,
		.payload_cap = 512,
		.payload = payload,
		.read_request = part->tree->read_request,
		.relaxed = part->tree->relaxed,
		.acs_cap = strcmp(part->pci, TREE_NIC_PORT) ? 0x5f : part->tree->nic_acs_cap,
		.acs = acs,
		.ats = ats,
		.clique = NO_CLIQUE,
		.command = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER,
	};
	uint8_t bytes[CONFIG_BYTES];
	char path[512];

	config_space_make(&space, bytes);
	text_format(path, sizeof(path), "sys/%s/config", part->path);
	fixture_bytes(part->root, path, bytes, part->tree->config_bytes);
}

static struct part begin(const struct host_tree *tree, const char *root, const char *path,
			 unsigned int class)
{
	struct part part = { .tree = tree, .root = root, .path = path };
	char from[512], to[512];

	part.pci = strrchr(path, '/') + 1;
	put(&part, "class", "0x%06x\n", class);
	put(&part, "vendor", "0x1234\n");
	put(&part, "device", "0x5678\n");
	put(&part, "numa_node", "0\n");
	put(&part, "resource", "0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n"
	    "0x0 0x0 0x0\n");
	text_format(from, sizeof(from), "sys/bus/pci/devices/%s", part.pci);
	text_format(to, sizeof(to), "../../../%s", path);
	fixture_link(root, from, to);
	return part;
}

static void group(const struct part *part, unsigned int number)
{
	char path[256], target[256];

	if (!part->tree->iommu)
		return;
	text_format(target, sizeof(target), "../../../kernel/iommu_groups/%u", number);
	put_link(part, "iommu_group", target);
	text_format(path, sizeof(path), "sys/kernel/iommu_groups/%u/devices/%s", number, part->pci);
	fixture_link(part->root, path, "../../../../bus/pci/devices");
	text_format(path, sizeof(path), "sys/kernel/iommu_groups/%u/type", number);
	fixture_file(part->root, path, "DMA-FQ\n");
}

static void driver(const struct part *part, const char *name)
{
	char target[256];

	if (!name)
		return;
	text_format(target, sizeof(target), "../../../bus/pci/drivers/%s", name);
	put_link(part, "driver", target);
}

static void link_of(const struct part *part, const char *width)
{
	put(part, "current_link_speed", "32.0 GT/s PCIe\n");
	put(part, "max_link_speed", "32.0 GT/s PCIe\n");
	put(part, "current_link_width", "%s\n", width);
	put(part, "max_link_width", "16\n");
}

static void make_bridges(const struct host_tree *tree, const char *root)
{
	struct part part = begin(tree, root, ROOT_PORT, 0x060400);

	put_config(&part, EXPRESS_ROOT_PORT, 256, 0x1d, WITHOUT);
	group(&part, 1);
	part = begin(tree, root, UPSTREAM, 0x060400);
	put_config(&part, EXPRESS_UPSTREAM, 256, NO_ACS, WITHOUT);
	group(&part, 2);
	part = begin(tree, root, GPU_PORT, 0x060400);
	put_config(&part, EXPRESS_DOWNSTREAM, 256, tree->gpu_acs, WITHOUT);
	group(&part, 3);
	part = begin(tree, root, NIC_PORT, 0x060400);
	put_config(&part, EXPRESS_DOWNSTREAM, 256, tree->nic_acs, WITHOUT);
	group(&part, 4);
}

static void make_gpu(const struct host_tree *tree, const char *root)
{
	struct part part = begin(tree, root, GPU_PORT "/" TREE_GPU, 0x030200);
	unsigned long long start = tree->gpu_bar;

	put_config(&part, 0, 256, NO_ACS, WITHOUT);
	put(&part, "numa_node", "%d\n", tree->gpu_node);
	put(&part, "resource", "0xfe000000 0xfe0fffff 0x40200\n0x%llx 0x%llx 0x14220c\n0x0 0x0 "
	    "0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n", start, start + (64ULL << 30) - 1);
	link_of(&part, tree->gpu_width);
	driver(&part, tree->gpu_driver);
	group(&part, 5);
	if (!tree->shared)
		return;
	part = begin(tree, root, GPU_PORT "/" TREE_SOUND, tree->sound_class);
	put_config(&part, 0, 256, NO_ACS, WITHOUT);
	driver(&part, tree->sound_driver);
	group(&part, 5);
}

static void make_nic(const struct host_tree *tree, const char *root)
{
	struct part part = begin(tree, root, NIC_PORT "/" TREE_PF, 0x020000);

	put_config(&part, 0, tree->nic_payload, NO_ACS, OFF);
	put(&part, "sriov_totalvfs", "8\n");
	put(&part, "sriov_numvfs", "1\n");
	put(&part, "net/ens1/ifindex", "3\n");
	put_link(&part, "virtfn0", tree->unlisted ? "../0000:04:00.7" : "../" TREE_VF);
	link_of(&part, "16");
	driver(&part, "mlx5_core");
	group(&part, 6);
	part = begin(tree, root, NIC_PORT "/" TREE_VF, 0x020000);
	put_config(&part, 0, 128, NO_ACS, tree->ats);
	put(&part, "numa_node", "%d\n", tree->vf_node);
	put(&part, "resource", "0x381000000000 0x3810000fffff 0x14220c\n0x0 0x0 0x0\n0x0 0x0 "
	    "0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n");
	put_link(&part, "physfn", "../" TREE_PF);
	driver(&part, "vfio-pci");
	group(&part, 7);
}

static void make_pool(const char *root, const char *place, unsigned int pages)
{
	char path[256], text[32];

	text_format(text, sizeof(text), "%u\n", pages);
	text_format(path, sizeof(path), "%s/hugepages-1048576kB/nr_hugepages", place);
	fixture_file(root, path, text);
	text_format(path, sizeof(path), "%s/hugepages-1048576kB/free_hugepages", place);
	fixture_file(root, path, text);
}

static void make_memory(const struct host_tree *tree, const char *root)
{
	unsigned long long kilobytes = (unsigned long long)tree->node_memory << 20;
	char path[64], text[128];

	text_format(text, sizeof(text), "MemTotal:       %llu kB\nMemFree: 1 kB\n", 2 * kilobytes);
	fixture_file(root, "proc/meminfo", text);
	for (unsigned int node = 0; node < 2; node++) {
		text_format(path, sizeof(path), "sys/devices/system/node/node%u/meminfo", node);
		text_format(text, sizeof(text), "Node %u MemTotal:       %llu kB\n", node,
			    kilobytes);
		fixture_file(root, path, text);
	}
	fixture_file(root, "sys/devices/system/cpu/online", tree->cpus);
}

static void make_modules(const struct host_tree *tree, const char *root)
{
	char path[256];

	if (!tree->modules)
		return;
	text_format(path, sizeof(path), "modules/%s/modules.dep", tree->release);
	fixture_file(root, path, tree->modules);
	text_format(path, sizeof(path), "modules/%s/modules.builtin", tree->release);
	fixture_file(root, path, "kernel/fs/binfmt_script.ko\n");
}

static void make_pages(const struct host_tree *tree, const char *root)
{
	unsigned int here = tree->node_pages < tree->free_pages ? tree->node_pages :
								   tree->free_pages;

	make_pool(root, "sys/kernel/mm/hugepages", tree->free_pages);
	make_pool(root, "sys/devices/system/node/node0/hugepages", here);
	make_pool(root, "sys/devices/system/node/node1/hugepages", tree->free_pages - here);
	fixture_file(root, "sys/devices/system/node/node0/cpulist", "0-15\n");
	fixture_file(root, "sys/devices/system/node/node1/cpulist", "16-31\n");
	fixture_file(root, "sys/kernel/mm/transparent_hugepage/enabled",
		     "always [madvise] never\n");
}

static void make_machine(const struct host_tree *tree, const char *root)
{
	char text[64];

	if (tree->cmdline)
		fixture_file(root, "proc/cmdline", tree->cmdline);
	fixture_file(root, "proc/sys/kernel/osrelease", tree->release);
	fixture_file(root, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n"
		     "address sizes\t: 46 bits physical, 48 bits virtual\n");
	fixture_file(root, "proc/interrupts", tree->iommu && tree->remapping ?
		     "  1:   0  IR-IO-APIC  1-edge\n" : "  1:   0  IO-APIC  1-edge\n");
	fixture_directory(root, "sys/bus/pci/drivers/vfio-pci");
	if (tree->iommu) {
		text_format(text, sizeof(text), "%x\n", (tree->iommu_width - 1) << 16);
		fixture_file(root, "sys/class/iommu/dmar0/intel-iommu/cap", text);
	}
	if (tree->kvm) {
		fixture_directory(root, "sys/class/misc/kvm");
		fixture_file(root, "sys/module/kvm_intel/parameters/nested", "Y\n");
	}
	if (tree->type1) {
		fixture_directory(root, "sys/class/misc/vfio");
		fixture_file(root,
			     "sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts",
			     "N\n");
	}
	if (tree->iommufd)
		fixture_directory(root, "sys/class/misc/iommu");
}

void host_tree_make(const struct host_tree *tree, const char *root, struct host_place *place)
{
	static char sysfs[256], procfs[256], modules[256];

	current = tree;
	text_format(sysfs, sizeof(sysfs), "%s/sys", root);
	text_format(procfs, sizeof(procfs), "%s/proc", root);
	text_format(modules, sizeof(modules), "%s/modules", root);
	*place = (struct host_place){
		.sysfs = sysfs,
		.procfs = procfs,
		.modules = modules,
		.read_vf = read_settings,
	};
	make_machine(tree, root);
	make_pages(tree, root);
	make_memory(tree, root);
	make_modules(tree, root);
	make_bridges(tree, root);
	make_gpu(tree, root);
	make_nic(tree, root);
}
