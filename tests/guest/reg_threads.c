// SPDX-License-Identifier: GPL-2.0-only
/* helper/reg_threads.c as it is, and with the sanitizers. VPEER_REG_ROUNDS sets the rounds of each thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"

static void start(const char *program)
{
	char path[512], *end;

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 100) > 0);
	end = strrchr(path, '/');
	CHECK(end);
	snprintf(end, 100, "/helper/%s", program);
	/* Shadow memory lies where a random layout may have put something. */
	personality(ADDR_NO_RANDOMIZE);
	execl(path, path, "mixed", NULL);
	_exit(127);
}

static void run(const char *program, const char *rounds)
{
	int status;
	pid_t pid;

	aperture_pci();
	setenv("VPEER_REG_ROUNDS", rounds, 0);
	setenv("TSAN_OPTIONS", "halt_on_error=1 exitcode=66 die_after_fork=0", 1);
	setenv("ASAN_OPTIONS", "halt_on_error=1 exitcode=66 detect_leaks=1", 1);
	pid = test_fork();
	if (!pid)
		start(program);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(plain, 500)
{
	run("reg_threads", "300");
}

TEST(thread_sanitizer, 500)
{
	run("reg_threads-thread", "60");
}

TEST(address_sanitizer, 500)
{
	run("reg_threads-address", "100");
}
