// SPDX-License-Identifier: GPL-2.0-only
/*
 * Debuggers. Whoever may trace a process sees its windows as it sees its other
 * memory - until they are revoked.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "user.h"

#define PAGE	4096

/* A process, perhaps registered, whose window starts the aperture. */
struct target {
	pid_t pid;
	int fd;		/* shared with it */
	char *at;	/* in it */
};

static void target_start(struct target *t, bool registered)
{
	int ready[2];
	char byte;

	CHECK_OK(pipe(ready));
	t->fd = aperture_open();
	t->at = window_map(t->fd, 0, GRANULE);
	pattern_fill(t->at, GRANULE, 111);
	t->pid = test_fork();
	if (!t->pid) {
		struct rdma r;

		if (registered) {
			rdma_open(&r);
			rdma_reg(&r, t->at, GRANULE);
		}
		CHECK_EQ(write(ready[1], "", 1), 1);
		for (;;)
			pause();
	}
	munmap(t->at, GRANULE);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
}

static void target_end(struct target *t)
{
	CHECK_OK(kill(t->pid, SIGKILL));
	CHECK_EQ(waitpid(t->pid, NULL, 0), t->pid);
	CHECK_WITHIN(aperture_all_free(), 5000);
	close(t->fd);
}

static void attach(const struct target *t)
{
	CHECK_OK(ptrace(PTRACE_SEIZE, t->pid, NULL, NULL));
	CHECK_OK(ptrace(PTRACE_INTERRUPT, t->pid, NULL, NULL));
	CHECK_EQ(waitpid(t->pid, NULL, __WALL), t->pid);
}

TEST(words, 20)
{
	uint64_t word, poked = 0x1122334455667788;
	struct target t;

	target_start(&t, true);
	attach(&t);
	owner_read(PAGE, &word, sizeof(word));
	errno = 0;
	CHECK_EQ(ptrace(PTRACE_PEEKDATA, t.pid, t.at + PAGE, NULL), word);
	CHECK_EQ(errno, 0);
	CHECK_OK(ptrace(PTRACE_POKEDATA, t.pid, t.at + PAGE, poked));
	CHECK(owner_is(PAGE, &poked, sizeof(poked)));

	CHECK_ERRNO(window_revoke(t.fd, 0, 0, NULL), EINPROGRESS);
	errno = 0;
	CHECK_EQ(ptrace(PTRACE_PEEKDATA, t.pid, t.at + PAGE, NULL), -1ULL);
	CHECK_EQ(errno, EIO);
	CHECK_ERRNO(ptrace(PTRACE_POKEDATA, t.pid, t.at + PAGE, 0), EIO);
	CHECK(owner_is(PAGE, &poked, sizeof(poked)));
	CHECK_OK(ptrace(PTRACE_DETACH, t.pid, NULL, NULL));
	target_end(&t);
}

TEST(process_vm, 20)
{
	char *plain = plain_memory(PAGE), *seen = plain_memory(PAGE);
	struct iovec near = { plain, PAGE }, far;
	struct target t;

	target_start(&t, true);
	far = (struct iovec){ t.at + 3 * PAGE, PAGE };
	owner_read(3 * PAGE, seen, PAGE);
	CHECK_EQ(process_vm_readv(t.pid, &near, 1, &far, 1, 0), PAGE);
	CHECK(!memcmp(plain, seen, PAGE));
	pattern_fill(plain, PAGE, 112);
	CHECK_EQ(process_vm_writev(t.pid, &near, 1, &far, 1, 0), PAGE);
	CHECK(owner_is(3 * PAGE, plain, PAGE));
	CHECK_EQ(aperture_stat("bytes_pinned"), GRANULE);

	CHECK_ERRNO(window_revoke(t.fd, 0, 0, NULL), EINPROGRESS);
	CHECK_ERRNO(process_vm_readv(t.pid, &near, 1, &far, 1, 0), EFAULT);
	memset(plain, 0, PAGE);
	CHECK_ERRNO(process_vm_writev(t.pid, &near, 1, &far, 1, 0), EFAULT);
	owner_read(3 * PAGE, seen, PAGE);
	CHECK(pattern_is(seen, PAGE, 112));
	target_end(&t);
}

static int open_memory(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

TEST(proc_mem, 20)
{
	char *plain = plain_memory(PAGE), *seen = plain_memory(PAGE);
	struct target t;
	off_t at;
	int fd;

	target_start(&t, false);
	at = (uintptr_t)t.at + 5 * PAGE;
	fd = open_memory(t.pid);
	CHECK_OK(fd);
	CHECK_EQ(pread(fd, plain, PAGE, at), PAGE);
	CHECK(owner_is(5 * PAGE, plain, PAGE));
	pattern_fill(plain, PAGE, 113);
	CHECK_EQ(pwrite(fd, plain, PAGE, at), PAGE);
	CHECK(owner_is(5 * PAGE, plain, PAGE));

	CHECK_OK(window_revoke(t.fd, 0, 0, NULL));
	CHECK_ERRNO(pread(fd, seen, PAGE, at), EIO);
	CHECK_ERRNO(pwrite(fd, seen, PAGE, at), EIO);
	CHECK(owner_is(5 * PAGE, plain, PAGE));
	close(fd);
	target_end(&t);
}

static void peek_as_stranger(void *context)
{
	struct target *t = context;
	char byte;
	struct iovec near = { &byte, 1 }, far = { t->at, 1 };

	close(t->fd);
	become_stranger();
	CHECK_ERRNO(process_vm_readv(t->pid, &near, 1, &far, 1, 0), EPERM);
	CHECK_ERRNO(open_memory(t->pid), EACCES);
	CHECK_ERRNO(ptrace(PTRACE_SEIZE, t->pid, NULL, NULL), EPERM);
}

TEST(strangers_may_not, 20)
{
	struct target t;

	target_start(&t, false);
	test_in_child(peek_as_stranger, &t);
	target_end(&t);
}

/* A look at a process that ended or took its window away. */
TEST(after_unmap, 20)
{
	struct iovec near, far;
	int fd = aperture_open();
	char *at = window_map(fd, 0, GRANULE), byte;
	int ready[2], go[2];
	pid_t pid;

	CHECK_OK(pipe(ready));
	CHECK_OK(pipe(go));
	pid = test_fork();
	if (!pid) {
		close(go[1]);
		munmap(at, GRANULE);
		CHECK_EQ(write(ready[1], "", 1), 1);
		CHECK_EQ(read(go[0], &byte, 1), 0);
		_exit(0);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	near = (struct iovec){ &byte, 1 };
	far = (struct iovec){ at, 1 };
	CHECK_ERRNO(process_vm_readv(pid, &near, 1, &far, 1, 0), EFAULT);
	close(go[1]);
	test_join(pid);
	close(fd);
}
