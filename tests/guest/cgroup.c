// SPDX-License-Identifier: GPL-2.0-only
/* Windows are device memory: no memory cgroup is charged for them, and none's limit stops them. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#define MOUNT	"/mnt"
#define GROUP	MOUNT "/vpeer-test"
#define SIZE	(48 * MIB)
#define LIMIT	(24 * MIB)

static void group_set(const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", GROUP, file);
	CHECK(sysfs_write(path, text));
}

static void group_make(void)
{
	CHECK_OK(unshare(CLONE_NEWNS));
	CHECK_OK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK_OK(mount("cgroup2", MOUNT, "cgroup2", 0, NULL));
	CHECK(sysfs_write(MOUNT "/cgroup.subtree_control", "+memory"));
	CHECK_OK(mkdir(GROUP, 0755));
}

static void group_end(void)
{
	CHECK_OK(rmdir(GROUP));
	CHECK_OK(umount(MOUNT));
}

static void touch_and_register(void *unused)
{
	int64_t before, charged;
	char *mapped, *plain;
	struct ibv_mr *mr;
	struct rdma r;

	(void)unused;
	group_set("cgroup.procs", "0");
	rdma_open(&r);
	before = sysfs_u64(GROUP, "memory.current");
	mapped = window_map(aperture_open(), 0, SIZE);
	memset(mapped, 1, SIZE);
	mr = rdma_reg(&r, mapped, SIZE);
	charged = sysfs_u64(GROUP, "memory.current") - before;
	printf("%llu MiB of windows: %lld KiB charged\n", SIZE / MIB, (long long)charged / 1024);
	CHECK(charged < (int64_t)(4 * MIB));
	CHECK_EQ(ibv_dereg_mr(mr), 0);

	/* What host memory costs, by the same measure. */
	before = sysfs_u64(GROUP, "memory.current");
	plain = plain_memory(8 * MIB);
	charged = sysfs_u64(GROUP, "memory.current") - before;
	printf("8 MiB of host memory: %lld KiB charged\n", (long long)charged / 1024);
	/* The kernel charges ahead, in batches that each processor keeps. */
	CHECK(charged >= (int64_t)(6 * MIB) && charged < (int64_t)(12 * MIB));
	munmap(plain, 8 * MIB);
}

TEST(not_charged, 30)
{
	char limit[32];

	group_make();
	snprintf(limit, sizeof(limit), "%llu", LIMIT);
	group_set("memory.max", limit);
	test_in_child(touch_and_register, NULL);
	CHECK_WITHIN(aperture_all_free(), 5000);
	group_end();
}
