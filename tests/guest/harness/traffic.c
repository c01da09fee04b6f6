// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "traffic.h"
#include "vrnic.h"

#define IOVA		0x7654321000
#define PAGE		4096
#define BATCH_MS	15000

struct user {
	struct rdma r, far;
	struct ibv_mr *mr, *plain_mr;	/* of the DMA-buf, and of memory at the other end */
	char *plain;			/* what is written, and behind it what is read */
	uint64_t iova;
	bool by_lkey;
};

static void user_open(struct user *u, int dmabuf, uint64_t offset, bool by_lkey)
{
	rdma_open_far(&u->far, vrnic_device(1));
	rdma_open_to(&u->r, vrnic_device(0), &u->far);
	u->by_lkey = by_lkey;
	u->iova = IOVA + offset % PAGE;
	u->plain = plain_memory(2 * TRAFFIC_CHUNK);
	u->mr = rdma_reg_dmabuf(by_lkey ? &u->r : &u->far, dmabuf, offset, TRAFFIC_SIZE, u->iova);
	u->plain_mr = rdma_reg(by_lkey ? &u->far : &u->r, u->plain, 2 * TRAFFIC_CHUNK);
}

static void user_close(struct user *u)
{
	CHECK_EQ(ibv_dereg_mr(u->mr), 0);
	CHECK_EQ(ibv_dereg_mr(u->plain_mr), 0);
	rdma_close(&u->r);
	rdma_close(&u->far);
}

/* A chunk of ordinary memory to or from a chunk of the DMA-buf. */
static void post(struct user *u, unsigned int chunk, bool into)
{
	uint64_t plain = (uintptr_t)u->plain + (into ? 0 : TRAFFIC_CHUNK);
	uint64_t there = u->iova + chunk * TRAFFIC_CHUNK;
	struct ibv_sge sge = { .length = TRAFFIC_CHUNK };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = into == u->by_lkey ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	sge.addr = u->by_lkey ? there : plain;
	sge.lkey = u->by_lkey ? u->mr->lkey : u->plain_mr->lkey;
	wr.wr.rdma.remote_addr = u->by_lkey ? plain : there;
	wr.wr.rdma.rkey = u->by_lkey ? u->plain_mr->rkey : u->mr->rkey;
	CHECK_EQ(ibv_post_send(u->r.near, &wr, &bad), 0);
}

/* How many of the batch succeeded. */
static unsigned int collect(struct user *u)
{
	int64_t end = test_now_ms() + BATCH_MS;
	unsigned int done = 0, good = 0;

	while (done < TRAFFIC_BATCH + 1) {
		struct ibv_wc wc;
		int count = ibv_poll_cq(u->r.cq, 1, &wc);

		CHECK(count >= 0);
		CHECK(test_now_ms() < end);
		if (!count)
			sched_yield();
		done += count;
		good += count && wc.status == IBV_WC_SUCCESS;
	}
	return good;
}

static void batch(struct user *u, struct traffic_state *state)
{
	unsigned int number = ++state->begun, good;

	pattern_fill(u->plain, TRAFFIC_CHUNK, number);
	for (unsigned int chunk = 0; chunk < TRAFFIC_BATCH; chunk++)
		post(u, chunk, true);
	post(u, number % TRAFFIC_BATCH, false);
	good = collect(u);
	if (good)
		state->last_good = number;
	if (good <= TRAFFIC_BATCH)
		rdma_connect_again(&u->r);
}

static _Noreturn void run(struct user *u, struct traffic_state *state, int ready)
{
	batch(u, state);
	CHECK_EQ(state->last_good, 1);
	CHECK_EQ(write(ready, "", 1), 1);
	while (!state->end) {
		state->idle = !state->go;
		if (state->idle)
			usleep(500);
		else
			batch(u, state);
	}
	user_close(u);
	_exit(0);
}

void traffic_start(struct traffic *t, int dmabuf, uint64_t offset, bool by_lkey, int kept)
{
	struct user user;
	int ready[2];
	char byte;

	t->state = mmap(NULL, sizeof(*t->state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	CHECK_OK((long)t->state);
	CHECK_OK(pipe(ready));
	t->pid = test_fork();
	if (!t->pid) {
		close(ready[0]);
		if (kept >= 0)
			close(kept);
		user_open(&user, dmabuf, offset, by_lkey);
		close(dmabuf);
		run(&user, t->state, ready[1]);
	}
	close(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

void traffic_go(struct traffic *t, bool on)
{
	t->state->go = on;
	if (!on)
		CHECK_WITHIN(t->state->idle, BATCH_MS);
}

void traffic_wait(const struct traffic *t, unsigned int batches)
{
	unsigned int from = t->state->begun;

	CHECK_WITHIN(t->state->begun - from >= batches, BATCH_MS);
}

static void forget(struct traffic *t)
{
	munmap(t->state, sizeof(*t->state));
	t->pid = 0;
}

void traffic_release(struct traffic *t)
{
	t->state->end = true;
	test_join(t->pid);
	forget(t);
}

void traffic_kill(struct traffic *t)
{
	CHECK_OK(kill(t->pid, SIGKILL));
	CHECK_EQ(waitpid(t->pid, NULL, 0), t->pid);
	forget(t);
}
