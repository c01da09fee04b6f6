// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The guests that "vpeer host" writes for QEMU and libvirt. */
#include "host_seen.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

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
	seen_choose(&seen, &host_tree_good, *state, TREE_GPU, TREE_VF);
	text = guest_emitted(&seen, &wish, guest_print_qemu);
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
	seen_forget(&seen);
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
	seen_choose(&seen, &tree, *state, TREE_GPU, TREE_VF);
	text = guest_emitted(&seen, &wish, guest_print_qemu);
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
	seen_forget(&seen);
}

static void xml_domain(void **state)
{
	struct guest_wish wish = plain_wish;
	struct seen seen;
	char *text;

	wish.kernel = "/boot/a&b<c";
	wish.guest_iommu = true;
	seen_choose(&seen, &host_tree_good, *state, TREE_GPU, TREE_VF);
	text = guest_emitted(&seen, &wish, guest_print_xml);
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
	text = guest_emitted(&seen, &wish, guest_print_xml);
	assert_null(strstr(text, "<domain"));
	expect_text(text, "managed='yes'");
	free(text);
	seen_forget(&seen);
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

	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
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
	seen_forget(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(qemu_line), WITH_TREE(qemu_nodes), WITH_TREE(xml_domain),
		WITH_TREE(warned_of),
	};

	return cmocka_run_group_tests_name("host_guest", tests, NULL, NULL) != 0;
}
