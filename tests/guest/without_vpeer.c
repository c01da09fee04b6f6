// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control experiment: the same BAR mapped by the kernel's own means. The
 * CPU reaches it, but neither RDMA nor O_DIRECT takes it. What the other cases
 * show is thus due to the module.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#define SIZE	(64 * KIB)

static char *map_resource(const char *pci)
{
	char path[128], *mapped;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/enable", pci);
	CHECK(sysfs_write(path, "1"));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource2_wc", pci);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_OK(fd);
	mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK_OK((long)mapped);
	close(fd);
	return mapped;
}

static void check_disk(char *mapped)
{
	const char *path = getenv("VPEER_NVME_DISK");
	char *plain = plain_memory(SIZE);
	int disk;

	if (!path || !*path)
		test_skip("no disk: VPEER_NVME_DISK is not set");
	disk = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	CHECK_OK(disk);
	CHECK_EQ(pread(disk, plain, SIZE, 0), SIZE);
	CHECK_ERRNO(pread(disk, mapped, SIZE, 0), EFAULT);
	close(disk);
}

TEST(bar_is_not_taken, 30)
{
	const char *pci = aperture_pci();
	char path[128], *mapped;
	struct rdma r;

	CHECK_OK(control_detach(pci, NULL, NULL));
	mapped = map_resource(pci);
	pattern_fill(mapped, SIZE, 111);
	CHECK(owner_is(0, mapped, SIZE));
	rdma_open(&r);
	CHECK(!ibv_reg_mr(r.pd, mapped, SIZE, RDMA_ACCESS));
	CHECK_EQ(errno, EFAULT);
	rdma_close(&r);
	check_disk(mapped);
	munmap(mapped, SIZE);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/enable", pci);
	CHECK(sysfs_write(path, "0"));
	CHECK_OK(control_attach(pci, VPEER_BAR_AUTO, 0, NULL));
}
