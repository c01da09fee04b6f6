// SPDX-License-Identifier: GPL-2.0-only
/* Windows and registrations across fork(), vfork(), exec() and the death of relatives. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#define PAGE	4096

/* Both directions between the case and one of its processes. */
struct talk {
	int to[2];
	int from[2];
};

static void talk_open(struct talk *t)
{
	CHECK_OK(pipe2(t->to, O_CLOEXEC));
	CHECK_OK(pipe2(t->from, O_CLOEXEC));
}

static void say(int fd)
{
	CHECK_EQ(write(fd, "", 1), 1);
}

static void hear(int fd)
{
	char byte;

	CHECK_EQ(read(fd, &byte, 1), 1);
}

static void kill_and_wait(pid_t pid)
{
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void register_with_traffic(char *mapped, struct rdma *r)
{
	char *plain = plain_memory(PAGE);
	struct ibv_mr *mr, *local;

	rdma_open(r);
	mr = rdma_reg(r, mapped, GRANULE);
	local = rdma_reg(r, plain, PAGE);
	pattern_fill(plain, PAGE, 142);
	CHECK_EQ(rdma_write(r, local, (uintptr_t)mapped, mr->rkey, PAGE), IBV_WC_SUCCESS);
}

/*
 * A parent that forks and then registers: its death ends the registration,
 * but the child keeps mapping and claim.
 */
TEST(child_outlives_registered_parent, 30)
{
	struct talk parent, child;
	pid_t pid;

	talk_open(&parent);
	talk_open(&child);
	pid = test_fork();
	if (!pid) {
		char *mapped = window_map(aperture_open(), 0, GRANULE);
		struct rdma r;

		pattern_fill(mapped, GRANULE, 141);
		if (!test_fork()) {
			hear(child.to[0]);
			CHECK(pattern_is(mapped, PAGE, 142));
			mapped[GRANULE - 1] = 77;
			say(child.from[1]);
			hear(child.to[0]);
			_exit(0);
		}
		register_with_traffic(mapped, &r);
		say(parent.from[1]);
		for (;;)
			pause();
	}
	hear(parent.from[0]);
	CHECK_EQ(aperture_stat("bytes_pinned"), GRANULE);
	CHECK_EQ(aperture_stat("mappings"), 2);
	kill_and_wait(pid);
	CHECK_WITHIN(!aperture_stat("bytes_pinned"), 5000);
	CHECK_EQ(aperture_stat("mappings"), 1);
	CHECK_EQ(aperture_stat("windows"), 1);
	say(child.to[1]);
	hear(child.from[0]);
	CHECK(owner_is(GRANULE - 1, "\115", 1));
	say(child.to[1]);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

/* A child that inherited the verbs descriptor keeps the registration of a dead parent. */
TEST(registration_inherited, 30)
{
	struct talk parent, child;
	pid_t pid;

	talk_open(&parent);
	talk_open(&child);
	pid = test_fork();
	if (!pid) {
		char *mapped = window_map(aperture_open(), 0, GRANULE);
		struct rdma r;

		register_with_traffic(mapped, &r);
		if (!test_fork()) {
			munmap(mapped, GRANULE);
			hear(child.to[0]);
			_exit(0);
		}
		say(parent.from[1]);
		for (;;)
			pause();
	}
	hear(parent.from[0]);
	kill_and_wait(pid);
	test_sleep_ms(300);
	CHECK_EQ(aperture_stat("bytes_pinned"), GRANULE);
	CHECK_EQ(aperture_stat("windows"), 1);
	say(child.to[1]);
	CHECK_WITHIN(aperture_all_free(), 5000);
	CHECK_EQ(aperture_stat("bytes_pinned"), 0);
}

/* The other way round: the child registers and dies, the parent notices nothing. */
TEST(registered_child_dies, 30)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	struct talk child;
	pid_t pid;

	pattern_fill(mapped, GRANULE, 143);
	talk_open(&child);
	pid = test_fork();
	if (!pid) {
		struct rdma r;

		register_with_traffic(mapped, &r);
		say(child.from[1]);
		for (;;)
			pause();
	}
	hear(child.from[0]);
	CHECK_EQ(window_info(fd, 0).mappings, 2);
	CHECK(pattern_is(mapped, PAGE, 142));
	CHECK_ERRNO(window_revoke(fd, 0, 0, NULL), EINPROGRESS);
	kill_and_wait(pid);
	CHECK_WITHIN(!window_revoke(fd, 0, 0, NULL), 5000);
	munmap(mapped, GRANULE);
	close(fd);
}

/* A child between vfork() and exec() runs on its parent's mappings: there is no second one. */
TEST(vfork, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	volatile unsigned int mappings = 0;
	int status;
	pid_t pid;

	pid = vfork();
	if (!pid) {
		mapped[PAGE] = 9;
		mappings = window_info(fd, 0).mappings;
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(mappings, 1);
	CHECK(owner_is(PAGE, "\11", 1));
	CHECK_EQ(window_info(fd, 0).mappings, 1);
	munmap(mapped, GRANULE);
	close(fd);
}

static pid_t exec_registered(struct talk *t, int flags)
{
	pid_t pid;

	talk_open(t);
	pid = test_fork();
	if (!pid) {
		int fd = open(aperture_node(), O_RDWR | flags);
		struct rdma r;

		CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
		register_with_traffic(window_map(fd, 0, GRANULE), &r);
		say(t->from[1]);
		hear(t->to[0]);
		execlp("sleep", "sleep", "60", NULL);
		_exit(127);
	}
	hear(t->from[0]);
	CHECK_EQ(aperture_stat("bytes_pinned"), GRANULE);
	return pid;
}

/* exec() ends mapping, descriptor and registration of a process that lives on. */
TEST(exec_gives_everything_up, 20)
{
	struct talk t;
	pid_t pid = exec_registered(&t, O_CLOEXEC);

	say(t.to[1]);
	CHECK_WITHIN(aperture_all_free(), 5000);
	CHECK_EQ(aperture_stat("mappings"), 0);
	CHECK_OK(kill(pid, 0));
	CHECK_EQ(waitpid(pid, NULL, WNOHANG), 0);
	kill_and_wait(pid);
}

/* But a descriptor that is meant to survive keeps its window, without mapping and pins. */
TEST(descriptor_survives_exec, 20)
{
	struct talk t;
	pid_t pid = exec_registered(&t, 0);

	say(t.to[1]);
	CHECK_WITHIN(!aperture_stat("bytes_pinned"), 5000);
	CHECK_WITHIN(!aperture_stat("mappings"), 5000);
	CHECK_EQ(aperture_stat("windows"), 1);
	kill_and_wait(pid);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

/* Many generations at once, all killed while they write. */
TEST(family_killed_while_writing, 30)
{
	struct talk t;
	pid_t pid;

	talk_open(&t);
	pid = test_fork();
	if (!pid) {
		char *mapped = window_map(aperture_open(), 0, 2 * GRANULE);
		struct rdma r;

		setpgid(0, 0);
		register_with_traffic(mapped, &r);
		for (int i = 0; i < 4; i++)
			fork();
		say(t.from[1]);
		for (unsigned int i = 0;; i++)
			mapped[i * PAGE % (2 * GRANULE)] = i;
	}
	for (int i = 0; i < 16; i++)
		hear(t.from[0]);
	CHECK_EQ(aperture_stat("mappings"), 16);
	CHECK_OK(kill(-pid, SIGKILL));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_WITHIN(aperture_all_free(), 5000);
	CHECK_EQ(aperture_stat("mappings"), 0);
}
