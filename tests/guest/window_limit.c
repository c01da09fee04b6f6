// SPDX-License-Identifier: GPL-2.0-only
/* max_bytes_per_user */
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "user.h"

/* Restores "no limit" however the case ends. */
static void limited(uint64_t limit, void (*run)(void *context))
{
	pid_t pid;

	module_parameter("max_bytes_per_user", limit);
	pid = test_fork();
	if (!pid) {
		run(NULL);
		_exit(0);
	}
	test_join(pid);
	module_parameter("max_bytes_per_user", 0);
}

static void fill_limit(void *unused)
{
	struct vpeer_query query = { .argsz = sizeof(query) };
	uint32_t reason;
	int first, second;

	(void)unused;
	become_member();
	first = aperture_open();
	second = aperture_open();
	CHECK_OK(ioctl(first, VPEER_IOCTL_QUERY, &query));
	CHECK_EQ(query.max_bytes_per_user, 4 * GRANULE);

	CHECK_ERRNO(window_alloc_at(first, 0, 5 * GRANULE, &reason), EDQUOT);
	CHECK_EQ(reason, VPEER_REASON_USER_LIMIT);
	CHECK_OK(window_alloc_at(first, 0, 3 * GRANULE, NULL));
	CHECK_ERRNO(window_alloc_at(second, 4 * GRANULE, 2 * GRANULE, &reason), EDQUOT);
	CHECK_OK(window_alloc_at(second, 4 * GRANULE, GRANULE, NULL));
	CHECK_ERRNO(window_alloc_at(first, 6 * GRANULE, 1, &reason), EDQUOT);
	CHECK_OK(window_free(first, 0));
	CHECK_OK(window_alloc_at(first, 6 * GRANULE, 3 * GRANULE, NULL));
}

TEST(counts_all_files_of_a_user, 10)
{
	limited(4 * GRANULE, fill_limit);
}

static void fill_by_mmap(void *unused)
{
	int fd;

	(void)unused;
	become_member();
	fd = aperture_open();
	CHECK_ERRNO((long)mmap(NULL, 2 * GRANULE, PROT_READ, MAP_SHARED, fd, 0), EDQUOT);
	CHECK_OK((long)mmap(NULL, GRANULE, PROT_READ, MAP_SHARED, fd, 0));
}

TEST(implicit_windows_count, 10)
{
	limited(GRANULE, fill_by_mmap);
}

static void take_as_member(void *unused)
{
	(void)unused;
	become_member();
	CHECK_OK(window_alloc_at(aperture_open(), 0, 2 * GRANULE, NULL));
}

static void two_users(void *unused)
{
	int fd = aperture_open();
	uint32_t reason;

	(void)unused;
	CHECK_OK(window_alloc_at(fd, 8 * GRANULE, 2 * GRANULE, NULL));
	CHECK_ERRNO(window_alloc_at(fd, 12 * GRANULE, GRANULE, &reason), EDQUOT);
	test_in_child(take_as_member, NULL);
}

TEST(users_are_separate, 10)
{
	limited(2 * GRANULE, two_users);
}

/* Lowered below what is held: nothing more, but nothing is taken away. */
TEST(lowered_limit, 10)
{
	int fd = aperture_open();
	uint32_t reason;

	CHECK_OK(window_alloc_at(fd, 0, 4 * GRANULE, NULL));
	module_parameter("max_bytes_per_user", GRANULE);
	int ret = window_alloc_at(fd, 4 * GRANULE, 1, &reason);
	int error = errno;

	module_parameter("max_bytes_per_user", 0);
	CHECK_EQ(ret, -1);
	CHECK_EQ(error, EDQUOT);
	CHECK_EQ(window_info(fd, 0).size, 4 * GRANULE);
	CHECK_OK(window_alloc_at(fd, 4 * GRANULE, 1, NULL));
	close(fd);
}
