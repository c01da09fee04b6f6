// SPDX-License-Identifier: GPL-2.0-only
/* One case for each way a case can end, for tests/static/harness.sh. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

TEST(good, 5)
{
	CHECK(true);
	CHECK_EQ(2, 2);
	CHECK_OK(0);
	CHECK_ERRNO(close(-1), EBADF);
	test_join(test_fork() ?: (_exit(0), 0));
}

TEST(condition, 5)
{
	CHECK(1 > 2);
}

TEST(number, 5)
{
	CHECK_EQ(3, 4);
}

TEST(wrong_errno, 5)
{
	CHECK_ERRNO(close(-1), EPERM);
}

TEST(unexpected_success, 5)
{
	CHECK_ERRNO(0, EPERM);
}

TEST(unexpected_failure, 5)
{
	CHECK_OK(close(-1));
}

TEST(crash, 5)
{
	raise(SIGSEGV);
}

TEST(hang, 1)
{
	for (;;)
		pause();
}

TEST(early_exit, 5)
{
	exit(3);
}

static void fail(void *unused)
{
	(void)unused;
	CHECK(!"in the child");
}

TEST(child, 5)
{
	test_in_child(fail, NULL);
}

TEST(child_crash, 5)
{
	pid_t pid = test_fork();

	if (!pid)
		abort();
	test_join(pid);
}

TEST(condition_never_met, 5)
{
	CHECK_WITHIN(false, 50);
}

TEST(skipped, 5)
{
	test_skip("nothing of the kind here");
}
