// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend and hibernation as far as the freezing of processes, which the
 * kernel's pm_test ends there: devices of the lab's guest would not come back.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "holder.h"
#include "kmsg.h"
#include "memory.h"
#include "neighbour.h"
#include "owned.h"

#define AT	(8 * MIB)
#define SIZE	(2 * GRANULE)

/* As an ioctl: -1 and errno. */
static int sleep_and_wake(const char *state)
{
	int fd, ret;

	if (access("/sys/power/pm_test", W_OK))
		test_skip("this kernel cannot test suspend");
	CHECK(sysfs_write("/sys/power/pm_test", "freezer"));
	CHECK(sysfs_write("/sys/module/suspend/parameters/pm_test_delay", "0"));
	fd = open("/sys/power/state", O_WRONLY | O_CLOEXEC);
	CHECK_OK(fd);
	ret = write(fd, state, strlen(state));
	if (ret < 0)
		ret = -errno;
	close(fd);
	CHECK(sysfs_write("/sys/power/pm_test", "none"));
	if (ret >= 0)
		return 0;
	errno = -ret;
	return -1;
}

static void check_suspend_revokes(void)
{
	int fd = aperture_open();
	const volatile uint64_t *page = window_generations(fd);
	uint64_t generation;
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	pattern_fill(mapped, GRANULE, 121);
	generation = page[window_info(fd, 0).slot];
	CHECK_OK(sleep_and_wake("mem"));
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK(page[window_info(fd, 0).slot] > generation);
	CHECK_EQ(window_info(fd, 0).state, VPEER_WINDOW_REVOKED);
	check_replaced(fd);
	munmap(mapped, GRANULE);
	munmap((void *)page, 4096);
	close(fd);
}

TEST(suspend_revokes, 30)
{
	own();
	check_suspend_revokes();
}

TEST(suspend_revokes_shared_ranges, 30)
{
	neighbour_alone();
	foreign_attach(AT, SIZE);
	check_suspend_revokes();
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	own();
}

TEST(suspend_while_idle, 30)
{
	int mark, fd;

	own();
	mark = kmsg_mark();
	CHECK_OK(sleep_and_wake("mem"));
	CHECK_EQ(kmsg_count(mark, "vpeer.*refused|suspend refused", NULL, 0), 0);
	close(mark);
	fd = aperture_open();
	check_new_window(fd, 0);
	close(fd);
}

/* What was known to be clean need not be after a sleep. */
TEST(clean_no_longer, 30)
{
	char *bytes = plain_memory(GRANULE), *mapped;
	int fd;

	own();
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	pattern_fill(bytes, GRANULE, 122);
	owner_write(0, bytes, GRANULE);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, VPEER_ATTACH_CLEAN, NULL));
	CHECK_OK(sleep_and_wake("mem"));
	fd = aperture_open();
	mapped = window_map(fd, 0, GRANULE);
	CHECK(all_zero(mapped, GRANULE));
	close(fd);
	munmap(mapped, GRANULE);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* Pins cannot be taken back: the machine stays awake, and windows as they are. */
TEST(suspend_is_refused_while_pinned, 60)
{
	struct holder h;
	char *mapped;
	int mark, fd;

	own();
	fd = aperture_open();
	mapped = window_map(fd, 2 * GRANULE, GRANULE);
	mapped[0] = 9;
	holder_start(&h, 0, GRANULE, true);
	mark = kmsg_mark();
	CHECK_ERRNO(sleep_and_wake("mem"), EBUSY);
	CHECK_EQ(kmsg_count(mark, "suspend refused: 2097152 bytes pinned by initiators", NULL, 0),
		 1);
	close(mark);
	CHECK_EQ(signal_of_read(mapped), 0);
	CHECK_EQ(mapped[0], 9);
	check_new_window(fd, 3 * GRANULE);
	holder_release(&h);

	CHECK_WITHIN(!aperture_stat("bytes_pinned"), 10000);
	CHECK_OK(sleep_and_wake("mem"));
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	close(fd);
	munmap(mapped, GRANULE);
}

/* The same of memory whose function was detached: initiators still write to it. */
TEST(suspend_is_refused_in_quarantine, 60)
{
	static const char *const states[] = { "mem", "disk" };
	struct holder h;
	int mark;

	own();
	holder_start(&h, 0, GRANULE, true);
	module_parameter("revoke_wait_ms", 100);
	CHECK_ERRNO(control_detach(aperture_pci(), NULL, NULL), EINPROGRESS);
	module_parameter("revoke_wait_ms", 2000);
	mark = kmsg_mark();
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		CHECK_ERRNO(sleep_and_wake(states[i]), EBUSY);
		CHECK_EQ(kmsg_count(mark, "suspend refused: 2097152 quarantined bytes pinned",
				    NULL, 0), 1);
	}
	close(mark);
	holder_release(&h);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	CHECK_OK(sleep_and_wake("mem"));
	own();
}

/* The same while a detach still waits for the pins, and can be seen nowhere else. */
TEST(suspend_is_refused_while_detaching, 60)
{
	struct holder h;
	pid_t pid;
	int mark;

	own();
	holder_start(&h, 0, GRANULE, true);
	module_parameter("revoke_wait_ms", 10000);
	mark = kmsg_mark();
	pid = test_fork();
	if (!pid) {
		close(h.command); /* the holder sees its end only when none is left */
		CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
		_exit(EXIT_SUCCESS);
	}
	CHECK_WITHIN(!aperture_node()[0], 10000);
	CHECK_ERRNO(sleep_and_wake("mem"), EBUSY);
	CHECK_EQ(kmsg_count(mark, "suspend refused: 1 detached apertures still wait", NULL, 0), 1);
	close(mark);
	holder_release(&h);
	test_join(pid);
	module_parameter("revoke_wait_ms", 2000);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	CHECK_OK(sleep_and_wake("mem"));
	own();
}

/* A pipe holds pages without a pin, which is seen only once the windows are revoked. */
TEST(suspend_is_refused_while_held, 60)
{
	struct iovec iov = { .iov_len = 8 * KIB };
	int mark, fd, ends[2];
	char *mapped;

	own();
	fd = aperture_open();
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 9;
	iov.iov_base = mapped;
	CHECK_OK(pipe(ends));
	CHECK_EQ(vmsplice(ends[1], &iov, 1, 0), iov.iov_len);
	CHECK_EQ(aperture_stat("bytes_pinned"), 0);
	module_parameter("revoke_wait_ms", 100);
	mark = kmsg_mark();
	CHECK_ERRNO(sleep_and_wake("mem"), EBUSY);
	CHECK_EQ(kmsg_count(mark, "suspend refused: 8192 bytes still held by initiators", NULL, 0),
		 1);
	close(mark);
	module_parameter("revoke_wait_ms", 2000);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	check_status("ok");
	check_new_window(fd, GRANULE);
	close(ends[0]);
	close(ends[1]);
	CHECK_OK(sleep_and_wake("mem"));
	munmap(mapped, GRANULE);
	close(fd);
}

TEST(hibernation, 60)
{
	char *mapped;
	int mark, fd;

	own();
	fd = aperture_open();
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 9;
	mark = kmsg_mark();
	CHECK_ERRNO(sleep_and_wake("disk"), EBUSY);
	CHECK_EQ(kmsg_count(mark, "hibernation refused: 1 windows exist", NULL, 0), 1);
	close(mark);
	CHECK_EQ(signal_of_read(mapped), 0);
	CHECK_EQ(mapped[0], 9);
	munmap(mapped, GRANULE);
	CHECK_WITHIN(!aperture_stat("windows"), 5000);
	CHECK_OK(sleep_and_wake("disk"));
	check_new_window(fd, 0);
	close(fd);
}

/* A program that writes the image holds the machine between both moments. */
TEST(hibernation_by_a_program, 60)
{
	struct vpeer_window_alloc arg = { .argsz = sizeof(arg), .size = GRANULE };
	int fd, snapshot;

	own();
	if (access("/dev/snapshot", F_OK))
		test_skip("this kernel has no /dev/snapshot");
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_ERRNO(open("/dev/snapshot", O_RDONLY | O_CLOEXEC), EBUSY);
	CHECK_EQ(window_info(fd, 0).state, VPEER_WINDOW_ACTIVE);
	CHECK_OK(window_free(fd, 0));

	snapshot = open("/dev/snapshot", O_RDONLY | O_CLOEXEC);
	CHECK_OK(snapshot);
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg, EAGAIN, VPEER_REASON_ASLEEP);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), EAGAIN);
	close(snapshot);
	check_new_window(fd, 0);
	close(fd);
}

/* An aperture that comes while the machine goes to sleep. */
TEST(attach_while_asleep, 60)
{
	int fd, snapshot;
	uint32_t reason;

	own();
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	snapshot = open("/dev/snapshot", O_RDONLY | O_CLOEXEC);
	CHECK_OK(snapshot);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
	fd = aperture_open();
	CHECK_ERRNO(window_alloc_at(fd, 0, GRANULE, &reason), EAGAIN);
	CHECK_EQ(reason, VPEER_REASON_ASLEEP);
	close(snapshot);
	check_new_window(fd, 0);
	close(fd);
}
