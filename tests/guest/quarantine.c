// SPDX-License-Identifier: GPL-2.0-only
/* Detach while a live process holds pins. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "holder.h"
#include "kmsg.h"
#include "memory.h"
#include "rdma.h"

static void check_quarantine_line(const char *pinned)
{
	char text[1024], expected[64];

	CHECK(sysfs_read("/sys/class/misc/vpeerctl/quarantine", text, sizeof(text)));
	printf("%s", text);
	CHECK(!strncmp(text, aperture_pci(), strlen(aperture_pci())));
	CHECK(strstr(text, " bar2 0x"));
	snprintf(expected, sizeof(expected), " %s\n", pinned);
	CHECK(strstr(text, expected));
}

/* The last field of the only line, for the administrator alone. */
static void check_quarantine_holder(const char *pids)
{
	char text[1024], expected[64];

	CHECK(sysfs_read("/sys/kernel/debug/vpeer/quarantine", text, sizeof(text)));
	printf("%s", text);
	snprintf(expected, sizeof(expected), "pids\n%s bar2 0x", aperture_pci());
	CHECK(strstr(text, expected));
	snprintf(expected, sizeof(expected), " %s\n", pids);
	CHECK(strstr(text, expected));
}

static void attach_again(void)
{
	uint32_t reason;

	CHECK_WITHIN(!quarantine_bytes(), 10000);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, &reason));
}

static void check_zero_for_next(uint64_t size)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, size);

	CHECK(all_zero(mapped, size));
	munmap(mapped, size);
	close(fd);
}

TEST(held_by_a_live_process, 60)
{
	const char *pci = aperture_pci();
	char pids[32];
	struct holder h;
	uint64_t pinned;
	uint32_t reason;
	int mark;

	holder_start(&h, 0, GRANULE, false);
	mark = kmsg_mark();
	CHECK_ERRNO(control_detach(pci, &pinned, &reason), EINPROGRESS);
	CHECK_EQ(reason, VPEER_REASON_PINNED);
	CHECK_EQ(pinned, GRANULE);
	CHECK(!*aperture_node());
	CHECK(!pci_bound(pci));
	check_quarantine_line("2097152");
	snprintf(pids, sizeof(pids), "%d", (int)h.pid);
	check_quarantine_holder(pids);
	CHECK_EQ(kmsg_count(mark, "2097152 bytes still pinned .*: end the processes", NULL, 0), 1);
	close(mark);

	CHECK_ERRNO(control_attach(pci, VPEER_BAR_AUTO, 0, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_QUARANTINED);
	CHECK_ERRNO(control_attach(pci, VPEER_BAR_AUTO, VPEER_ATTACH_FORCE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_QUARANTINED);
	CHECK(system("rmmod vpeer 2>/dev/null") != 0);
	CHECK(access("/sys/module/vpeer", F_OK) == 0);
	check_quarantine_line("2097152");

	holder_kill(&h);
	attach_again();
	check_zero_for_next(GRANULE);
}

/* Memory in quarantine is the holder's and nobody else's: not zeroed. */
TEST(transfers_go_on, 60)
{
	const char *pci = aperture_pci();
	char bytes[4096];
	struct holder h;

	holder_start(&h, 0, GRANULE, true);
	CHECK_ERRNO(control_detach(pci, NULL, NULL), EINPROGRESS);
	memset(bytes, 0, sizeof(bytes));
	owner_write(0, bytes, sizeof(bytes));
	test_sleep_ms(500);
	pattern_fill(bytes, sizeof(bytes), 62);
	CHECK(owner_is(0, bytes, sizeof(bytes)));
	owner_read(GRANULE - 4096, bytes, sizeof(bytes));
	CHECK(!all_zero(bytes, sizeof(bytes)));
	holder_release(&h);
	attach_again();
	check_zero_for_next(GRANULE);
}

static void check_gone(int fd, char *mapped)
{
	struct vpeer_aperture_info info = { .argsz = sizeof(info) };
	struct vpeer_window_info window = { .argsz = sizeof(window) };
	struct vpeer_window_op op = { .argsz = sizeof(op) };
	struct vpeer_query query = { .argsz = sizeof(query) };
	uint32_t reason;

	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK_REFUSED(fd, VPEER_IOCTL_APERTURE_INFO, &info, ENODEV, VPEER_REASON_GONE);
	/* Its owner can still learn why. */
	CHECK_OK(ioctl(fd, VPEER_IOCTL_WINDOW_INFO, &window));
	CHECK_EQ(window.state, VPEER_WINDOW_REVOKED);
	CHECK_EQ(window.cause, VPEER_CAUSE_DETACHED);
	window.offset = 62 * MIB;
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_INFO, &window, ENODEV, VPEER_REASON_GONE);
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_FREE, &op, ENODEV, VPEER_REASON_GONE);
	op.reason = 0;
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_REVOKE, &op, ENODEV, VPEER_REASON_GONE);
	op.flags = VPEER_REVOKE_ALL;
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_REVOKE, &op, ENODEV, VPEER_REASON_GONE);
	CHECK_ERRNO(window_alloc_at(fd, 0, GRANULE, &reason), ENODEV);
	CHECK_EQ(reason, VPEER_REASON_GONE);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), ENODEV);
	CHECK_OK(ioctl(fd, VPEER_IOCTL_QUERY, &query));
}

/* What an open file sees when its aperture goes, and when a new one comes. */
TEST(open_file_outlives_aperture, 60)
{
	const char *pci = aperture_pci();
	int fd = aperture_open();
	const volatile uint64_t *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
					     VPEER_MMAP_GENERATION);
	char *mapped;
	uint64_t before;
	uint32_t slot;

	CHECK_OK((long)page);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 1;
	slot = window_info(fd, 0).slot;
	before = page[slot];
	CHECK_OK(control_detach(pci, NULL, NULL));
	CHECK(page[slot] > before);
	check_gone(fd, mapped);
	CHECK_OK(control_attach(pci, VPEER_BAR_AUTO, 0, NULL));
	check_gone(fd, mapped);
	check_zero_for_next(GRANULE);
	munmap(mapped, GRANULE);
	munmap((void *)page, 4096);
	close(fd);
}

TEST(released_within_the_wait, 60)
{
	struct holder h;
	uint64_t pinned = 77;
	pid_t pid;

	holder_start(&h, 0, GRANULE, true);
	pid = test_fork();
	if (!pid) {
		test_sleep_ms(300);
		kill(h.pid, SIGKILL);
		_exit(0);
	}
	CHECK_OK(control_detach(aperture_pci(), &pinned, NULL));
	CHECK_EQ(pinned, 0);
	CHECK_EQ(quarantine_bytes(), 0);
	test_join(pid);
	CHECK_EQ(waitpid(h.pid, NULL, 0), h.pid);
	attach_again();
}

/* holder_signal ends those who do not let go. */
TEST(holders_are_signalled, 60)
{
	struct holder h;
	int status, mark, ret;

	holder_start(&h, 0, GRANULE, false);
	mark = kmsg_mark();
	module_parameter("revoke_wait_ms", 300);
	module_parameter("holder_signal", SIGKILL);
	ret = control_detach(aperture_pci(), NULL, NULL);
	module_parameter("holder_signal", 0);
	module_parameter("revoke_wait_ms", 2000);
	CHECK_EQ(ret, 0);
	CHECK_EQ(waitpid(h.pid, &status, 0), h.pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK_EQ(kmsg_count(mark, "sending signal 9 to their holders", NULL, 0), 1);
	close(mark);
	attach_again();
}

/* Unbound through sysfs instead of by ioctl. */
TEST(unbind_by_sysfs, 60)
{
	const char *pci = aperture_pci();
	struct holder h;

	holder_start(&h, 0, GRANULE, false);
	CHECK(sysfs_write("/sys/bus/pci/drivers/vpeer/unbind", pci));
	CHECK(!pci_bound(pci));
	check_quarantine_line("2097152");
	holder_release(&h);
	attach_again();
	check_zero_for_next(GRANULE);
}
