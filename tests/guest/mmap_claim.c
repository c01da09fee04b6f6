// SPDX-License-Identifier: GPL-2.0-only
/* A plain mmap() claims what no one owns. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"

static void *try_map(int fd, uint64_t offset, uint64_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

TEST(claims_whole_granules, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, GRANULE + 8192, 4096);
	struct vpeer_window_info info = window_info(fd, GRANULE);

	CHECK_EQ(info.offset, GRANULE);
	CHECK_EQ(info.size, GRANULE);
	CHECK_EQ(info.implicit, 1);
	CHECK_EQ(info.mappings, 1);
	munmap(mapped, 4096);
	close(fd);
}

TEST(reaches_the_memory, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 4 * GRANULE, 2 * GRANULE);
	char bytes[4096];

	pattern_fill(bytes, sizeof(bytes), 1);
	memcpy(mapped + GRANULE - 2048, bytes, sizeof(bytes));
	CHECK(owner_is(5 * GRANULE - 2048, bytes, sizeof(bytes)));
	pattern_fill(bytes, sizeof(bytes), 2);
	CHECK(!owner_is(5 * GRANULE - 2048, bytes, sizeof(bytes)));
	owner_write(5 * GRANULE, bytes, sizeof(bytes));
	CHECK(pattern_is(mapped + GRANULE, sizeof(bytes), 2));
	munmap(mapped, 2 * GRANULE);
	close(fd);
}

TEST(other_opener_is_refused, 10)
{
	int fd = aperture_open(), other = aperture_open();
	char *mapped = window_map(fd, 0, 4096);

	CHECK_ERRNO((long)try_map(other, 0, 4096), EBUSY);
	CHECK_ERRNO((long)try_map(other, GRANULE - 4096, 4096), EBUSY);
	CHECK_OK((long)try_map(other, GRANULE, 4096));
	munmap(mapped, 4096);
	close(other);
	close(fd);
}

TEST(range_partly_owned, 10)
{
	int fd = aperture_open(), other = aperture_open();

	CHECK_OK(window_alloc_at(fd, 2 * GRANULE, GRANULE, NULL));
	CHECK_ERRNO((long)try_map(other, GRANULE, 2 * GRANULE), EBUSY);
	CHECK_ERRNO((long)try_map(fd, GRANULE, 2 * GRANULE), EBUSY);
	CHECK_ERRNO((long)try_map(fd, 2 * GRANULE, 2 * GRANULE), EBUSY);
	CHECK_OK((long)try_map(fd, 2 * GRANULE, GRANULE));
	close(other);
	close(fd);
}

TEST(same_file_maps_again, 10)
{
	int fd = aperture_open();
	char *first = window_map(fd, 0, GRANULE), *second = window_map(fd, 4096, 4096);

	first[4096] = 17;
	CHECK_EQ(second[0], 17);
	CHECK_EQ(window_info(fd, 0).mappings, 2);
	CHECK_EQ(aperture_stat("windows"), 1);
	munmap(first, GRANULE);
	CHECK_EQ(second[0], 17);
	munmap(second, 4096);
	close(fd);
}

TEST(ends_with_the_last_mapping, 10)
{
	int fd = aperture_open();
	char *first = window_map(fd, 0, GRANULE), *second = window_map(fd, 0, 4096);
	uint64_t size = aperture_stat("size");

	munmap(first, GRANULE);
	CHECK_EQ(aperture_stat("bytes_free"), size - GRANULE);
	munmap(second, 4096);
	CHECK_EQ(aperture_stat("bytes_free"), size);
	CHECK_EQ(aperture_stat("windows"), 0);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	close(fd);
}

/* An explicit window does not end with its mappings. */
TEST(explicit_window_stays, 10)
{
	int fd = aperture_open(), other = aperture_open();
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	mapped[9] = 9;
	munmap(mapped, GRANULE);
	CHECK_ERRNO((long)try_map(other, 0, 4096), EBUSY);
	mapped = window_map(fd, 0, GRANULE);
	CHECK_EQ(mapped[9], 9);
	munmap(mapped, GRANULE);
	close(other);
	close(fd);
}

TEST(outlives_the_descriptor, 10)
{
	int fd = aperture_open(), other = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);

	close(fd);
	mapped[77] = 7;
	CHECK_EQ(mapped[77], 7);
	CHECK_ERRNO((long)try_map(other, 0, 4096), EBUSY);
	munmap(mapped, GRANULE);
	CHECK_OK((long)try_map(other, 0, 4096));
	close(other);
}

TEST(partial_munmap, 10)
{
	int fd = aperture_open(), other = aperture_open();
	char *mapped = window_map(fd, 0, 2 * GRANULE);

	mapped[GRANULE] = 3;
	mapped[0] = 4;
	CHECK_OK(munmap(mapped + 4096, 4096));
	CHECK_EQ(signal_of_read(mapped + 4096), SIGSEGV);
	CHECK_EQ(mapped[0], 4);
	CHECK_EQ(mapped[GRANULE], 3);
	CHECK_EQ(window_info(fd, 0).mappings, 2);
	CHECK_OK(munmap(mapped + GRANULE, GRANULE));
	CHECK_ERRNO((long)try_map(other, GRANULE, 4096), EBUSY);
	CHECK_OK(munmap(mapped, GRANULE));
	CHECK_OK((long)try_map(other, GRANULE, 4096));
	close(other);
	close(fd);
}

/* A hole cut into a 2 MiB mapping that is in use. */
TEST(hole_in_huge_mapping, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	char bytes[4096];

	pattern_fill(bytes, sizeof(bytes), 5);
	memcpy(mapped, bytes, sizeof(bytes));
	memcpy(mapped + GRANULE - 4096, bytes, sizeof(bytes));
	CHECK_OK(munmap(mapped + MIB, 64 * KIB));
	CHECK_EQ(signal_of_read(mapped + MIB), SIGSEGV);
	CHECK(pattern_is(mapped, sizeof(bytes), 5));
	CHECK(pattern_is(mapped + GRANULE - 4096, sizeof(bytes), 5));
	munmap(mapped, GRANULE);
	close(fd);
}
