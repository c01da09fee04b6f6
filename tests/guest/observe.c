// SPDX-License-Identifier: GPL-2.0-only
/* What sysfs, debugfs and tracepoints tell an administrator. */
#include <fcntl.h>
#include <stdio.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "user.h"

#define TRACING	"/sys/kernel/tracing/"

static const char *node_name(void)
{
	return strrchr(aperture_node(), '/') + 1;
}

TEST(counters_agree, 20)
{
	struct vpeer_aperture_info info = { .argsz = sizeof(info) };
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, 2 * GRANULE);
	struct ibv_mr *mr;
	struct rdma r;

	rdma_open(&r);
	mr = rdma_reg(&r, mapped, 8192);
	CHECK_OK(window_alloc_at(fd, 4 * GRANULE, GRANULE, NULL));
	CHECK_OK(ioctl(fd, VPEER_IOCTL_APERTURE_INFO, &info));
	CHECK_EQ(info.windows, 2);
	CHECK_EQ(info.bytes_pinned, 8192);
	CHECK_EQ(info.bytes_free, info.size - 3 * GRANULE);
	CHECK_EQ(aperture_stat("windows"), info.windows);
	CHECK_EQ(aperture_stat("bytes_pinned"), info.bytes_pinned);
	CHECK_EQ(aperture_stat("bytes_free"), info.bytes_free);
	CHECK_EQ(aperture_stat("size"), info.size);
	CHECK_EQ(aperture_stat("granule"), info.granule);
	CHECK_EQ(aperture_stat("bar"), info.bar);
	CHECK_EQ(aperture_stat("mappings"), 1);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	rdma_close(&r);
	munmap(mapped, 2 * GRANULE);
	close(fd);
}

static void read_windows(char *text, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/vpeer/%s/windows", node_name());
	CHECK(sysfs_read(path, text, size));
	printf("%s", text);
}

TEST(windows_in_debugfs, 20)
{
	int fd = aperture_open();
	char text[2048], line[96], *mapped;

	read_windows(text, sizeof(text));
	CHECK(!strstr(text, "0x"));
	CHECK_OK(window_alloc_at(fd, 2 * GRANULE, GRANULE, NULL));
	mapped = window_map(fd, 6 * GRANULE, GRANULE);
	read_windows(text, sizeof(text));
	CHECK(strstr(text, "0x400000 2097152 0 0 0 active explicit 0 0 -\n"));
	snprintf(line, sizeof(line), "0xc00000 2097152 0 1 0 active implicit 0 0 %d\n",
		 (int)getpid());
	CHECK(strstr(text, line));
	CHECK_OK(window_revoke(fd, 2 * GRANULE, 0, NULL));
	read_windows(text, sizeof(text));
	CHECK(strstr(text, "0x400000 2097152 0 0 0 revoked explicit 0 0 -\n"));
	munmap(mapped, GRANULE);
	close(fd);
}

/* The only window is held by these, as this process sees them. */
static void check_holders(const char *pids)
{
	char text[2048], end[64];

	read_windows(text, sizeof(text));
	snprintf(end, sizeof(end), " implicit 0 0 %s\n", pids);
	CHECK(strstr(text, end));
}

/* Waits in it until the parent has looked. */
static void hold_in_name_space(void *ends)
{
	const int *to = ends, *from = to + 2;
	pid_t inner;
	char byte;

	CHECK_OK(unshare(CLONE_NEWPID));
	inner = test_fork();
	if (!inner) {
		check_holders("0,0,1");
		CHECK_EQ(write(to[1], "", 1), 1);
		CHECK_EQ(read(from[0], &byte, 1), 1);
		_exit(0);
	}
	test_join(inner);
}

/* PIDs are the reader's: those of a name space show there as its own, and here as ours. */
TEST(holders_by_name_space, 30)
{
	int fd = aperture_open(), ends[4];
	char *mapped = window_map(fd, 0, GRANULE), text[2048], byte, *last;
	int outer, inner, self;
	pid_t pid;

	CHECK_OK(pipe(ends));
	CHECK_OK(pipe(ends + 2));
	pid = test_fork();
	if (!pid) {
		hold_in_name_space(ends);
		_exit(0);
	}
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	read_windows(text, sizeof(text));
	last = strstr(text, " implicit 0 0 ");
	CHECK(last);
	CHECK_EQ(sscanf(last, " implicit 0 0 %d,%d,%d", &self, &outer, &inner), 3);
	CHECK_EQ(self, getpid());
	CHECK_EQ(outer, pid);
	CHECK(inner > 0 && inner != self && inner != outer);
	CHECK_EQ(write(ends[3], "", 1), 1);
	test_join(pid);
	snprintf(text, sizeof(text), "%d", (int)getpid());
	check_holders(text);
	munmap(mapped, GRANULE);
	close(fd);
}

/* Not even while its parent has not heard of its end. */
TEST(no_ended_holder, 30)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE), pids[32];
	siginfo_t info;
	pid_t pid;

	pid = test_fork();
	if (!pid)
		for (;;)
			pause();
	snprintf(pids, sizeof(pids), "%d,%d", (int)getpid(), (int)pid);
	check_holders(pids);
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_OK(waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	snprintf(pids, sizeof(pids), "%d", (int)getpid());
	check_holders(pids);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	munmap(mapped, GRANULE);
	close(fd);
}

static void look_as_member(void *path)
{
	char text[16];

	become_member();
	CHECK(!sysfs_read(path, text, sizeof(text)));
}

TEST(debugfs_is_for_root, 20)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/vpeer/%s/windows", node_name());
	test_in_child(look_as_member, path);
	test_in_child(look_as_member, "/sys/kernel/debug/vpeer/quarantine");
}

TEST(debugfs_goes_with_the_aperture, 20)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/vpeer/%s", node_name());
	CHECK_OK(access(path, F_OK));
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_ERRNO(access(path, F_OK), ENOENT);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

static void clear_trace(void)
{
	int fd = open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	CHECK_OK(fd);
	close(fd);
}

static void make_events(void)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);

	mapped[0] = 1;
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	munmap(mapped, GRANULE);
	close(fd);
}

TEST(tracepoints, 30)
{
	static char text[65536];

	clear_trace();
	CHECK(sysfs_write(TRACING "events/vpeer/enable", "1"));
	make_events();
	CHECK(sysfs_write(TRACING "events/vpeer/enable", "0"));
	CHECK(sysfs_read(TRACING "trace", text, sizeof(text)));
	CHECK(strstr(text, "vpeer_claim:"));
	CHECK(strstr(text, "vpeer_scrub:"));
	CHECK(strstr(text, "vpeer_revoke:"));
	CHECK(strstr(text, "vpeer_unclaim:"));
	clear_trace();
	make_events();
	CHECK(sysfs_read(TRACING "trace", text, sizeof(text)));
	CHECK(!strstr(text, "vpeer_claim:"));
}
