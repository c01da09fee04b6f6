// SPDX-License-Identifier: GPL-2.0-only
/* Core files hold nothing of a window, whatever their owner wants dumped. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#define PAGE	4096
#define PATTERN	"/proc/sys/kernel/core_pattern"
#define CORE	"/tmp/vpeer-core"
#define FILE_MAPPED "/tmp/vpeer-mapped"

/* What the pages of each kind of memory start with. */
enum { WINDOW = 121, ANONYMOUS, SHARED_FILE };

static void mark_pages(char *memory, uint64_t size, uint64_t seed)
{
	for (uint64_t at = 0; at < size; at += PAGE)
		pattern_fill(memory + at, PAGE, seed);
}

static void map_shared_file(void)
{
	int fd = open(FILE_MAPPED, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK_OK(fd);
	CHECK_OK(ftruncate(fd, PAGE));
	mark_pages(window_map(fd, 0, PAGE), PAGE, SHARED_FILE);
	close(fd);
}

static _Noreturn void crash(const char *filter, bool registered)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	char *mapped = window_map(aperture_open(), 0, 2 * GRANULE);
	struct rdma r;

	mark_pages(mapped, 2 * GRANULE, WINDOW);
	mark_pages(plain_memory(PAGE), PAGE, ANONYMOUS);
	map_shared_file();
	/* Also where 2 MiB entries were split. */
	CHECK_OK(mprotect(mapped + PAGE, PAGE, PROT_READ));
	madvise(mapped, 2 * GRANULE, MADV_DODUMP);
	if (registered) {
		rdma_open(&r);
		rdma_reg(&r, mapped + GRANULE, GRANULE);
	}
	CHECK(sysfs_write("/proc/self/coredump_filter", filter));
	CHECK_OK(setrlimit(RLIMIT_CORE, &limit));
	abort();
}

static bool core_has(uint64_t seed)
{
	int fd = open(CORE, O_RDONLY | O_CLOEXEC);
	uint64_t page[PAGE / sizeof(uint64_t)];
	struct stat stat;
	bool found;
	char *core;

	CHECK_OK(fd);
	CHECK_OK(fstat(fd, &stat));
	core = mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK_OK((long)core);
	pattern_fill(page, PAGE, seed);
	found = memmem(core, stat.st_size, page, 64);
	munmap(core, stat.st_size);
	close(fd);
	return found;
}

static void check_core(const char *filter, bool registered, bool shared_files)
{
	char before[256];
	int status;
	pid_t pid;

	CHECK(sysfs_read(PATTERN, before, sizeof(before)));
	unlink(CORE);
	CHECK(sysfs_write(PATTERN, CORE));
	pid = test_fork();
	if (!pid)
		crash(filter, registered);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(sysfs_write(PATTERN, before));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	CHECK(WCOREDUMP(status));
	CHECK(core_has(ANONYMOUS));
	CHECK_EQ(core_has(SHARED_FILE), shared_files);
	CHECK(!core_has(WINDOW));
	unlink(CORE);
	unlink(FILE_MAPPED);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

TEST(usual_filter, 30)
{
	check_core("0x33", false, false);
}

TEST(everything_dumped, 30)
{
	check_core("0xff", false, true);
}

TEST(registered, 30)
{
	check_core("0xff", true, true);
}
