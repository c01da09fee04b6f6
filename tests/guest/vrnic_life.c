// SPDX-License-Identifier: GPL-2.0-only
/* What is left of vrnic's objects when their user dies, or the device goes, with work under way. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "mover.h"
#include "rdma.h"
#include "sim.h"
#include "vrnic.h"

#define SIZE		(64 * KIB)
#define IOVA		0x7654321000
#define WRITES		8
#define ENDED_MS	10000

/* Writes go from its memory to that of a dma-buf. */
struct user {
	struct rdma r;
	struct ibv_mr *plain;
	struct ibv_mr *target;
};

static void user_begin(struct user *u, const struct mover *mover, unsigned int vrnic)
{
	rdma_open_device(&u->r, vrnic_device(vrnic));
	u->plain = rdma_reg(&u->r, plain_memory(SIZE), SIZE);
	u->target = ibv_reg_dmabuf_mr(u->r.pd, 0, SIZE, IOVA, mover->fd, RDMA_ACCESS);
	if (!u->target)
		test_fail(__FILE__, __LINE__, "ibv_reg_dmabuf_mr: %s", strerrorname_np(errno));
}

static void post(struct user *u)
{
	struct ibv_sge sge = { (uintptr_t)u->plain->addr, SIZE, u->plain->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { IOVA, u->target->rkey },
	};

	while (!ibv_post_send(u->r.near, &wr, &bad))
		;
}

/* Completions that came. */
static unsigned int take(struct user *u)
{
	struct ibv_wc wc[WRITES];

	return ibv_poll_cq(u->r.cq, WRITES, wc);
}

static unsigned int objects(unsigned int vrnic)
{
	const char *text = sim_ask("state vrnic%u", vrnic);
	unsigned int count = 0;

	for (; (text = strchr(text, '\n')); text++)
		count += !strncmp(text + 1, "cq ", 3) || !strncmp(text + 1, "qp ", 3) ||
			 !strncmp(text + 1, "mr ", 3);
	return count;
}

static void check_killed(const char *mode)
{
	struct mover mover;
	struct user u;
	pid_t user;

	sim_begin();
	vrnic_dmabuf_mode(mode);
	mover_make(&mover, SIZE);
	CHECK_EQ(objects(0), 0);
	user = test_fork();
	if (!user) {
		user_begin(&u, &mover, 0);
		for (;;) {
			post(&u);
			take(&u);
		}
	}
	CHECK_WITHIN(objects(0) == 5, ENDED_MS);
	CHECK_EQ(mover_do(&mover, MOVER_MAPPED), 1);
	CHECK_OK(kill(user, SIGKILL));
	CHECK_EQ(waitpid(user, NULL, 0), user);
	CHECK_EQ(objects(0), 0);
	CHECK_EQ(mover_do(&mover, MOVER_MAPPED), 0);
	CHECK_EQ(mover_do(&mover, MOVER_MOVE), 0);
	mover_close(&mover);
}

TEST(killed, 30)
{
	check_killed("dynamic");
}

TEST(killed_with_pinned, 30)
{
	check_killed("pinned");
}

static void use(struct user *u)
{
	int64_t end = test_now_ms() + ENDED_MS;

	post(u);
	while (!take(u))
		CHECK(test_now_ms() < end);
}

/* What its user has is of no use any more, can be let go, and holds no memory. */
static void check_left(struct user *u, const struct mover *mover)
{
	CHECK_EQ(mover_do(mover, MOVER_MAPPED), 0);
	CHECK_EQ(mover_do(mover, MOVER_MOVE), 0);
	post(u);
	take(u);
	CHECK(!ibv_reg_mr(u->r.pd, u->plain->addr, SIZE, RDMA_ACCESS));
	CHECK_EQ(ibv_dereg_mr(u->target), 0);
	CHECK_EQ(ibv_dereg_mr(u->plain), 0);
	rdma_close(&u->r);
}

static void begin_use(struct user *u, struct mover *mover)
{
	sim_begin();
	vrnic_dmabuf_mode("dynamic");
	mover_make(mover, SIZE);
	user_begin(u, mover, 1);
	use(u);
	post(u);
}

static void end_use(struct user *u, struct mover *mover)
{
	check_left(u, mover);
	user_begin(u, mover, 1);
	use(u);
	CHECK_EQ(ibv_dereg_mr(u->target), 0);
	CHECK_EQ(ibv_dereg_mr(u->plain), 0);
	rdma_close(&u->r);
	CHECK_EQ(objects(1), 0);
	mover_close(mover);
}

TEST(bound_again_in_use, 30)
{
	struct mover mover;
	struct user u;

	begin_use(&u, &mover);
	vrnic_bind_again(1);
	end_use(&u, &mover);
}

TEST(reset_in_use, 30)
{
	struct mover mover;
	char path[128];
	struct user u;

	begin_use(&u, &mover);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", vrnic_pci(1));
	CHECK(sysfs_write(path, "1"));
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", vrnic_device(1));
	CHECK_WITHIN(!access(path, F_OK), ENDED_MS);
	end_use(&u, &mover);
}
