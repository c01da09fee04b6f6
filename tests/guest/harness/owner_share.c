// SPDX-License-Identifier: GPL-2.0-only
/* How an owner shares its memory: by fork() and by its descriptor. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "owner_parts.h"
#include "random.h"

#define CHILD_MS	120

/* The parent may revoke, free or clear meanwhile, or be dead. */
static _Noreturn void child(void)
{
	uint64_t at = owner_some_place(OWNER_IO);

	if (sigsetjmp(owner_fault_jump, 1))
		_exit(EXIT_SUCCESS);
	owner_faults_allowed = 1;
	owner_check(OWNER_DAMAGED, claim.mapped + at, claim.offset + at, OWNER_IO,
		    self->number, true);
	test_sleep_ms(pick(CHILD_MS));
	owner_check(OWNER_DAMAGED, claim.mapped + at, claim.offset + at, OWNER_IO,
		    self->number, true);
	_exit(EXIT_SUCCESS);
}

void owner_collect(void)
{
	int status;

	while (waitpid(-1, &status, WNOHANG) > 0)
		if (status)
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

void owner_fork(void)
{
	owner_begin(OWNER_FORK);
	if (!test_fork())
		child();
	owner_done(OWNER_FORK);
}

struct passed {
	uint32_t owner;
	uint64_t offset;
	uint64_t size;
};

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

void owner_pass(void)
{
	struct passed passed = { self->number, claim.offset, claim.size };
	struct iovec part = { &passed, sizeof(passed) };
	union control control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	owner_begin(OWNER_PASS);
	memset(&control, 0, sizeof(control));
	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.align), &claim.fd, sizeof(int));
	if (sendmsg(self->exchange, &message, MSG_DONTWAIT) > 0)
		owner_done(OWNER_PASS);
}

static int receive(int exchange, struct passed *passed)
{
	struct iovec part = { passed, sizeof(*passed) };
	union control control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(exchange, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0 ||
	    !CMSG_FIRSTHDR(&message))
		return -1;
	memcpy(&fd, CMSG_DATA(&control.align), sizeof(fd));
	return fd;
}

unsigned int owner_drain(int exchange)
{
	struct passed passed;
	unsigned int count = 0;
	int fd;

	while ((fd = receive(exchange, &passed)) >= 0) {
		close(fd);
		count++;
	}
	return count;
}

/* The window is its maker's, whether that one lives or not, or gone. */
static void look_at(int fd, const struct passed *passed)
{
	char *volatile mapped = mmap(NULL, passed->size, PROT_READ, MAP_SHARED, fd,
				     passed->offset);

	if (mapped == MAP_FAILED)
		return;
	if (!sigsetjmp(owner_fault_jump, 1)) {
		owner_faults_allowed = 1;
		owner_check(OWNER_SAW_OTHERS, mapped, passed->offset, OWNER_IO,
			    passed->owner, true);
		owner_done(OWNER_TAKE);
	}
	owner_faults_allowed = self->leaves;
	munmap(mapped, passed->size);
}

void owner_take(void)
{
	struct passed passed;
	sigjmp_buf outer;
	int fd;

	owner_begin(OWNER_TAKE);
	fd = receive(self->exchange, &passed);
	if (fd < 0)
		return;
	memcpy(&outer, &owner_fault_jump, sizeof(outer));
	look_at(fd, &passed);
	memcpy(&owner_fault_jump, &outer, sizeof(outer));
	close(fd);
}
