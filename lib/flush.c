// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A read by the device that wrote, behind its writes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "mr.h"

#define FLUSH_GIDS	64	/* looked at */

struct vpeer_flush {
	struct vpeer_context *context;
	struct ibv_cq *cq;
	struct ibv_qp *qp;	/* connected to itself */
	struct ibv_mr *mr;
	uint64_t *byte;		/* where the read goes: a page */
	uint64_t posted;
	bool broken;
};

/* Who the queue pair is to itself. */
struct self {
	uint8_t port;
	uint16_t lid;
	bool global;
	union ibv_gid gid;
	uint8_t gid_index;
	enum ibv_mtu mtu;
};

static int fail(const struct vpeer_context *context, int err, const char *what,
		struct vpeer_error *error)
{
	char text[VPEER_ERRNO_LEN];

	/* Not every provider sets errno. */
	err = err ?: EIO;
	return vpeer_fail(error, err, VPEER_REASON_NONE, context->device, "",
			  "cannot make a queue pair for flushing: %s: %s", what,
			  vpeer_errno_text(err, text));
}

static int fail_query(const struct vpeer_context *context, uint8_t port, int err,
		      struct vpeer_error *error)
{
	char text[VPEER_ERRNO_LEN];

	if (err != EINVAL)
		return fail(context, err, "ibv_query_port()", error);
	return vpeer_fail(error, err, VPEER_REASON_BAD_ARGUMENT, context->device,
			  "give a port that 'rdma link' shows, from 1",
			  "cannot make a queue pair for flushing: port %u: ibv_query_port(): %s",
			  port, vpeer_errno_text(err, text));
}

static int fail_port(const struct vpeer_context *context, uint8_t port, const char *what,
		     struct vpeer_error *error)
{
	return vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NONE, context->device,
			  "bring the port up, and give it an address ('rdma link', 'ip address')",
			  "cannot make a queue pair for flushing: port %u %s", port, what);
}

static bool is_zero(const union ibv_gid *gid)
{
	return !gid->global.subnet_prefix && !gid->global.interface_id;
}

/* The last one: those of IP addresses, which RoCE v2 has, follow those of the port itself. */
static bool find_gid(struct vpeer_context *context, int count, struct self *self)
{
	union ibv_gid gid;

	for (int i = (count < FLUSH_GIDS ? count : FLUSH_GIDS) - 1; i >= 0; i--) {
		if (context->verbs.query_gid(context->pd->context, self->port, i, &gid) ||
		    is_zero(&gid))
			continue;
		self->gid = gid;
		self->gid_index = (uint8_t)i;
		return true;
	}
	return false;
}

static int find_self(struct vpeer_context *context, struct self *self, struct vpeer_error *error)
{
	struct ibv_port_attr port;
	int err;

	memset(&port, 0, sizeof(port));
	err = context->verbs.query_port(context->pd->context, self->port, &port);
	if (err)
		return fail_query(context, self->port, err < 0 ? errno : err, error);
	if (port.state != IBV_PORT_ACTIVE)
		return fail_port(context, self->port, "is not active", error);
	self->mtu = port.active_mtu;
	self->lid = port.lid;
	self->global = port.link_layer == IBV_LINK_LAYER_ETHERNET || !port.lid;
	if (self->global && !find_gid(context, port.gid_tbl_len, self))
		return fail_port(context, self->port, "has no address", error);
	return 0;
}

static int to_init(struct vpeer_flush *f, const struct self *self)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = self->port,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ,
	};

	return f->context->verbs.modify_qp(f->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					   IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_receive(struct vpeer_flush *f, const struct self *self)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = self->mtu,
		.dest_qp_num = f->qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = self->global,
			.dlid = self->lid,
			.port_num = self->port,
			.grh = {
				.dgid = self->gid,
				.sgid_index = self->gid_index,
				.hop_limit = 64,
			},
		},
	};

	return f->context->verbs.modify_qp(f->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
					   IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int to_send(struct vpeer_flush *f)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	return f->context->verbs.modify_qp(f->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
					   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC);
}

static int connect_self(struct vpeer_flush *f, uint8_t port, struct vpeer_error *error)
{
	struct self self = { .port = port };
	int err = find_self(f->context, &self, error);

	if (err)
		return err;
	err = to_init(f, &self) ?: to_receive(f, &self) ?: to_send(f);
	return err ? fail(f->context, err < 0 ? errno : err, "ibv_modify_qp()", error) : 0;
}

static int make_queues(struct vpeer_flush *f, uint8_t port, struct vpeer_error *error)
{
	const struct vpeer_verbs *verbs = &f->context->verbs;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	f->cq = verbs->create_cq(f->context->pd->context, 4, NULL, NULL, 0);
	if (!f->cq)
		return fail(f->context, errno, "ibv_create_cq()", error);
	init.send_cq = f->cq;
	init.recv_cq = f->cq;
	f->qp = verbs->create_qp(f->context->pd, &init);
	if (!f->qp)
		return fail(f->context, errno, "ibv_create_qp()", error);
	return connect_self(f, port, error);
}

static int make_byte(struct vpeer_flush *f, struct vpeer_error *error)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *mapped = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mapped == MAP_FAILED)
		return fail(f->context, errno, "no memory", error);
	f->byte = mapped;
	f->mr = f->context->verbs.reg_mr(f->context->pd, mapped, page, (uintptr_t)mapped,
					 IBV_ACCESS_LOCAL_WRITE);
	return f->mr ? 0 : fail(f->context, errno, "ibv_reg_mr()", error);
}

int vpeer_flush_create(struct vpeer_flush **flush, struct vpeer_context *context, uint8_t port,
		       struct vpeer_error *error)
{
	struct vpeer_flush *f;
	int err;

	*flush = NULL;
	if (!vpeer_context_alive(context))
		return vpeer_context_fail_forked(context, error);
	f = calloc(1, sizeof(*f));
	if (!f)
		return vpeer_fail_memory(error, context->device,
					 "cannot make a queue pair for flushing");
	f->context = context;
	err = make_byte(f, error) ?: make_queues(f, port, error);
	if (err) {
		vpeer_flush_destroy(f);
		return err;
	}
	vpeer_error_clear(error);
	*flush = f;
	return 0;
}

static void tell_lost(const struct vpeer_context *context, const char *what, int err)
{
	char text[VPEER_ERRNO_LEN];

	if (err)
		vpeer_log(context, VPEER_LOG_WARNING,
			  "%s: a %s for flushing is lost: %s: it ends when the device is closed",
			  context->device, what, vpeer_errno_text(err, text));
}

static void end_objects(struct vpeer_flush *f)
{
	const struct vpeer_verbs *verbs = &f->context->verbs;

	if (f->qp)
		tell_lost(f->context, "queue pair", verbs->destroy_qp(f->qp));
	if (f->cq)
		tell_lost(f->context, "completion queue", verbs->destroy_cq(f->cq));
	if (f->mr)
		tell_lost(f->context, "memory region", verbs->dereg_mr(f->mr));
}

void vpeer_flush_destroy(struct vpeer_flush *f)
{
	if (!f)
		return;
	if (vpeer_context_alive(f->context))
		end_objects(f);
	if (f->byte)
		munmap(f->byte, (size_t)sysconf(_SC_PAGESIZE));
	free(f);
}

static int fail_flush(struct vpeer_flush *f, const struct vpeer_mr *mr, const char *what,
		      int detail, struct vpeer_error *error)
{
	f->broken = true;
	return vpeer_fail(error, EIO, VPEER_REASON_FLUSH_FAILED, f->context->device,
			  vpeer_reason_remedy(VPEER_REASON_FLUSH_FAILED),
			  "cannot flush %s: %s: %s %d", mr->memory.who,
			  vpeer_reason_text(VPEER_REASON_FLUSH_FAILED), what, detail);
}

static int post(struct vpeer_flush *f, const struct vpeer_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)f->byte, 1, f->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = ++f->posted,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = mr->start, .rkey = mr->ibv->rkey },
	};

	return ibv_post_send(f->qp, &wr, &bad);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The completion of this read; of earlier ones that nobody waited for any more, too. */
static int await(struct vpeer_flush *f, const struct vpeer_mr *mr, unsigned int timeout_ms,
		 struct vpeer_error *error)
{
	int64_t end = now_ms() + timeout_ms;
	bool last = false;
	struct ibv_wc wc;

	for (;;) {
		int count = ibv_poll_cq(f->cq, 1, &wc);

		if (count < 0)
			return fail_flush(f, mr, "ibv_poll_cq() gave", count, error);
		if (count && wc.status != IBV_WC_SUCCESS)
			return fail_flush(f, mr, "completion with status", (int)wc.status, error);
		if (count && wc.wr_id == f->posted)
			return 0;
		if (count)
			continue;
		if (last)
			return vpeer_fail(error, ETIMEDOUT, VPEER_REASON_NONE, f->context->device,
					  "wait longer, or see whether the port is still up",
					  "cannot flush %s: no completion within %u ms",
					  mr->memory.who, timeout_ms);
		/* Looked at once more after the end, as this thread may not have run. */
		last = now_ms() > end;
	}
}

/* The read would fail, and the queue pair with it. */
static int fail_no_read(const struct vpeer_mr *mr, struct vpeer_error *error)
{
	return vpeer_fail(error, EINVAL, VPEER_REASON_ACCESS, mr->memory.who,
			  "register it with IBV_ACCESS_REMOTE_READ",
			  "cannot flush %s: its MR has the access %#x, without remote read",
			  mr->memory.who, mr->access);
}

int vpeer_flush(struct vpeer_flush *f, struct vpeer_mr *mr, unsigned int timeout_ms,
		struct vpeer_error *error)
{
	int err = vpeer_mr_check(mr, error);

	if (err)
		return err;
	if (f->context != mr->context)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, mr->memory.who,
				  "flush with a handle of the MR's context",
				  "cannot flush: the MR is of another context");
	if (mr->route == VPEER_ROUTE_STAGING)
		return vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_STAGED, mr->memory.who,
				  "call vpeer_mr_copy() after the completion: it needs no flush",
				  "cannot flush: the MR is staged");
	if (!(mr->access & IBV_ACCESS_REMOTE_READ))
		return fail_no_read(mr, error);
	if (f->broken)
		return fail_flush(f, mr, "after an earlier error, of", 0, error);
	err = post(f, mr);
	if (err)
		return fail_flush(f, mr, "ibv_post_send() gave", err, error);
	err = await(f, mr, timeout_ms, error);
	if (!err)
		vpeer_error_clear(error);
	return err;
}
