// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locked memory. The kernel parks pages that it locks and unlocks in batches,
 * one per CPU, with a reference each. Pages of a window must not get there:
 * the window would look pinned for as long as the batch does not fill up.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "user.h"

#define PAGE	4096ULL
#define BATCH	31	/* of the kernel, at most */

static void touch_pages(char *mapped, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += PAGE)
		mapped[at] = 1;
}

static void lock_and_unlock(int fd, uint64_t offset, uint64_t size)
{
	char *mapped = window_map(fd, offset, size);

	CHECK_OK(mlock(mapped, size));
	touch_pages(mapped, size);
	CHECK_OK(munlock(mapped, size));
	munmap(mapped, size);
	CHECK(aperture_all_free());
}

/* Whatever number of pages a batch would be left with. */
TEST(every_remainder_of_a_batch, 20)
{
	int fd = aperture_open();

	for (unsigned int pages = 1; pages <= BATCH + 1; pages++)
		lock_and_unlock(fd, PAGE, pages * PAGE);
	lock_and_unlock(fd, PAGE, MIB);
	lock_and_unlock(fd, 0, 2 * GRANULE);
	close(fd);
}

/* The check above does see one page's reference, here that of a pipe. */
TEST(one_reference_is_seen, 20)
{
	int fd = aperture_open(), ends[2];
	char *mapped = window_map(fd, PAGE, MIB);
	struct iovec iov = { mapped + 8 * PAGE, PAGE };

	touch_pages(mapped, MIB);
	CHECK_OK(pipe(ends));
	CHECK_EQ(vmsplice(ends[1], &iov, 1, 0), PAGE);
	munmap(mapped, MIB);
	CHECK(!aperture_all_free());
	close(ends[0]);
	close(ends[1]);
	CHECK_WITHIN(aperture_all_free(), 5000);
	close(fd);
}

TEST(locked_on_fault, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, PAGE, MIB);

	CHECK_OK(mlock2(mapped, MIB, MLOCK_ONFAULT));
	touch_pages(mapped, MIB);
	munmap(mapped, MIB);
	CHECK(aperture_all_free());
	mapped = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_LOCKED, fd, PAGE);
	CHECK_OK((long)mapped);
	touch_pages(mapped, MIB);
	munmap(mapped, MIB);
	CHECK(aperture_all_free());
	close(fd);
}

/* As RDMA programs do: everything locked, then registered. */
TEST(registered_under_mlockall, 20)
{
	int fd = aperture_open();
	struct ibv_mr *mr;
	struct rdma r;
	char *mapped;

	CHECK_OK(mlockall(MCL_CURRENT | MCL_FUTURE));
	rdma_open(&r);
	mapped = window_map(fd, PAGE, MIB);
	touch_pages(mapped, MIB);
	mr = rdma_reg(&r, mapped, MIB);
	CHECK_EQ(aperture_stat("bytes_pinned"), MIB);
	CHECK_OK(munlockall());
	CHECK_EQ(aperture_stat("bytes_pinned"), MIB);
	munmap(mapped, MIB);
	CHECK(!aperture_all_free());
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_WITHIN(aperture_all_free(), 5000);
	rdma_close(&r);
	close(fd);
}

TEST(killed_while_locked, 20)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK_OK(pipe(ready));
	pid = test_fork();
	if (!pid) {
		CHECK_OK(mlockall(MCL_CURRENT | MCL_FUTURE));
		touch_pages(window_map(aperture_open(), PAGE, MIB), MIB);
		CHECK_EQ(write(ready[1], "", 1), 1);
		for (;;)
			pause();
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK(aperture_all_free());
}

static void register_as_member(void *unused)
{
	struct rlimit limit = { MIB, MIB };
	struct ibv_mr *mr;
	struct rdma r;
	char *mapped;

	(void)unused;
	rdma_open(&r);
	CHECK_OK(setrlimit(RLIMIT_MEMLOCK, &limit));
	become_member();
	mapped = window_map(aperture_open(), 0, GRANULE);
	CHECK(!ibv_reg_mr(r.pd, mapped, GRANULE, RDMA_ACCESS));
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(aperture_stat("bytes_pinned"), 0);
	mr = rdma_reg(&r, mapped, MIB / 2);
	CHECK_EQ(aperture_stat("bytes_pinned"), MIB / 2);
	CHECK(!ibv_reg_mr(r.pd, mapped + MIB, MIB, RDMA_ACCESS));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = rdma_reg(&r, mapped + MIB, MIB / 2);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* Registrations count against the user's limit, as for any memory. */
TEST(limit_of_locked_memory, 20)
{
	test_in_child(register_as_member, NULL);
}
