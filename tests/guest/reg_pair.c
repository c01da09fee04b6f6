// SPDX-License-Identifier: GPL-2.0-only
/* What is near what, and by which routes, on a machine's own sysfs. */
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "aperture.h"
#include "harness.h"
#include "reg.h"

static struct vpeer_pci_address memory_of(void)
{
	struct vpeer_pci_address memory;

	CHECK_EQ(vpeer_pci_parse(aperture_pci(), &memory), 0);
	return memory;
}

static struct vpeer_pair_info query(struct reg *t)
{
	struct vpeer_pci_address memory = memory_of();
	struct vpeer_pair_info info;
	struct vpeer_error error;

	if (vpeer_query_pair(t->context, &memory, &info, &error))
		test_fail(__FILE__, __LINE__, "%s: %s", error.who, error.message);
	CHECK_EQ(error.err, 0);
	CHECK(!memcmp(&info.memory, &memory, sizeof(memory)));
	CHECK(!strcmp(info.device_name, ibv_get_device_name(t->r.context->device)));
	return info;
}

/* That the device imports no DMA-bufs is known once it was tried. */
TEST(routes, 60)
{
	const uint32_t known = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) |
			       VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES) |
			       VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING);
	struct vpeer_pair_info info;
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, NULL);
	info = query(&t);
	CHECK_EQ(info.routes, known);
	CHECK_EQ(info.reasons[VPEER_ROUTE_PEERMEM], VPEER_REASON_NO_PEERMEM);
	mr = reg_must(t.context, t.window, REG_SIZE, NULL);
	info = query(&t);
	CHECK(info.routes & VPEER_ROUTE_BIT(vpeer_mr_route(mr)));
	if (t.imports) {
		CHECK_EQ(info.routes, known);
	} else {
		CHECK_EQ(info.routes, known & ~VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF));
		CHECK_EQ(info.reasons[VPEER_ROUTE_DMABUF], VPEER_REASON_NO_DMABUF_IMPORT);
	}
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_end(&t);
}

static const struct vpeer_pair_info *find(const struct vpeer_pair_info *pairs, size_t count,
					  const struct vpeer_pair_info *wanted)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(pairs[i].device_name, wanted->device_name) &&
		    !memcmp(&pairs[i].memory, &wanted->memory, sizeof(wanted->memory)))
			return &pairs[i];
	test_fail(__FILE__, __LINE__, "%s is not there", wanted->device_name);
}

static void check_sorted(const struct vpeer_pair_info *pairs, size_t count)
{
	for (size_t i = 1; i < count; i++)
		CHECK(pairs[i].distance == VPEER_DISTANCE_UNKNOWN ||
		      (pairs[i - 1].distance != VPEER_DISTANCE_UNKNOWN &&
		       pairs[i - 1].distance <= pairs[i].distance));
}

TEST(both_ways, 60)
{
	const struct vpeer_pair_info *there, *back;
	struct vpeer_pair_info info, *devices, *memories;
	size_t device_count, memory_count;
	struct reg t;

	reg_begin(&t, NULL);
	info = query(&t);
	CHECK_EQ(info.device_known, 1);
	CHECK(info.distance != VPEER_DISTANCE_UNKNOWN);
	CHECK_EQ(vpeer_nearest_devices(&info.memory, &devices, &device_count, NULL), 0);
	CHECK_EQ(vpeer_nearest_memory(info.device_name, &memories, &memory_count, NULL), 0);
	there = find(devices, device_count, &info);
	back = find(memories, memory_count, &info);
	CHECK(!memcmp(there, back, sizeof(*there)));
	CHECK_EQ(there->distance, info.distance);
	CHECK(!memcmp(&there->device, &info.device, sizeof(info.device)));
	check_sorted(devices, device_count);
	check_sorted(memories, memory_count);
	vpeer_pairs_free(devices);
	vpeer_pairs_free(memories);
	reg_end(&t);
}

TEST(not_there, 60)
{
	struct vpeer_pci_address gone = { .domain = 0xffff, .bus = 0xff, .devfn = 0xff };
	struct vpeer_pair_info info, *pairs;
	struct vpeer_error error;
	struct reg t;
	size_t count;

	reg_begin(&t, NULL);
	CHECK_EQ(vpeer_query_pair(t.context, &gone, &info, &error), -ENODEV);
	CHECK_EQ(error.reason, VPEER_REASON_NO_DEVICE);
	CHECK(!strcmp(error.who, "ffff:ff:1f.7"));
	CHECK_EQ(vpeer_nearest_devices(&gone, &pairs, &count, &error), -ENODEV);
	CHECK_EQ(vpeer_nearest_memory("nosuch_0", &pairs, &count, &error), -ENODEV);
	CHECK_EQ(error.reason, VPEER_REASON_NO_RDMA_DEVICE);
	CHECK_EQ(error.mender, VPEER_MENDER_GUEST);
	reg_end(&t);
}
