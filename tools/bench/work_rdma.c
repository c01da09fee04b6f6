// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "work.h"

static int refused(const struct work *work, int err, struct vpeer_error *error)
{
	char text[BYTES_LEN];

	return vpeer_fail(error, err, VPEER_REASON_NONE, work->initiator->name,
			  err == ENOMEM ? "raise the limit of locked memory (ulimit -l), or name a "
					  "smaller --size" : "see the kernel log",
			  "ibv_reg_mr of %s: %s", format_bytes(work->bytes, text), strerror(err));
}

static int begin_register(struct work *work, struct vpeer_error *error)
{
	int err = rdma_open(&work->rdma, work->initiator->name, error);

	return err ? err : work_take(work, error);
}

static int run_register(struct work *work, enum side side, double *seconds,
			struct vpeer_error *error)
{
	struct ibv_mr *mr;
	int err;

	work_start(work);
	mr = rdma_register(&work->rdma, work->memory[side], work->bytes);
	err = errno;
	*seconds = work_stop(work);
	if (!mr)
		return refused(work, err, error);
	if (work->counting && side == WINDOW)
		vpeer_sysfs_u64(&work->bytes_pinned, "/sys/class/vpeer/vpeer%u/bytes_pinned",
				work->entry->index);
	ibv_dereg_mr(mr);
	return 0;
}

static int run_deregister(struct work *work, enum side side, double *seconds,
			  struct vpeer_error *error)
{
	struct ibv_mr *mr = rdma_register(&work->rdma, work->memory[side], work->bytes);

	if (!mr)
		return refused(work, errno, error);
	work_start(work);
	ibv_dereg_mr(mr);
	*seconds = work_stop(work);
	return 0;
}

static int begin_transfer(struct work *work, struct vpeer_error *error)
{
	int err = rdma_open(&work->rdma, work->initiator->name, error);

	if (!err)
		err = rdma_connect(&work->rdma, error);
	if (!err)
		err = work_take(work, error);
	if (err)
		return err;
	err = host_map(&work->local, work->bytes, work->huge);
	if (err)
		return refused(work, -err, error);
	memory_touch(work->local.start, work->bytes);
	work->local_mr = rdma_register(&work->rdma, work->local.start, work->bytes);
	for (enum side side = WINDOW; work->local_mr && side <= HOST; side++) {
		work->mr[side] = rdma_register(&work->rdma, work->memory[side], work->bytes);
		if (!work->mr[side])
			break;
	}
	return work->mr[HOST] ? 0 : refused(work, errno, error);
}

static int transfer(struct work *work, enum side side, enum ibv_wr_opcode opcode, double *seconds,
		    struct vpeer_error *error)
{
	struct transfer part = {
		.opcode = opcode,
		.local = work->local_mr,
		.remote = work->mr[side],
		.length = (uint32_t)work->piece,
		.rkey = work->mr[side]->rkey,
	};
	enum ibv_wc_status status;
	int err = 0;

	work_start(work);
	for (; !err && part.offset < work->bytes; part.offset += work->piece)
		err = rdma_transfer(&work->rdma, &part, &status, error);
	*seconds = work_stop(work);
	return err;
}

static int run_write(struct work *work, enum side side, double *seconds,
		     struct vpeer_error *error)
{
	return transfer(work, side, IBV_WR_RDMA_WRITE, seconds, error);
}

static int run_read(struct work *work, enum side side, double *seconds, struct vpeer_error *error)
{
	return transfer(work, side, IBV_WR_RDMA_READ, seconds, error);
}

const struct operation operation_register = {
	.name = "register", .registers = true, .begin = begin_register, .run = run_register,
};

const struct operation operation_deregister = {
	.name = "deregister", .begin = begin_register, .run = run_deregister,
};

const struct operation operation_rdma_write = {
	.name = "RDMA write", .sends = true, .begin = begin_transfer, .run = run_write,
};

const struct operation operation_rdma_read = {
	.name = "RDMA read", .sends = true, .begin = begin_transfer, .run = run_read,
};
