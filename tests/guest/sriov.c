// SPDX-License-Identifier: GPL-2.0-only
/* A PF makes and drops VFs, which holds locks of the bus and of the PF. Its disk is gone afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "owned.h"
#include "path.h"

#define ROUNDS	4

static const char *pf_file(const char *file)
{
	static char path[128];
	const char *pf = getenv("VPEER_NVME_PF");

	if (!pf)
		test_skip("this guest has no PF with VFs");
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", pf, file);
	return path;
}

static void make_and_drop(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(sysfs_write(pf_file("sriov_numvfs"), "0"));
		CHECK(sysfs_write(pf_file("sriov_numvfs"), "1"));
	}
	_exit(0);
}

static void attach_refused(const char *pf)
{
	uint32_t reason;

	CHECK_ERRNO(control_attach(pf, VPEER_BAR_AUTO, 0, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_DRIVER_BOUND);
	CHECK_ERRNO(control_attach_range(pf, VPEER_BAR_AUTO, VPEER_ATTACH_FOREIGN, 0, GRANULE,
					 &reason), ENXIO);
	CHECK_EQ(reason, VPEER_REASON_NO_SUCH_BAR);
}

TEST(attach_while_vfs_come_and_go, 60)
{
	unsigned int during = 0;
	int status = 0;
	pid_t pid;

	CHECK(sysfs_write(pf_file("sriov_drivers_autoprobe"), "0"));
	pid = test_fork();
	if (!pid)
		make_and_drop();
	while (!waitpid(pid, &status, WNOHANG)) {
		attach_refused(getenv("VPEER_NVME_PF"));
		during++;
	}
	CHECK_EQ(status, 0);
	CHECK(during >= ROUNDS);
}

static void report_of(int fd, const char *vf, unsigned int *there, unsigned int *gone)
{
	struct vpeer_path_report report;

	if (!path_try(fd, vf, &report)) {
		CHECK(report.initiator.flags & VPEER_FUNCTION_PF);
		CHECK_EQ(report.initiator.bridge_count, 1);
		++*there;
	} else {
		CHECK_EQ(errno, ENODEV);
		CHECK_EQ(report.reason, VPEER_REASON_NO_DEVICE);
		++*gone;
	}
}

TEST(report_while_vfs_come_and_go, 60)
{
	const char *vf = getenv("VPEER_NVME_VF");
	unsigned int there = 0, gone = 0;
	int status = 0, fd;
	pid_t pid;

	CHECK(sysfs_write(pf_file("sriov_drivers_autoprobe"), "0"));
	own();
	fd = aperture_open();
	pid = test_fork();
	if (!pid)
		make_and_drop();
	while (!waitpid(pid, &status, WNOHANG))
		report_of(fd, vf, &there, &gone);
	CHECK_EQ(status, 0);
	printf("%u reports while it was there, %u when not\n", there, gone);
	CHECK(there && gone);
	close(fd);
}
