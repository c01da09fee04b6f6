// SPDX-License-Identifier: GPL-2.0-only
/* Mappings that must not be made, and what must not be made of mappings. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define RW (PROT_READ | PROT_WRITE)

static void check_refused(uint64_t size, int prot, int flags, uint64_t offset, int error)
{
	int fd = aperture_open();

	CHECK_ERRNO((long)mmap(NULL, size, prot, flags, fd, offset), error);
	CHECK_EQ(aperture_stat("windows"), 0);
	close(fd);
}

TEST(beyond_end, 10)
{
	uint64_t size = aperture_stat("size");

	check_refused(4096, RW, MAP_SHARED, size, EINVAL);
	check_refused(8192, RW, MAP_SHARED, size - 4096, EINVAL);
	check_refused(size + 4096, RW, MAP_SHARED, 0, EINVAL);
	check_refused(4096, RW, MAP_SHARED, 1ULL << 40, EINVAL);
}

/* The kernel itself refuses sums beyond 2^64 with EOVERFLOW. */
TEST(offset_overflow, 10)
{
	check_refused(8192, RW, MAP_SHARED, -4096ULL, EOVERFLOW);
	check_refused(4096, RW, MAP_SHARED, 1ULL << 62, EINVAL);
	check_refused(GRANULE, RW, MAP_SHARED, (1ULL << 63) - GRANULE, EINVAL);
}

TEST(private, 10)
{
	check_refused(4096, RW, MAP_PRIVATE, 0, EINVAL);
	check_refused(4096, PROT_READ, MAP_PRIVATE, 0, EINVAL);
}

TEST(executable, 10)
{
	check_refused(4096, PROT_READ | PROT_EXEC, MAP_SHARED, 0, EPERM);
	check_refused(4096, RW | PROT_EXEC, MAP_SHARED, 0, EPERM);
}

TEST(executable_later, 10)
{
	int fd = aperture_open();
	void *mapped = window_map(fd, 0, GRANULE);

	CHECK_ERRNO(mprotect(mapped, 4096, PROT_READ | PROT_EXEC), EACCES);
	CHECK_OK(mprotect(mapped, 4096, PROT_READ));
	CHECK_EQ(signal_of_write(mapped), SIGSEGV);
	CHECK_OK(mprotect(mapped, 4096, RW));
	CHECK_EQ(signal_of_write(mapped), 0);
	munmap(mapped, GRANULE);
	close(fd);
}

TEST(write_through_read_only_descriptor, 10)
{
	int fd = open(aperture_node(), O_RDONLY | O_CLOEXEC);
	void *mapped;

	CHECK_OK(fd);
	CHECK_ERRNO((long)mmap(NULL, 4096, RW, MAP_SHARED, fd, 0), EACCES);
	mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK_OK((long)mapped);
	CHECK_EQ(signal_of_read(mapped), 0);
	CHECK_ERRNO(mprotect(mapped, 4096, RW), EACCES);
	munmap(mapped, 4096);
	close(fd);
}

/* A grown part would reach the neighbour's memory. */
TEST(mremap_grow, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);

	CHECK((long)mremap(mapped, GRANULE, 2 * GRANULE, MREMAP_MAYMOVE) == -1);
	CHECK(errno == EFAULT || errno == ENOMEM);
	CHECK((long)mremap(mapped, GRANULE, 2 * GRANULE, 0) == -1);
	munmap(mapped, GRANULE);
	close(fd);
}

TEST(mremap_move_and_shrink, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE), *moved;
	void *place = mmap(NULL, 2 * GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char bytes[4096];

	CHECK_OK((long)place);
	pattern_fill(bytes, sizeof(bytes), 11);
	memcpy(mapped + 4096, bytes, sizeof(bytes));
	moved = mremap(mapped, GRANULE, GRANULE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	CHECK_OK((long)moved);
	CHECK_EQ(signal_of_read(mapped), SIGSEGV);
	CHECK(pattern_is(moved + 4096, sizeof(bytes), 11));
	CHECK_EQ(window_info(fd, 0).mappings, 1);
	CHECK(mremap(moved, GRANULE, 8192, 0) == moved);
	CHECK(pattern_is(moved + 4096, sizeof(bytes), 11));
	CHECK_EQ(signal_of_read(moved + 8192), SIGSEGV);
	munmap(moved, 8192);
	close(fd);
}

/* remap_file_pages() must not reach beyond the window either. */
TEST(remap_file_pages, 10)
{
	int fd = aperture_open(), other = aperture_open();
	char *mapped, bytes[4096];

	CHECK_OK(window_alloc_at(other, GRANULE, GRANULE, NULL));
	mapped = window_map(other, GRANULE, GRANULE);
	pattern_fill(bytes, sizeof(bytes), 12);
	memcpy(mapped, bytes, sizeof(bytes));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	if (!syscall(SYS_remap_file_pages, mapped, 4096, 0, GRANULE / 4096, 0))
		CHECK(signal_of_read(mapped) || !pattern_is(mapped, 4096, 12));
	munmap(mapped, GRANULE);
	close(fd);
	close(other);
}

TEST(not_dumped, 10)
{
	int fd = aperture_open();
	void *mapped = window_map(fd, 0, GRANULE);

	CHECK(vma_has_flag(mapped, " dd"));
	CHECK(vma_has_flag(mapped, " de"));
	CHECK_ERRNO(madvise(mapped, GRANULE, MADV_DODUMP), EINVAL);
	munmap(mapped, GRANULE);
	close(fd);
}

TEST(advice, 10)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
		MADV_MERGEABLE, MADV_FREE, MADV_REMOVE, MADV_POPULATE_READ,
		MADV_POPULATE_WRITE, MADV_WIPEONFORK, MADV_COLLAPSE, MADV_WILLNEED,
	};
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	char bytes[4096];

	pattern_fill(bytes, sizeof(bytes), 13);
	memcpy(mapped, bytes, sizeof(bytes));
	for (size_t i = 0; i < ARRAY_SIZE(advice); i++) {
		madvise(mapped, GRANULE, advice[i]);
		CHECK(pattern_is(mapped, sizeof(bytes), 13));
		CHECK(owner_is(0, bytes, sizeof(bytes)));
	}
	munmap(mapped, GRANULE);
	close(fd);
}

/* mlock() must leave no references behind: the claim ends all the same. */
TEST(locked_memory, 10)
{
	int fd = aperture_open();
	char *mapped;

	CHECK_OK(mlockall(MCL_CURRENT | MCL_FUTURE));
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 1;
	mlock(mapped, GRANULE);
	munlock(mapped, GRANULE);
	munmap(mapped, GRANULE);
	CHECK_EQ(aperture_stat("bytes_free"), aperture_stat("size"));
	close(fd);
}
