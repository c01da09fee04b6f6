// SPDX-License-Identifier: GPL-2.0-only
/* max_bytes_per_user */
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "passing.h"
#include "rdma.h"
#include "user.h"

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
	with_limit(4 * GRANULE, fill_limit);
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
	with_limit(GRANULE, fill_by_mmap);
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
	with_limit(2 * GRANULE, two_users);
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

/* Freed, but still in a device's reach: no one else can have it, so it counts. */
static void free_while_pinned(void *unused)
{
	struct ibv_mr *mr;
	struct rdma r;
	int fd, other;

	(void)unused;
	rdma_open(&r);
	become_member();
	fd = aperture_open();
	other = aperture_open();
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mr = rdma_reg(&r, window_map(fd, 0, GRANULE), 4096);
	CHECK_ERRNO(window_free(fd, 0), EINPROGRESS);
	CHECK_ERRNO(window_alloc_at(other, 8 * GRANULE, GRANULE, NULL), EDQUOT);
	close(fd);
	CHECK_ERRNO(window_alloc_at(other, 8 * GRANULE, GRANULE, NULL), EDQUOT);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_WITHIN(!window_alloc_at(other, 8 * GRANULE, GRANULE, NULL), 5000);
}

TEST(counts_until_the_last_pin, 20)
{
	with_limit(GRANULE, free_while_pinned);
}

static void pass_on(void *context)
{
	int *hand = context;

	become_member();
	send_fd(hand[1], aperture_open());
}

/* Windows count for whoever opened the node, whoever uses the descriptor. */
static void use_passed(void *unused)
{
	int hand[2], fd, own = aperture_open();

	(void)unused;
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, hand));
	test_in_child(pass_on, hand);
	fd = receive_fd(hand[0]);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_ERRNO(window_alloc_at(fd, GRANULE, GRANULE, NULL), EDQUOT);
	CHECK_OK(window_alloc_at(own, GRANULE, GRANULE, NULL));
	CHECK_ERRNO(window_alloc_at(own, 2 * GRANULE, GRANULE, NULL), EDQUOT);
}

TEST(counts_for_the_opener, 10)
{
	with_limit(GRANULE, use_passed);
}

static _Noreturn void hold_pinned(int ready)
{
	struct rdma r;

	rdma_open(&r);
	become_member();
	rdma_reg(&r, window_map(aperture_open(), 0, 2 * GRANULE), 2 * GRANULE);
	CHECK_EQ(write(ready, "", 1), 1);
	for (;;)
		pause();
}

static void take_after_death(void *unused)
{
	int ready[2], fd = aperture_open();
	char byte;
	pid_t pid;

	(void)unused;
	CHECK_OK(pipe(ready));
	pid = test_fork();
	if (!pid)
		hold_pinned(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_WITHIN(aperture_all_free(), 5000);
	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	close(fd);
	test_in_child(take_as_member, NULL);
}

TEST(death_gives_back, 20)
{
	with_limit(2 * GRANULE, take_after_death);
}
