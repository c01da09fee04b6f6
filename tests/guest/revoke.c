// SPDX-License-Identifier: GPL-2.0-only
/* Revocation of windows by their owner. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

TEST(unpinned, 10)
{
	int fd = aperture_open();
	uint64_t pinned = 77;
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	mapped = window_map(fd, 0, 2 * GRANULE);
	mapped[0] = 1;
	mapped[GRANULE] = 1;
	CHECK_OK(window_revoke(fd, 0, 0, &pinned));
	CHECK_EQ(pinned, 0);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK_EQ(signal_of_write(mapped + GRANULE), SIGBUS);
	CHECK_EQ(signal_of_read(mapped + 4096), SIGBUS);
	CHECK_EQ(window_info(fd, 0).state, VPEER_WINDOW_REVOKED);
	close(fd);
}

TEST(others_are_untouched, 10)
{
	int fd = aperture_open();
	char *kept, *revoked;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_alloc_at(fd, GRANULE, GRANULE, NULL));
	revoked = window_map(fd, 0, GRANULE);
	kept = window_map(fd, GRANULE, GRANULE);
	kept[0] = 7;
	revoked[0] = 7;
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK_EQ(kept[0], 7);
	CHECK_EQ(signal_of_read(revoked), SIGBUS);
	close(fd);
}

/* Its owner's until freed: neither mapped again nor given to others. */
TEST(stays_until_freed, 10)
{
	int fd = aperture_open(), other = aperture_open();
	uint32_t reason;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), ENODEV);
	CHECK_ERRNO(window_alloc_at(other, 0, GRANULE, &reason), EBUSY);
	CHECK_OK(window_free(fd, 0));
	CHECK_OK(window_alloc_at(other, 0, GRANULE, NULL));
	close(other);
	close(fd);
}

TEST(reaches_children, 10)
{
	int fd = aperture_open(), gate[2];
	char *mapped = window_map(fd, 0, GRANULE), byte;
	pid_t pid;

	mapped[0] = 1;
	CHECK_OK(pipe(gate));
	pid = test_fork();
	if (!pid) {
		close(gate[1]);
		CHECK_EQ(mapped[0], 1);
		CHECK_EQ(read(gate[0], &byte, 1), 0);
		CHECK_EQ(signal_of_read(mapped), SIGBUS);
		_exit(0);
	}
	test_sleep_ms(100);
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	close(gate[1]);
	test_join(pid);
	close(fd);
}

TEST(implicit_window, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, GRANULE, GRANULE);

	mapped[0] = 1;
	CHECK_OK(window_revoke(fd, GRANULE, 0, NULL));
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	munmap(mapped, GRANULE);
	CHECK_EQ(aperture_stat("windows"), 0);
	close(fd);
}

TEST(pinned, 30)
{
	struct vpeer_window_op arg = { .argsz = sizeof(arg), .timeout_ms = 100 };
	int fd = aperture_open();
	char *mapped;
	struct ibv_mr *mr;
	struct rdma r;

	rdma_open(&r);
	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	mapped = window_map(fd, 0, 2 * GRANULE);
	mr = rdma_reg(&r, mapped, GRANULE);
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_REVOKE, &arg, EINPROGRESS,
		      VPEER_REASON_PINNED);
	CHECK_EQ(arg.pinned_bytes, GRANULE);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);

	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_OK(ioctl(fd, VPEER_IOCTL_WINDOW_REVOKE, &arg));
	CHECK_EQ(arg.pinned_bytes, 0);
	CHECK_EQ(arg.reason, VPEER_REASON_NONE);
	close(fd);
	rdma_close(&r);
}

TEST(wait_is_bounded, 30)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	struct ibv_mr *mr;
	struct rdma r;
	int64_t start;

	rdma_open(&r);
	mr = rdma_reg(&r, mapped, GRANULE);
	start = test_now_ms();
	CHECK_ERRNO(window_revoke(fd, 0, UINT32_MAX, NULL), EINPROGRESS);
	CHECK(test_now_ms() - start >= 1500);
	CHECK(test_now_ms() - start < 8000);
	start = test_now_ms();
	CHECK_ERRNO(window_revoke(fd, 0, 0, NULL), EINPROGRESS);
	CHECK(test_now_ms() - start < 1500);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	close(fd);
	rdma_close(&r);
}

/* The wait ends as soon as the pin drops. */
TEST(pin_drops_meanwhile, 30)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	int64_t start;
	pid_t pid;
	int gate[2];
	char byte;

	CHECK_OK(pipe(gate));
	pid = test_fork();
	if (!pid) {
		struct ibv_mr *mr;
		struct rdma r;

		rdma_open(&r);
		mr = rdma_reg(&r, mapped, GRANULE);
		CHECK_EQ(write(gate[1], "", 1), 1);
		test_sleep_ms(500);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		rdma_close(&r);
		_exit(0);
	}
	CHECK_EQ(read(gate[0], &byte, 1), 1);
	start = test_now_ms();
	CHECK_OK(window_revoke(fd, 0, 2000, NULL));
	CHECK(test_now_ms() - start < 1900);
	test_join(pid);
	close(fd);
}

TEST(no_registration_afterwards, 20)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	struct ibv_mr *mr;
	struct rdma r;

	rdma_open(&r);
	mr = rdma_reg(&r, mapped, GRANULE);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK(!ibv_reg_mr(r.pd, mapped, GRANULE, RDMA_ACCESS));
	CHECK_EQ(errno, EFAULT);
	rdma_close(&r);
	close(fd);
}

/* Through process_vm_readv() and /proc/PID/mem, by root. */
static void check_peek(pid_t pid, char *remote, bool works)
{
	char byte = 0, path[64];
	struct iovec local = { &byte, 1 }, far = { remote, 1 };
	int fd;

	if (works) {
		CHECK_EQ(process_vm_readv(pid, &local, 1, &far, 1, 0), 1);
		CHECK_EQ(byte, 66);
	} else {
		CHECK_ERRNO(process_vm_readv(pid, &local, 1, &far, 1, 0), EFAULT);
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(fd);
	if (works)
		CHECK_EQ(pread(fd, &byte, 1, (off_t)(uintptr_t)remote), 1);
	else
		CHECK_ERRNO(pread(fd, &byte, 1, (off_t)(uintptr_t)remote), EIO);
	close(fd);
}

TEST(no_peeking_afterwards, 20)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	pid_t pid;

	mapped[0] = 66;
	pid = test_fork();
	if (!pid) {
		for (;;)
			pause();
	}
	check_peek(pid, mapped, true);
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	check_peek(pid, mapped, false);
	CHECK_OK(kill(pid, SIGKILL));
	close(fd);
}
