// SPDX-License-Identifier: GPL-2.0-only
#include <grp.h>
#include <sys/types.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "user.h"

static void become(uid_t uid, gid_t extra, size_t extras)
{
	CHECK_OK(setgroups(extras, &extra));
	CHECK_OK(setresgid(uid, uid, uid));
	CHECK_OK(setresuid(uid, uid, uid));
}

void become_member(void)
{
	struct group *group = getgrnam("vpeer");

	CHECK(group);
	become(USER_MEMBER, group->gr_gid, 1);
}

void become_stranger(void)
{
	become(USER_STRANGER, 0, 0);
}

void with_limit(uint64_t limit, void (*run)(void *context))
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
