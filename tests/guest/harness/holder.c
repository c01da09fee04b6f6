// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "holder.h"
#include "memory.h"
#include "rdma.h"

#define TRAFFIC_SIZE	(16 * KIB)

static bool told_to_end(int command, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = command, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms) > 0;
}

static void hold(int ready, int command, uint64_t offset, uint64_t size, bool traffic)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, offset, size);
	char *plain = plain_memory(TRAFFIC_SIZE);
	struct ibv_mr *mr, *local;
	struct rdma r;

	pattern_fill(mapped, size, 61);
	pattern_fill(plain, TRAFFIC_SIZE, 62);
	rdma_open(&r);
	mr = rdma_reg(&r, mapped, size);
	local = rdma_reg(&r, plain, TRAFFIC_SIZE);
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped, mr->rkey, TRAFFIC_SIZE),
		 IBV_WC_SUCCESS);
	CHECK_EQ(write(ready, "", 1), 1);
	while (!told_to_end(command, traffic ? 0 : 1000))
		if (traffic)
			rdma_write(&r, local, (uintptr_t)mapped, mr->rkey, TRAFFIC_SIZE);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	_exit(0);
}

void holder_start(struct holder *h, uint64_t offset, uint64_t size, bool traffic)
{
	int ready[2], command[2];
	char byte;

	CHECK_OK(pipe(ready));
	CHECK_OK(pipe(command));
	h->pid = test_fork();
	if (!h->pid) {
		close(ready[0]);
		close(command[1]);
		hold(ready[1], command[0], offset, size, traffic);
	}
	close(ready[1]);
	close(command[0]);
	h->command = command[1];
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

void holder_release(struct holder *h)
{
	close(h->command);
	test_join(h->pid);
}

void holder_kill(struct holder *h)
{
	CHECK_OK(kill(h->pid, SIGKILL));
	CHECK_EQ(waitpid(h->pid, NULL, 0), h->pid);
	close(h->command);
}
