// SPDX-License-Identifier: GPL-2.0-only
/* Asynchronous O_DIRECT in flight when windows are revoked, freed, or their process is killed. */
#include <linux/aio_abi.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "disk.h"
#include "harness.h"
#include "memory.h"

#define DEPTH	8U
#define LATE	DEPTH	/* slot of a request that is to fail */
#define SIZE	(256 * KIB)
#define PLACE	(16 * MIB)	/* on the disk */

/* Requests on neighbouring parts of one granule. */
struct queue {
	aio_context_t context;
	struct iocb iocbs[DEPTH + 1];
	int disk;
	char *at;
};

static void queue_make(struct queue *q, const char *disk, char *at)
{
	memset(q, 0, sizeof(*q));
	q->disk = disk_open(disk);
	q->at = at;
	CHECK_OK(syscall(SYS_io_setup, DEPTH + 1, &q->context));
}

static void queue_end(struct queue *q)
{
	CHECK_OK(syscall(SYS_io_destroy, q->context));
	close(q->disk);
}

static void submit(struct queue *q, unsigned int slot, bool write)
{
	struct iocb *iocb = &q->iocbs[slot];

	*iocb = (struct iocb){
		.aio_data = slot,
		.aio_lio_opcode = write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
		.aio_fildes = q->disk,
		.aio_buf = (uintptr_t)(q->at + slot % DEPTH * SIZE),
		.aio_nbytes = SIZE,
		.aio_offset = PLACE + slot * SIZE,
	};
	CHECK_EQ(syscall(SYS_io_submit, q->context, 1, &iocb), 1);
}

static struct io_event complete(struct queue *q)
{
	struct io_event event;

	CHECK_EQ(syscall(SYS_io_getevents, q->context, 1, 1, &event, NULL), 1);
	return event;
}

static void fill_disk(const char *disk, uint64_t seed)
{
	char *plain = plain_memory(DEPTH * SIZE);
	int fd = disk_open(disk);

	pattern_fill(plain, DEPTH * SIZE, seed);
	CHECK_EQ(pwrite(fd, plain, DEPTH * SIZE, PLACE), DEPTH * SIZE);
	munmap(plain, DEPTH * SIZE);
	close(fd);
}

/*
 * What was submitted before a revoke completes into memory that is no one
 * else's; what comes after is refused; then nothing is held.
 */
static void check_revoked(const char *disk)
{
	int fd = aperture_open();
	char *plain = plain_memory(DEPTH * SIZE);
	struct queue q;
	uint64_t pinned;
	char *at;

	fill_disk(disk, 181);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	at = window_map(fd, 0, GRANULE);
	queue_make(&q, disk, at);
	memset(at, 0xee, GRANULE);
	for (unsigned int slot = 0; slot < DEPTH; slot++)
		submit(&q, slot, false);
	window_revoke(fd, 0, 0, &pinned);
	CHECK(pinned <= DEPTH * SIZE);
	submit(&q, LATE, false);
	for (unsigned int i = 0; i <= DEPTH; i++) {
		struct io_event event = complete(&q);

		CHECK_EQ(event.res, event.data == LATE ? -EFAULT : (int64_t)SIZE);
	}
	CHECK_OK(window_revoke(fd, 0, 0, &pinned));
	CHECK_EQ(pinned, 0);
	owner_read(0, plain, DEPTH * SIZE);
	CHECK(pattern_is(plain, DEPTH * SIZE, 181));
	queue_end(&q);
	close(fd);
}

TEST(revoked_nvme, 30)
{
	check_revoked("VPEER_NVME_DISK");
}

TEST(revoked_ats_disk, 30)
{
	check_revoked("VPEER_ATS_DISK");
}

static _Noreturn void keep_going(const char *disk, int ready)
{
	char *at = window_map(aperture_open(), 0, GRANULE);
	struct queue q;

	queue_make(&q, disk, at);
	for (unsigned int slot = 0; slot < DEPTH; slot++)
		submit(&q, slot, slot & 1);
	CHECK_EQ(write(ready, "", 1), 1);
	for (;;) {
		struct io_event event = complete(&q);

		CHECK_EQ(event.res, SIZE);
		submit(&q, event.data, event.data & 1);
	}
}

static void check_killed(const char *disk)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK_OK(pipe(ready));
	for (unsigned int round = 0; round < 6; round++) {
		pid = test_fork();
		if (!pid)
			keep_going(disk, ready[1]);
		CHECK_EQ(read(ready[0], &byte, 1), 1);
		test_sleep_ms(round * 7);
		CHECK_OK(kill(pid, SIGKILL));
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		CHECK_WITHIN(aperture_all_free(), 5000);
	}
}

TEST(killed_nvme, 60)
{
	check_killed("VPEER_NVME_DISK");
}

TEST(killed_ats_disk, 60)
{
	check_killed("VPEER_ATS_DISK");
}

/* The next owner's memory is never what a dead process' request still writes to. */
TEST(next_owner_is_untouched, 60)
{
	int ready[2], fd = aperture_open();
	char byte, *mapped;
	pid_t pid;

	fill_disk("VPEER_NVME_DISK", 182);
	CHECK_OK(pipe(ready));
	for (unsigned int round = 0; round < 4; round++) {
		pid = test_fork();
		if (!pid)
			keep_going("VPEER_NVME_DISK", ready[1]);
		CHECK_EQ(read(ready[0], &byte, 1), 1);
		CHECK_OK(kill(pid, SIGKILL));
		CHECK_WITHIN(!window_alloc_at(fd, 0, GRANULE, NULL), 5000);
		mapped = window_map(fd, 0, GRANULE);
		CHECK(all_zero(mapped, GRANULE));
		test_sleep_ms(50);
		CHECK(all_zero(mapped, GRANULE));
		CHECK_OK(window_free(fd, 0));
		munmap(mapped, GRANULE);
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
	}
	close(fd);
}
