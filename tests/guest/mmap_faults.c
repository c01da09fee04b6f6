// SPDX-License-Identifier: GPL-2.0-only
/* 2 MiB and 4 KiB faults, told by the counters. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"

/* A mapping whose address is @skew past a 2 MiB boundary. */
static char *map_skewed(int fd, uint64_t offset, uint64_t size, uint64_t skew)
{
	char *space = mmap(NULL, size + 2 * GRANULE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *place, *mapped;

	CHECK_OK((long)space);
	place = (char *)(((uintptr_t)space + GRANULE - 1) & ~(GRANULE - 1)) + skew;
	mapped = mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		      fd, offset);
	CHECK_OK((long)mapped);
	return mapped;
}

static void touch(volatile char *mapped, uint64_t size)
{
	for (uint64_t i = 0; i < size; i += 4096)
		mapped[i] = 1;
}

TEST(aligned_mapping_is_huge, 10)
{
	uint64_t huge = aperture_stat("faults_2m"), small = aperture_stat("faults_4k");
	int fd = aperture_open();
	char *mapped = map_skewed(fd, 0, 4 * GRANULE, 0);

	touch(mapped, 4 * GRANULE);
	CHECK_EQ(aperture_stat("faults_2m") - huge, 4);
	CHECK_EQ(aperture_stat("faults_4k") - small, 0);
	close(fd);
}

TEST(kernel_chooses_aligned_place, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, 8 * GRANULE);

	CHECK_EQ((uintptr_t)mapped % GRANULE, 0);
	close(fd);
}

TEST(skewed_mapping_is_small, 10)
{
	uint64_t huge = aperture_stat("faults_2m"), small = aperture_stat("faults_4k");
	int fd = aperture_open();
	char *mapped = map_skewed(fd, 0, GRANULE, 4096);

	touch(mapped, GRANULE);
	CHECK_EQ(aperture_stat("faults_2m") - huge, 0);
	CHECK_EQ(aperture_stat("faults_4k") - small, GRANULE / 4096);
	close(fd);
}

/* Less than 2 MiB of the granule is mapped at either end. */
TEST(ends_are_small, 10)
{
	uint64_t huge = aperture_stat("faults_2m"), small = aperture_stat("faults_4k");
	int fd = aperture_open();
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, 4 * GRANULE, NULL));
	mapped = map_skewed(fd, 4096, 2 * GRANULE, 4096);
	touch(mapped, 2 * GRANULE);
	CHECK_EQ(aperture_stat("faults_2m") - huge, 1);
	CHECK_EQ(aperture_stat("faults_4k") - small, GRANULE / 4096);
	close(fd);
}

TEST(both_sizes_reach_the_same_bytes, 10)
{
	int fd = aperture_open();
	char *huge, *small;

	CHECK_OK(window_alloc_at(fd, 2 * GRANULE, GRANULE, NULL));
	huge = map_skewed(fd, 2 * GRANULE, GRANULE, 0);
	small = map_skewed(fd, 2 * GRANULE, GRANULE, 8192);
	pattern_fill(huge, GRANULE, 21);
	CHECK(pattern_is(small, GRANULE, 21));
	CHECK(owner_is(2 * GRANULE, small, GRANULE));
	pattern_fill(small, GRANULE, 22);
	CHECK(pattern_is(huge, GRANULE, 22));
	close(fd);
}

TEST(nothing_around_is_mapped, 10)
{
	int fd = aperture_open();
	char *mapped = map_skewed(fd, GRANULE, GRANULE, 0);

	touch(mapped, GRANULE);
	CHECK_EQ(signal_of_read(mapped + GRANULE), SIGSEGV);
	CHECK_EQ(signal_of_read(mapped - 1), SIGSEGV);
	close(fd);
}
