// SPDX-License-Identifier: GPL-2.0-only
/* What DMA-bufs of windows keep, whom they are handed to, and when that ends. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "disk.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "passing.h"
#include "rdma.h"
#include "user.h"

#define PAGE	4096ULL
#define PLACE	(24 * MIB)	/* on the disk */

static void check_held(uint64_t bytes, unsigned int windows)
{
	CHECK_EQ(aperture_stat("windows"), windows);
	CHECK_EQ(aperture_stat("bytes_free"), aperture_stat("size") - bytes);
}

TEST(outlives_the_open_file, 20)
{
	int fd = aperture_open(), other = aperture_open(), dmabuf;
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	dmabuf = dmabuf_export(fd, GRANULE, GRANULE);
	close(fd);
	check_held(2 * GRANULE, 1);
	CHECK_ERRNO(window_alloc_at(other, 0, GRANULE, NULL), EBUSY);
	mapped = dmabuf_map(dmabuf, 0, GRANULE);
	pattern_fill(mapped, GRANULE, 301);
	CHECK(owner_is(GRANULE, mapped, GRANULE));
	munmap(mapped, GRANULE);
	close(dmabuf);
	CHECK_WITHIN(aperture_all_free(), 5000);
	check_held(0, 0);
	CHECK_OK(window_alloc_at(other, 0, 2 * GRANULE, NULL));
	CHECK(all_zero(window_map(other, 0, 2 * GRANULE), 2 * GRANULE));
	close(other);
}

/* Both descriptors are closed, a mapping remains. */
TEST(mapping_outlives_the_descriptor, 20)
{
	int fd = aperture_open(), dmabuf;
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, 0, GRANULE);
	mapped = dmabuf_map(dmabuf, PAGE, PAGE);
	close(fd);
	close(dmabuf);
	check_held(GRANULE, 1);
	pattern_fill(mapped, PAGE, 302);
	CHECK(owner_is(PAGE, mapped, PAGE));
	munmap(mapped, PAGE);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

/* An explicit window is its file's as long as that is open. */
TEST(explicit_window_stays, 20)
{
	int fd = aperture_open(), dmabuf;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, 0, GRANULE);
	((char *)dmabuf_map(dmabuf, 0, GRANULE))[5] = 5;
	close(dmabuf);
	check_held(GRANULE, 1);
	CHECK_EQ(((char *)window_map(fd, 0, GRANULE))[5], 5);
	close(fd);
}

/* A claim by plain mmap() ends with the last mapping and DMA-buf. */
TEST(implicit_window, 20)
{
	int fd = aperture_open(), other = aperture_open(), dmabuf;
	char *mapped = window_map(fd, 0, 2 * GRANULE);

	pattern_fill(mapped, 2 * GRANULE, 303);
	dmabuf = dmabuf_export(fd, GRANULE, PAGE);
	munmap(mapped, 2 * GRANULE);
	check_held(2 * GRANULE, 1);
	CHECK_EQ(window_info(fd, 0).implicit, 1);
	CHECK_EQ(window_info(fd, 0).mappings, 0);
	CHECK_ERRNO(window_alloc_at(other, 0, GRANULE, NULL), EBUSY);
	mapped = window_map(fd, 0, 2 * GRANULE);
	CHECK(pattern_is(mapped, 2 * GRANULE, 303));
	CHECK(!memcmp(dmabuf_map(dmabuf, 0, PAGE), mapped + GRANULE, PAGE));
	munmap(mapped, 2 * GRANULE);
	close(dmabuf);
	check_held(2 * GRANULE, 1);
	close(other);
	close(fd);
}

TEST(implicit_window_ends, 20)
{
	int fd = aperture_open(), other = aperture_open(), dmabuf;
	char *mapped = window_map(fd, 0, GRANULE);

	dmabuf = dmabuf_export(fd, 0, PAGE);
	munmap(mapped, GRANULE);
	check_held(GRANULE, 1);
	close(dmabuf);
	CHECK_WITHIN(aperture_all_free(), 5000);
	check_held(0, 0);
	CHECK_OK(window_alloc_at(other, 0, GRANULE, NULL));
	close(other);
	close(fd);
}

TEST(implicit_window_revoked, 20)
{
	int fd = aperture_open(), dmabuf;
	char *mapped = window_map(fd, 0, GRANULE);

	dmabuf = dmabuf_export(fd, 0, PAGE);
	munmap(mapped, GRANULE);
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	dmabuf_check_dead(dmabuf);
	close(dmabuf);
	CHECK_WITHIN(aperture_all_free(), 5000);
	mapped = window_map(fd, 0, GRANULE);
	CHECK(all_zero(mapped, GRANULE));
	close(fd);
}

/* A freed window's DMA-buf reaches no one's memory, also not its next owner's. */
TEST(free_with_live_ones, 20)
{
	int fd = aperture_open(), other = aperture_open(), dmabuf;
	char *mapped, *theirs;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, 0, GRANULE);
	mapped = dmabuf_map(dmabuf, 0, GRANULE);
	pattern_fill(mapped, GRANULE, 304);
	CHECK_OK(window_free(fd, 0));
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	dmabuf_check_dead(dmabuf);
	check_held(0, 0);
	CHECK_OK(window_alloc_at(other, 0, GRANULE, NULL));
	theirs = window_map(other, 0, GRANULE);
	CHECK(all_zero(theirs, GRANULE));
	pattern_fill(theirs, GRANULE, 305);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK_EQ(signal_of_write(mapped), SIGBUS);
	dmabuf_check_dead(dmabuf);
	CHECK(pattern_is(theirs, GRANULE, 305));

	/* Its slot and offset are free again for its own owner as well. */
	CHECK_OK(window_free(other, 0));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_EQ(window_info(fd, 0).dmabufs, 0);
	dmabuf_check_dead(dmabuf);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	close(dmabuf);
	close(other);
	close(fd);
}

static void check_limit(int fd, bool reached)
{
	uint32_t reason;

	if (reached) {
		CHECK_ERRNO(window_alloc_at(fd, 8 * GRANULE, GRANULE, &reason), EDQUOT);
		CHECK_EQ(reason, VPEER_REASON_USER_LIMIT);
	} else {
		CHECK_OK(window_alloc_at(fd, 8 * GRANULE, GRANULE, NULL));
		CHECK_OK(window_free(fd, 8 * GRANULE));
	}
}

static void charge_as_member(void *unused)
{
	int fd, other, dmabuf;

	(void)unused;
	become_member();
	fd = aperture_open();
	other = aperture_open();
	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	dmabuf = dmabuf_export(fd, 0, PAGE);
	close(fd);
	check_limit(other, true);
	close(dmabuf);
	CHECK_WITHIN(aperture_all_free(), 5000);
	check_limit(other, false);
}

TEST(charged_until_the_end, 20)
{
	with_limit(2 * GRANULE, charge_as_member);
}

static void give_as_member(void *socket)
{
	int fd;

	become_member();
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	send_fd(*(int *)socket, dmabuf_export(fd, 0, PAGE));
}

static void check_limit_as_member(void *reached)
{
	become_member();
	check_limit(aperture_open(), *(bool *)reached);
}

/* Who holds it does not pay for it: its maker does, even when he is gone. */
static void charge_giver(void *unused)
{
	bool reached = true;
	int hand[2], dmabuf;

	(void)unused;
	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	test_in_child(give_as_member, &hand[0]);
	dmabuf = receive_fd(hand[1]);
	check_held(2 * GRANULE, 1);
	test_in_child(check_limit_as_member, &reached);
	check_limit(aperture_open(), false);
	close(dmabuf);
	CHECK_WITHIN(aperture_all_free(), 5000);
	reached = false;
	test_in_child(check_limit_as_member, &reached);
}

TEST(charged_to_the_giver, 20)
{
	with_limit(2 * GRANULE, charge_giver);
}

/* May not open the node itself; waits until the end, which must be SIGBUS. */
static void use_as_stranger(void *socket)
{
	char byte, *mapped;
	int dmabuf;

	become_stranger();
	dmabuf = receive_fd(*(int *)socket);
	mapped = dmabuf_map(dmabuf, 0, GRANULE);
	CHECK(pattern_is(mapped, GRANULE / 2, 306));
	pattern_fill(mapped + GRANULE / 2, GRANULE / 2, 307);
	CHECK_EQ(send(*(int *)socket, "", 1, 0), 1);
	CHECK_EQ(recv(*(int *)socket, &byte, 1, 0), 1);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK_EQ(signal_of_write(mapped + GRANULE / 2), SIGBUS);
	dmabuf_check_dead(dmabuf);
}

TEST(handed_over, 20)
{
	int hand[2], fd = aperture_open(), dmabuf;
	char *window, byte;
	pid_t pid;

	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	pid = test_fork();
	if (!pid) {
		close(fd);
		close(hand[0]);
		use_as_stranger(&hand[1]);
		_exit(0);
	}
	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	window = window_map(fd, 0, 2 * GRANULE);
	pattern_fill(window + GRANULE, GRANULE / 2, 306);
	dmabuf = dmabuf_export(fd, GRANULE, GRANULE);
	send_fd(hand[0], dmabuf);
	close(dmabuf);
	CHECK_EQ(recv(hand[0], &byte, 1, 0), 1);
	CHECK_EQ(window_info(fd, 0).mappings, 2);
	CHECK(pattern_is(window + GRANULE + GRANULE / 2, GRANULE / 2, 307));
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK_EQ(send(hand[0], "", 1, 0), 1);
	test_join(pid);
	CHECK_EQ(window_info(fd, 0).dmabufs, 0);
	close(fd);
}

static void give_filled(void *socket)
{
	int fd = aperture_open(), dmabuf;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, 0, GRANULE);
	pattern_fill(dmabuf_map(dmabuf, 0, GRANULE), GRANULE, 308);
	send_fd(*(int *)socket, dmabuf);
}

TEST(receiver_outlives_sender, 20)
{
	int hand[2], dmabuf;
	char *mapped;

	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	test_in_child(give_filled, &hand[0]);
	dmabuf = receive_fd(hand[1]);
	check_held(GRANULE, 1);
	mapped = dmabuf_map(dmabuf, 0, GRANULE);
	CHECK(pattern_is(mapped, GRANULE, 308));
	munmap(mapped, GRANULE);
	close(dmabuf);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

TEST(lost_in_flight, 20)
{
	int hand[2];

	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	test_in_child(give_filled, &hand[0]);
	check_held(GRANULE, 1);
	close(hand[0]);
	close(hand[1]);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

static _Noreturn void hold_and_wait(int ready)
{
	int fd = aperture_open(), dmabuf;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, 0, GRANULE);
	pattern_fill(dmabuf_map(dmabuf, 0, GRANULE), GRANULE, 309);
	CHECK_EQ(write(ready, "", 1), 1);
	for (;;)
		pause();
}

TEST(killed, 20)
{
	int ready[2], fd;
	pid_t pid;
	char byte;

	CHECK_OK(pipe(ready));
	pid = test_fork();
	if (!pid)
		hold_and_wait(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_WITHIN(aperture_all_free(), 5000);
	fd = aperture_open();
	CHECK(all_zero(window_map(fd, 0, GRANULE), GRANULE));
	close(fd);
}

/* As the window's own mapping: a disk's DMA. */
TEST(direct_io_by_its_mapping, 30)
{
	int fd = aperture_open(), disk = disk_open("VPEER_NVME_DISK"), dmabuf;
	char *plain = plain_memory(4 * PAGE), *mapped;

	pattern_fill(plain, 4 * PAGE, 310);
	CHECK_EQ(pwrite(disk, plain, 4 * PAGE, PLACE), 4 * PAGE);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, PAGE, 4 * PAGE);
	mapped = dmabuf_map(dmabuf, 0, 4 * PAGE);
	CHECK_EQ(pread(disk, mapped, 4 * PAGE, PLACE), 4 * PAGE);
	CHECK(owner_is(PAGE, plain, 4 * PAGE));
	CHECK_OK(window_revoke(fd, 0, 2000, NULL));
	CHECK_ERRNO(pread(disk, mapped, PAGE, PLACE), EFAULT);
	close(dmabuf);
	close(disk);
	close(fd);
}

/*
 * For RDMA a DMA-buf is registered itself, not its mapping, which kernels may
 * refuse to pin for long; where they do not, the pins are waited for.
 */
TEST(registered_by_its_mapping, 30)
{
	int fd = aperture_open(), dmabuf;
	uint64_t pinned;
	struct ibv_mr *mr;
	struct rdma r;
	char *mapped;

	rdma_open(&r);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, PAGE, 4 * PAGE);
	mapped = dmabuf_map(dmabuf, 0, 4 * PAGE);
	mr = ibv_reg_mr(r.pd, mapped, 4 * PAGE, RDMA_ACCESS);
	if (!mr) {
		CHECK_EQ(errno, EOPNOTSUPP);
		CHECK_EQ(window_info(fd, 0).pinned_bytes, 0);
	} else {
		CHECK_EQ(window_info(fd, 0).pinned_bytes, 4 * PAGE);
		CHECK_ERRNO(window_revoke(fd, 0, 0, &pinned), EINPROGRESS);
		CHECK_EQ(pinned, 4 * PAGE);
		CHECK_EQ(signal_of_read(mapped), SIGBUS);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	printf("%s\n", mr ? "pinned" : "refused");
	CHECK_OK(window_revoke(fd, 0, 0, &pinned));
	close(dmabuf);
	close(fd);
	rdma_close(&r);
}
