// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Guests that "vpeer host" writes for no host, or not for this one. */
#include "host_seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &wish, -EBUSY, TREE_GPU, "bound to nvidia",
		       "driverctl set-override " TREE_GPU " vfio-pci");
	wish.managed = true;
	free(guest_emitted(&seen, &wish, guest_print_xml));
	seen_forget(&seen);
}

static void refused_group(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.shared = true;
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &plain_wish, -EBUSY, TREE_GPU, TREE_SOUND, "");
	assert_int_equal(host_add(&seen.host, TREE_SOUND), 0);
	free(guest_emitted(&seen, &plain_wish, guest_print_qemu));
	seen_forget(&seen);
}

static void given_nvswitch(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.shared = true;
	tree.sound_class = 0x068000;
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &plain_wish, -EBUSY, TREE_GPU, TREE_SOUND, "");
	assert_int_equal(host_add(&seen.host, TREE_SOUND), 0);
	free(guest_emitted(&seen, &plain_wish, guest_print_qemu));
	seen_forget(&seen);
}

static void refused_pf(void **state)
{
	struct guest_wish wish = plain_wish;
	struct seen seen;

	wish.managed = true;
	seen_choose(&seen, &host_tree_good, *state, TREE_PF, NULL);
	expect_refused(&seen, &wish, -EBUSY, TREE_PF, "PF that has VFs", "");
	seen_forget(&seen);
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
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &plain_wish, -EBUSY, TREE_GPU, "the bridge " TREE_SOUND,
		       "drivers/lpc_ich/unbind");
	seen_forget(&seen);
}

static void given_beside_free_bridge(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.shared = true;
	tree.sound_class = 0x060100;
	tree.sound_driver = NULL;
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	free(guest_emitted(&seen, &plain_wish, guest_print_qemu));
	seen_forget(&seen);
}

static void refused_bars(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.gpu_bar = 0;
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &plain_wish, -ENOSPC, TREE_GPU, "BAR 1 has no address", "");
	seen_forget(&seen);
}

static void refused_iommu(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.iommu = false;
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &plain_wish, -ENODEV, TREE_GPU, "no IOMMU group", "");
	seen_forget(&seen);
}

static void refused_iommufd(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;

	wish.iommufd = true;
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &wish, -ENODEV, "/dev/iommu", "not loaded", "modprobe iommufd");
	seen.host.vfio.iommufd_module = ANSWER_UNKNOWN;
	expect_refused(&seen, &wish, -ENODEV, "/dev/iommu", "not there", "if the kernel was");
	seen.host.vfio.iommufd = true;
	expect_refused(&seen, &wish, -EOPNOTSUPP, "/dev/iommu", "Linux 6.12.1 does not map BARs",
		       "type1");
	seen_forget(&seen);
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
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &wish, -ENODEV, "/dev/iommu", "6.12.1 was built without iommufd",
		       "leave --iommufd out");
	assert_int_not_equal(guest_may(&seen.host, &wish, &error), 0);
	assert_null(strstr(error.remedy, "modprobe"));
	seen_forget(&seen);
}

/* Memory that the host does not have is refused; on both nodes, each has its share. */
static void refused_memory(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;

	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	wish.memory = 33ULL << 30;
	expect_refused(&seen, &wish, -ENOMEM, "guest", "33 GiB of memory are wanted of node 0, "
		       "which has 32 GiB in all beside its huge pages, and 32 GiB in free huge "
		       "pages", "less --memory");
	wish.fragment = true;
	free(guest_emitted(&seen, &wish, guest_print_xml));
	wish.fragment = false;
	wish.memory = 32ULL << 30;
	free(guest_emitted(&seen, &wish, guest_print_qemu));
	seen_forget(&seen);
}

static void refused_memory_of_host(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;

	tree.free_pages = 0;
	tree.gpu_node = -1;
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	wish.memory = 129ULL << 30;
	expect_refused(&seen, &wish, -ENOMEM, "guest", "129 GiB of memory are wanted of the host, "
		       "which has 128 GiB", "less --memory");
	seen_forget(&seen);
}

static void refused_width(void **state)
{
	struct host_tree tree = host_tree_good;
	struct guest_wish wish = plain_wish;
	struct seen seen;

	tree.iommu_width = 36;
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	expect_refused(&seen, &wish, -ERANGE, "guest", "more than the 36 bits", "");
	wish.cpus = 0;
	expect_refused(&seen, &wish, -EINVAL, "guest", "too few", "");
	seen_forget(&seen);
}

/* Sizes that nothing can have end in a refusal. */
static void refused_sizes(void **state)
{
	struct guest_wish wish = plain_wish;
	struct seen seen;

	seen_choose(&seen, &host_tree_good, *state, TREE_GPU, NULL);
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
	seen_forget(&seen);
}

static void modules_unread(void **state)
{
	struct host_tree tree = host_tree_good;
	struct seen seen;

	tree.modules = NULL;
	seen_choose(&seen, &tree, *state, TREE_GPU, NULL);
	assert_int_equal(seen.host.vfio.iommufd_module, ANSWER_UNKNOWN);
	seen_forget(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TREE(refused_driver), WITH_TREE(refused_group), WITH_TREE(refused_pf),
		WITH_TREE(refused_bridge), WITH_TREE(refused_bars), WITH_TREE(refused_iommu),
		WITH_TREE(refused_iommufd), WITH_TREE(refused_width), WITH_TREE(given_nvswitch),
		WITH_TREE(refused_sizes), WITH_TREE(refused_bridge_of_group),
		WITH_TREE(given_beside_free_bridge), WITH_TREE(refused_iommufd_not_built),
		WITH_TREE(modules_unread), WITH_TREE(refused_memory),
		WITH_TREE(refused_memory_of_host),
	};

	return cmocka_run_group_tests_name("host_refused", tests, NULL, NULL) != 0;
}
