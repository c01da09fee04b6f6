// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is near a function: on a machine that is made up, with four host bridges on three nodes. */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "context.h"
#include "route.h"
#include "topology.h"

#define SWITCH		"devices/pci0000:00/0000:00:01.0/0000:01:00.0"
#define GPU		SWITCH "/0000:02:00.0/0000:03:00.0"
#define NIC		SWITCH "/0000:02:01.0/0000:04:00.0"
#define NIC_VF		SWITCH "/0000:02:01.0/0000:04:02.0"
#define GPU_AUDIO	SWITCH "/0000:02:00.0/0000:03:00.1"

#define BIG_BAR		"0x380000000000 0x3807ffffffff 0x000000000014220c\n"
#define SMALL_BAR	"0x380000000000 0x380000ffffff 0x000000000014220c\n"
#define NARROW_BAR	"0xc0000000 0xcfffffff 0x0000000000042208\n"
#define REGISTERS	"0xd0000000 0xdfffffff 0x0000000000140204\n"

struct path {
	char text[512];
};

static struct path joined(const char *first, const char *second, const char *third)
{
	struct path path;

	assert_true(snprintf(path.text, sizeof(path.text), "%s%s%s", first, second, third) <
		    (int)sizeof(path.text));
	return path;
}

static const char *name_of(const char *device)
{
	return strrchr(device, '/') + 1;
}

static void function(const char *root, const char *device, const char *node, const char *class,
		     const char *resource)
{
	fixture_file(root, joined(device, "/numa_node", "").text, node);
	fixture_file(root, joined(device, "/class", "").text, class);
	fixture_file(root, joined(device, "/resource", "").text, resource);
	fixture_link(root, joined("bus/pci/devices/", name_of(device), "").text,
		     joined("../../../", device, "").text);
}

static void nic(const char *root, const char *device, const char *node, const char *rdma)
{
	function(root, device, node, "0x020700\n", BIG_BAR);
	fixture_link(root, joined("class/infiniband/", rdma, "/device").text,
		     joined("../../../", device, "").text);
}

static void soft(const char *root, const char *name, const char *netdev)
{
	fixture_file(root, joined("class/infiniband/", name, "/parent").text, netdev);
}

static void make_nics(const char *root)
{
	nic(root, NIC, "0\n", "mlx5_9");
	nic(root, NIC_VF, "0\n", "mlx5_8");
	fixture_link(root, NIC_VF "/physfn", "../0000:04:00.0");
	nic(root, "devices/pci0000:00/0000:00:01.0/0000:01:05.0", "0\n", "mlx5_7");
	nic(root, "devices/pci0000:00/0000:00:02.0/0000:05:00.0", "0\n", "mlx5_6");
	nic(root, "devices/pci0000:00/0000:00:1f.0", "0\n", "irdma0");
	nic(root, "devices/pci0000:40/0000:40:01.0/0000:41:00.0", "0\n", "mlx5_5");
	nic(root, "devices/pci0000:80/0000:80:01.0/0000:81:00.0", "1\n", "mlx5_3");
	nic(root, "devices/pci0000:c0/0000:c0:01.0/0000:c1:00.0", "2\n", "mlx5_4");
	nic(root, "devices/pci0000:e0/0000:e0:01.0/0000:e1:00.0", "-1\n", "mlx5_2");
	soft(root, "rxe0", "eth0\n");
	soft(root, "rxe1", "lo\n");
	fixture_link(root, "class/net/eth0/device", "../../../" NIC);
	fixture_directory(root, "class/net/lo");
}

static void make_gpus(const char *root)
{
	function(root, GPU, "0\n", "0x030200\n", REGISTERS BIG_BAR);
	function(root, GPU_AUDIO, "0\n", "0x040300\n", BIG_BAR);
	function(root, "devices/pci0000:80/0000:80:03.0/0000:83:00.0", "1\n", "0x120000\n",
		 BIG_BAR);
	function(root, "devices/pci0000:00/0000:00:03.0", "0\n", "0x030000\n",
		 NARROW_BAR REGISTERS SMALL_BAR);
}

static void make(const char *root)
{
	make_nics(root);
	make_gpus(root);
	fixture_file(root, "devices/system/node/online", "0-2\n");
	fixture_file(root, "devices/system/node/node0/distance", "10 21 31\n");
	fixture_file(root, "devices/system/node/node1/distance", "21 10 21\n");
}

static struct vpeer_pci_address address(const char *text)
{
	struct vpeer_pci_address pci;

	assert_int_equal(vpeer_pci_parse(text, &pci), 0);
	return pci;
}

static void expect_pair(const char *root, const char *memory, const char *device,
			unsigned int distance, const char *common)
{
	struct vpeer_pci_address pci = address(memory);
	struct vpeer_pair_info info;
	char text[VPEER_PCI_LEN];

	assert_int_equal(vpeer_pair_read(root, &pci, device, &info, NULL), 0);
	if (info.distance != distance)
		fail_msg("%s and %s: %s", memory, device, vpeer_distance_name(info.distance));
	assert_string_equal(vpeer_pci_format(&info.common, text), common);
	assert_string_equal(vpeer_pci_format(&info.memory, text), memory);
	assert_string_equal(info.device_name, device);
	assert_int_equal(info.routes, 0);
}

static void distances(void **state)
{
	static const char gpu[] = "0000:03:00.0", none[] = "0000:00:00.0";
	const char *root = *state;

	make(root);
	expect_pair(root, gpu, "mlx5_9", VPEER_DISTANCE_SAME_SWITCH, "0000:01:00.0");
	expect_pair(root, gpu, "mlx5_7", VPEER_DISTANCE_SAME_ROOT_PORT, "0000:00:01.0");
	expect_pair(root, gpu, "mlx5_6", VPEER_DISTANCE_SAME_BRIDGE, none);
	expect_pair(root, gpu, "irdma0", VPEER_DISTANCE_SAME_BRIDGE, none);
	expect_pair(root, gpu, "mlx5_5", VPEER_DISTANCE_SAME_NODE, none);
	expect_pair(root, gpu, "mlx5_3", VPEER_DISTANCE_FAR, none);
	expect_pair(root, gpu, "mlx5_2", VPEER_DISTANCE_UNKNOWN, none);
	expect_pair(root, gpu, "rxe0", VPEER_DISTANCE_SAME_SWITCH, "0000:01:00.0");
	expect_pair(root, gpu, "rxe1", VPEER_DISTANCE_UNKNOWN, none);
	expect_pair(root, "0000:04:00.0", "mlx5_9", VPEER_DISTANCE_SAME_FUNCTION, none);
	expect_pair(root, "0000:04:00.0", "mlx5_8", VPEER_DISTANCE_SAME_DEVICE, none);
	expect_pair(root, "0000:04:02.0", "mlx5_9", VPEER_DISTANCE_SAME_DEVICE, none);
}

static void one_node(void **state)
{
	const char *root = *state;

	make_nics(root);
	make_gpus(root);
	expect_pair(root, "0000:03:00.0", "mlx5_2", VPEER_DISTANCE_SAME_NODE, "0000:00:00.0");
	fixture_file(root, "devices/system/node/online", "0\n");
	expect_pair(root, "0000:03:00.0", "mlx5_2", VPEER_DISTANCE_SAME_NODE, "0000:00:00.0");
	fixture_file(root, "devices/system/node/online", "0,2\n");
	expect_pair(root, "0000:03:00.0", "mlx5_2", VPEER_DISTANCE_UNKNOWN, "0000:00:00.0");
}

/* Below a function that has a domain of its own a root port is one of that domain. */
static void domain_below(void **state)
{
#define VMD "devices/pci0000:00/0000:00:0e.0/pci10000:e0"
	const char *root = *state;

	function(root, VMD "/10000:e0:06.0/10000:e1:00.0", "0\n", "0x030200\n", BIG_BAR);
	nic(root, VMD "/10000:e0:07.0/10000:e2:00.0", "0\n", "other_port");
	nic(root, "devices/pci0000:00/0000:00:01.0/0000:01:00.0", "0\n", "outside");
	expect_pair(root, "10000:e1:00.0", "other_port", VPEER_DISTANCE_SAME_BRIDGE,
		    "0000:00:00.0");
	expect_pair(root, "10000:e1:00.0", "outside", VPEER_DISTANCE_SAME_NODE, "0000:00:00.0");
}

static void nodes(void **state)
{
	struct vpeer_pci_address pci = address("0000:03:00.0");
	struct vpeer_pair_info info;
	const char *root = *state;

	make(root);
	assert_int_equal(vpeer_pair_read(root, &pci, "mlx5_4", &info, NULL), 0);
	assert_int_equal(info.device_known, 1);
	assert_int_equal(info.memory_node, 0);
	assert_int_equal(info.device_node, 2);
	assert_int_equal(vpeer_pair_read(root, &pci, "rxe1", &info, NULL), 0);
	assert_int_equal(info.device_known, 0);
	assert_int_equal(info.device_node, -1);
	assert_int_equal(vpeer_node_distance(root, 0, 2), 31);
	assert_true(vpeer_node_distance(root, 0, 3) == UINT32_MAX);
	assert_true(vpeer_node_distance(root, 2, 0) == UINT32_MAX);
	assert_true(vpeer_node_distance(root, -1, 0) == UINT32_MAX);
}

static void expect_names(const struct vpeer_pair_info *pairs, size_t count,
			 const char *const *names, bool memory)
{
	char text[VPEER_PCI_LEN];

	for (size_t i = 0; i < count; i++)
		assert_string_equal(memory ? vpeer_pci_format(&pairs[i].memory, text) :
					     pairs[i].device_name,
				    names[i]);
}

static void devices_sorted(void **state)
{
	static const char *const names[] = { "mlx5_9", "rxe0", "mlx5_8", "mlx5_7", "irdma0",
					     "mlx5_6", "mlx5_5", "mlx5_3", "mlx5_4", "rxe1",
					     "mlx5_2" };
	struct vpeer_pci_address pci = address("0000:03:00.0");
	struct vpeer_pair_info *pairs;
	size_t count;

	make(*state);
	assert_int_equal(vpeer_nearest_devices_at(*state, &pci, &pairs, &count, NULL), 0);
	assert_int_equal(count, sizeof(names) / sizeof(names[0]));
	expect_names(pairs, count, names, false);
	vpeer_pairs_free(pairs);
}

static void aperture(const char *root, const char *name, const char *pci)
{
	static const char *const files[] = { "bar", "size", "granule", "bytes_free",
					     "bytes_pinned", "windows", "mappings", "bar_offset",
					     "kind", "memory_type", "status" };

	struct path class = joined("class/vpeer/", name, "/");

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fixture_file(root, joined(class.text, files[i], "").text, "4096\n");
	fixture_link(root, joined(class.text, "device", "").text,
		     joined("../../../bus/pci/devices/", pci, "").text);
}

/* Two apertures of one GPU, one of a function that is no GPU, a GPU without, an accelerator. */
static void memory_sorted(void **state)
{
	static const char *const names[] = { "0000:03:00.0", "0000:05:00.0", "0000:83:00.0" };
	struct vpeer_pair_info *pairs;
	size_t count;

	make(*state);
	assert_int_equal(vpeer_nearest_memory_at(*state, "mlx5_9", &pairs, &count, NULL), 0);
	assert_int_equal(count, 2);
	vpeer_pairs_free(pairs);
	aperture(*state, "vpeer0", "0000:03:00.0");
	aperture(*state, "vpeer1", "0000:05:00.0");
	aperture(*state, "vpeer2", "0000:03:00.0");
	assert_int_equal(vpeer_nearest_memory_at(*state, "mlx5_9", &pairs, &count, NULL), 0);
	assert_int_equal(count, 3);
	expect_names(pairs, count, names, true);
	assert_int_equal(pairs[0].distance, VPEER_DISTANCE_SAME_SWITCH);
	assert_int_equal(pairs[2].distance, VPEER_DISTANCE_FAR);
	vpeer_pairs_free(pairs);
	assert_int_equal(vpeer_nearest_memory_at(*state, "rxe1", &pairs, &count, NULL), 0);
	assert_int_equal(count, 3);
	expect_names(pairs, count, names, true);
	vpeer_pairs_free(pairs);
}

static void expect_refusal(int err, const struct vpeer_error *error, unsigned int reason,
			   const char *who)
{
	assert_int_equal(err, -ENODEV);
	assert_int_equal(error->err, ENODEV);
	assert_int_equal(error->reason, reason);
	assert_string_equal(error->who, who);
	assert_int_equal(error->mender, VPEER_MENDER_GUEST);
}

static void not_there(void **state)
{
	static const char *const names[] = { "mlx5_77", "", ".", "..", "../infiniband/mlx5_9" };
	struct vpeer_pci_address gone = address("0000:09:00.0"), gpu = address("0000:03:00.0");
	struct vpeer_pair_info info, *pairs = &info;
	struct vpeer_error error;
	size_t count = 7;

	make(*state);
	expect_refusal(vpeer_pair_read(*state, &gone, "mlx5_9", &info, &error), &error,
		       VPEER_REASON_NO_DEVICE, "0000:09:00.0");
	expect_refusal(vpeer_nearest_devices_at(*state, &gone, &pairs, &count, &error), &error,
		       VPEER_REASON_NO_DEVICE, "0000:09:00.0");
	assert_null(pairs);
	assert_int_equal(count, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		expect_refusal(vpeer_pair_read(*state, &gpu, names[i], &info, &error), &error,
			       VPEER_REASON_NO_RDMA_DEVICE, names[i]);
		expect_refusal(vpeer_nearest_memory_at(*state, names[i], &pairs, &count, &error),
			       &error, VPEER_REASON_NO_RDMA_DEVICE, names[i]);
		assert_null(pairs);
	}
}

static const uint32_t alive = 1, not_alive;

static struct vpeer_context *make_context(struct vpeer_context *context, const char *device)
{
	*context = (struct vpeer_context){ .alive = &alive };
	pthread_mutex_init(&context->lock, NULL);
	snprintf(context->device, sizeof(context->device), "%s", device);
	return context;
}

static void expect_routes(const char *root, struct vpeer_context *context, const char *memory,
			  uint32_t routes, const uint32_t reasons[5])
{
	struct vpeer_pci_address pci = address(memory);
	struct vpeer_pair_info info;

	assert_int_equal(vpeer_query_pair_at(root, context, &pci, &info, NULL), 0);
	assert_int_equal(info.routes, routes);
	for (unsigned int route = 0; route < 5; route++)
		assert_int_equal(info.reasons[route], reasons[route]);
	assert_string_equal(info.device_name, context->device);
}

static void routes_of_pair(void **state)
{
	const uint32_t all = VPEER_ROUTES_DIRECT | VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING);
	const uint32_t cuda = all & ~VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES);
	const uint32_t window = all & ~VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM);
	uint32_t other[5] = { [VPEER_ROUTE_PEERMEM] = VPEER_REASON_NO_PEERMEM };
	uint32_t nvidia[5] = { [VPEER_ROUTE_PAGES] = VPEER_REASON_NOT_PINNABLE };
	struct vpeer_context context;
	const char *root = *state;

	make(root);
	make_context(&context, "mlx5_9");
	expect_routes(root, &context, "0000:03:00.0", window, other);
	fixture_file(root, GPU "/vendor", "0x10de\n");
	expect_routes(root, &context, "0000:03:00.0", cuda, nvidia);
	aperture(root, "vpeer0", "0000:03:00.0");
	expect_routes(root, &context, "0000:03:00.0", window, other);
	context.no_import = (struct vpeer_verdict){
		.err = EOPNOTSUPP,
		.reason = VPEER_REASON_NO_DMABUF_IMPORT,
	};
	other[VPEER_ROUTE_DMABUF] = VPEER_REASON_NO_DMABUF_IMPORT;
	expect_routes(root, &context, "0000:03:00.0",
		      window & ~VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF), other);
}

static void pair_refused(void **state)
{
	struct vpeer_pci_address gone = address("0000:09:00.0"), gpu = address("0000:03:00.0");
	struct vpeer_context context;
	struct vpeer_pair_info info;
	struct vpeer_error error;

	make(*state);
	make_context(&context, "mlx5_9");
	expect_refusal(vpeer_query_pair_at(*state, &context, &gone, &info, &error), &error,
		       VPEER_REASON_NO_DEVICE, "0000:09:00.0");
	context.alive = &not_alive;
	assert_int_equal(vpeer_query_pair_at(*state, &context, &gpu, &info, &error), -ECHILD);
	assert_int_equal(error.reason, VPEER_REASON_FORKED);
	assert_string_equal(error.who, "mlx5_9");
}

/* Neither RDMA devices nor GPUs nor the module. */
static void nothing_near(void **state)
{
	struct vpeer_pci_address pci = address("0000:01:05.0");
	struct vpeer_error error = { .err = EIO };
	struct vpeer_pair_info *pairs;
	size_t count = 7;

	function(*state, "devices/pci0000:00/0000:00:01.0/0000:01:05.0", "0\n", "0x010802\n",
		 BIG_BAR);
	assert_int_equal(vpeer_nearest_devices_at(*state, &pci, &pairs, &count, &error), 0);
	assert_int_equal(count, 0);
	assert_null(pairs);
	assert_int_equal(error.err, 0);
	soft(*state, "rxe0", "lo\n");
	assert_int_equal(vpeer_nearest_memory_at(*state, "rxe0", &pairs, &count, NULL), 0);
	assert_int_equal(count, 0);
	assert_null(pairs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(distances),      TEST(one_node),	   TEST(domain_below), TEST(nodes),
		TEST(devices_sorted), TEST(memory_sorted), TEST(not_there),    TEST(nothing_near),
		TEST(routes_of_pair), TEST(pair_refused),
	};

	return cmocka_run_group_tests_name("topology", tests, NULL, NULL) != 0;
}
