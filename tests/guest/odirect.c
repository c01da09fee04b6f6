// SPDX-License-Identifier: GPL-2.0-only
/* O_DIRECT between windows and disks: an NVMe VF, and a function with ATS. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "disk.h"
#include "harness.h"
#include "memory.h"

#define SIZE	(512 * KIB)
#define AT	(5 * GRANULE + 4096)	/* in the aperture */
#define PLACE	(20 * MIB)		/* on the disk */

#define WHOLE(call)							\
	do {								\
		ssize_t done_ = (call);					\
									\
		CHECK_OK(done_);					\
		CHECK_EQ(done_, SIZE);					\
	} while (0)

/* One granule's worth of window with AT inside. */
static char *window_at(int fd)
{
	return window_map(fd, 5 * GRANULE, GRANULE) + 4096;
}

static void check_disk_to_window(const char *variable)
{
	int disk = disk_open(variable), fd = aperture_open();
	char *plain = plain_memory(SIZE), *target = window_at(fd);

	pattern_fill(plain, SIZE, 71);
	WHOLE(pwrite(disk, plain, SIZE, PLACE));
	memset(target - 4096, 0xee, SIZE + 8192);
	WHOLE(pread(disk, target, SIZE, PLACE));
	CHECK(owner_is(AT, plain, SIZE));
	CHECK_EQ((unsigned char)target[-1], 0xee);
	CHECK_EQ((unsigned char)target[SIZE], 0xee);
	close(fd);
	close(disk);
}

static void check_window_to_disk(const char *variable)
{
	int disk = disk_open(variable), fd = aperture_open();
	char *plain = plain_memory(SIZE), *source = window_at(fd);

	pattern_fill(plain, SIZE, 72);
	WHOLE(pwrite(disk, plain, SIZE, PLACE));
	CHECK_EQ(signal_of_read(source), 0);
	pattern_fill(plain, SIZE, 73);
	owner_write(AT, plain, SIZE);
	WHOLE(pwrite(disk, source, SIZE, PLACE));
	memset(plain, 0, SIZE);
	WHOLE(pread(disk, plain, SIZE, PLACE));
	CHECK(pattern_is(plain, SIZE, 73));
	close(fd);
	close(disk);
}

TEST(nvme_to_window, 30)
{
	check_disk_to_window("VPEER_NVME_DISK");
}

TEST(window_to_nvme, 30)
{
	check_window_to_disk("VPEER_NVME_DISK");
}

TEST(ats_disk_to_window, 30)
{
	check_disk_to_window("VPEER_ATS_DISK");
}

TEST(window_to_ats_disk, 30)
{
	check_window_to_disk("VPEER_ATS_DISK");
}

static void check_revoked(const char *variable)
{
	int disk = disk_open(variable), fd = aperture_open();
	char *plain = plain_memory(SIZE), *target = window_at(fd), *seen;

	pattern_fill(plain, SIZE, 74);
	WHOLE(pwrite(disk, plain, SIZE, PLACE));
	memset(target, 0xee, SIZE);
	CHECK_EQ(pread(disk, target, 4096, PLACE), 4096);
	CHECK_OK(window_revoke(fd, 5 * GRANULE, 0, NULL));
	CHECK_ERRNO(pread(disk, target, SIZE, PLACE), EFAULT);
	CHECK_ERRNO(pwrite(disk, target, SIZE, PLACE), EFAULT);

	seen = plain_memory(SIZE);
	owner_read(AT + 4096, seen, SIZE - 4096);
	for (size_t i = 0; i < SIZE - 4096; i++)
		CHECK_EQ((unsigned char)seen[i], 0xee);
	WHOLE(pread(disk, seen, SIZE, PLACE));
	CHECK(pattern_is(seen, SIZE, 74));
	close(fd);
	close(disk);
}

TEST(revoked_window_and_nvme, 30)
{
	check_revoked("VPEER_NVME_DISK");
}

TEST(revoked_window_and_ats_disk, 30)
{
	check_revoked("VPEER_ATS_DISK");
}

/* Two windows of one aperture: from one to the disk, from there to the other. */
TEST(by_way_of_the_disk, 30)
{
	int disk = disk_open("VPEER_NVME_DISK"), fd = aperture_open();
	char *from, *to;

	from = window_map(fd, 0, GRANULE);
	to = window_map(fd, 8 * GRANULE, GRANULE);
	pattern_fill(from, GRANULE, 75);
	memset(to, 0, GRANULE);
	CHECK_EQ(pwrite(disk, from, GRANULE, PLACE), GRANULE);
	CHECK_EQ(pread(disk, to, GRANULE, PLACE), GRANULE);
	CHECK(owner_is(8 * GRANULE, from, GRANULE));
	close(fd);
	close(disk);
}
