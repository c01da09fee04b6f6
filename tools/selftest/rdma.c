// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rdma.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../util.h"

#define ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

/* One transfer at a time: a send and its receive are all that is queued. */
#define QUEUE_DEPTH		4
#define COMPLETION_SECONDS	20

enum { ID_SEND = 1, ID_RECEIVE = 2 };

static int fail(struct rdma *rdma, int err, struct vpeer_error *error, const char *what,
		const char *remedy)
{
	return vpeer_fail(error, err ? err : EIO, VPEER_REASON_NONE, rdma->who, remedy, "%s: %s",
			  what, strerror(err ? err : EIO));
}

static int open_device(struct rdma *rdma, const char *name, struct vpeer_error *error)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	int err = ENODEV;

	for (int i = 0; devices && devices[i] && !rdma->context; i++) {
		if (strcmp(ibv_get_device_name(devices[i]), name))
			continue;
		rdma->context = ibv_open_device(devices[i]);
		err = errno;
	}
	if (devices)
		ibv_free_device_list(devices);
	if (rdma->context)
		return 0;
	return fail(rdma, err, error, "cannot open the RDMA device",
		    "load ib_uverbs, install its provider library (ibverbs-providers), and check "
		    "the permission of /dev/infiniband/uverbs*");
}

static int pick_port(struct rdma *rdma, struct vpeer_error *error)
{
	struct ibv_device_attr attributes;
	int err = ibv_query_device(rdma->context, &attributes);

	if (err)
		return fail(rdma, err, error, "cannot query the RDMA device", "");
	rdma->atomics = attributes.atomic_cap;
	for (uint8_t port = 1; port && port <= attributes.phys_port_cnt; port++) {
		if (ibv_query_port(rdma->context, port, &rdma->port) ||
		    rdma->port.state != IBV_PORT_ACTIVE)
			continue;
		rdma->port_number = port;
		return 0;
	}
	return fail(rdma, ENETDOWN, error, "no port is active",
		    "bring its network interface or link up ('rdma link' shows the state)");
}

static int gid_rank(const struct ibv_gid_entry *entry)
{
	static const uint8_t mapped_ipv4[12] = { [10] = 0xff, [11] = 0xff };
	bool ipv4 = !memcmp(entry->gid.raw, mapped_ipv4, sizeof(mapped_ipv4));
	bool link_local = entry->gid.raw[0] == 0xfe && entry->gid.raw[1] == 0x80;

	if (entry->gid_type == IBV_GID_TYPE_ROCE_V2)
		return ipv4 ? 4 : link_local ? 2 : 3;
	return 1;
}

static int pick_gid(struct rdma *rdma, struct vpeer_error *error)
{
	struct ibv_gid_entry entry;
	int best = 0;

	for (int i = 0; i < rdma->port.gid_tbl_len && i <= UINT8_MAX; i++) {
		if (ibv_query_gid_ex(rdma->context, rdma->port_number, (uint32_t)i, &entry, 0) ||
		    gid_rank(&entry) <= best)
			continue;
		best = gid_rank(&entry);
		rdma->gid = entry.gid;
		rdma->gid_index = i;
	}
	if (best || rdma->port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return 0;
	return fail(rdma, EADDRNOTAVAIL, error, "the port has no GID",
		    "give its network interface an IP address");
}

int rdma_open(struct rdma *rdma, const char *name, struct vpeer_error *error)
{
	int err;

	*rdma = (struct rdma){ .who = name };
	err = open_device(rdma, name, error);
	if (!rdma->context)
		return err;
	if (rdma->context->device->transport_type == IBV_TRANSPORT_IWARP)
		return fail(rdma, EPROTONOSUPPORT, error,
			    "iWARP connects by rdma_cm only, which this test does not use",
			    "test with an InfiniBand or RoCE device");
	err = pick_port(rdma, error);
	if (!err)
		err = pick_gid(rdma, error);
	if (err)
		return err;
	rdma->pd = ibv_alloc_pd(rdma->context);
	if (rdma->pd)
		rdma->cq = ibv_create_cq(rdma->context, 2 * QUEUE_DEPTH, NULL, NULL, 0);
	return rdma->cq ? 0 : fail(rdma, errno, error, "cannot make a completion queue", "");
}

static void destroy_pairs(struct rdma *rdma)
{
	struct ibv_wc completion;

	for (int i = 0; i < 2; i++) {
		if (rdma->qp[i])
			ibv_destroy_qp(rdma->qp[i]);
		rdma->qp[i] = NULL;
	}
	while (rdma->cq && ibv_poll_cq(rdma->cq, 1, &completion) > 0)
		; /* flushed requests of the old pairs */
}

void rdma_close(struct rdma *rdma)
{
	destroy_pairs(rdma);
	if (rdma->cq)
		ibv_destroy_cq(rdma->cq);
	if (rdma->pd)
		ibv_dealloc_pd(rdma->pd);
	if (rdma->context)
		ibv_close_device(rdma->context);
}

static int to_init(struct rdma *rdma, struct ibv_qp *qp)
{
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_INIT,
		.port_num = rdma->port_number,
		.qp_access_flags = ACCESS,
	};

	if (rdma->atomics != IBV_ATOMIC_NONE)
		attributes.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
	return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						      IBV_QP_ACCESS_FLAGS);
}

static int to_receive(struct rdma *rdma, struct ibv_qp *qp, uint32_t peer)
{
	bool ethernet = rdma->port.link_layer == IBV_LINK_LAYER_ETHERNET;
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = rdma->port.active_mtu,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.dlid = rdma->port.lid,
			.port_num = rdma->port_number,
			.is_global = ethernet || !rdma->port.lid,
			.grh = {
				.dgid = rdma->gid,
				.sgid_index = (uint8_t)rdma->gid_index,
				.hop_limit = 64,
			},
		},
	};

	return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
						      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
						      IBV_QP_MAX_DEST_RD_ATOMIC |
						      IBV_QP_MIN_RNR_TIMER);
}

static int to_send(struct ibv_qp *qp)
{
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 6,
		.max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
						      IBV_QP_MAX_QP_RD_ATOMIC);
}

static int create_pairs(struct rdma *rdma)
{
	struct ibv_qp_init_attr attributes = {
		.send_cq = rdma->cq,
		.recv_cq = rdma->cq,
		.cap = {
			.max_send_wr = QUEUE_DEPTH,
			.max_recv_wr = QUEUE_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	for (int i = 0; i < 2; i++) {
		rdma->qp[i] = ibv_create_qp(rdma->pd, &attributes);
		if (!rdma->qp[i])
			return errno ? errno : EIO;
	}
	return 0;
}

int rdma_connect(struct rdma *rdma, struct vpeer_error *error)
{
	int err;

	destroy_pairs(rdma);
	err = create_pairs(rdma);
	for (int i = 0; !err && i < 2; i++)
		err = to_init(rdma, rdma->qp[i]);
	for (int i = 0; !err && i < 2; i++)
		err = to_receive(rdma, rdma->qp[i], rdma->qp[!i]->qp_num);
	for (int i = 0; !err && i < 2; i++)
		err = to_send(rdma->qp[i]);
	if (!err)
		return 0;
	return fail(rdma, err, error, "cannot connect two queue pairs",
		    "check that the interface of the device is up and has an address");
}

struct ibv_mr *rdma_register(struct rdma *rdma, void *address, size_t length)
{
	int access = ACCESS;

	if (rdma->atomics != IBV_ATOMIC_NONE)
		access |= IBV_ACCESS_REMOTE_ATOMIC;
	return ibv_reg_mr(rdma->pd, address, length, access);
}

static int post_receive(struct rdma *rdma, const struct transfer *transfer)
{
	struct ibv_sge range = {
		.addr = (uintptr_t)transfer->remote->addr + transfer->offset,
		.length = transfer->length,
		.lkey = transfer->remote->lkey,
	};
	struct ibv_recv_wr request = { .wr_id = ID_RECEIVE, .sg_list = &range, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return ibv_post_recv(rdma->qp[1], &request, &bad);
}

static int post_send(struct rdma *rdma, const struct transfer *transfer)
{
	uint64_t remote = (uintptr_t)transfer->remote->addr + transfer->offset;
	struct ibv_sge range = {
		.addr = (uintptr_t)transfer->local->addr + transfer->offset,
		.length = transfer->length,
		.lkey = transfer->local->lkey,
	};
	struct ibv_send_wr request = {
		.wr_id = ID_SEND,
		.sg_list = &range,
		.num_sge = 1,
		.opcode = transfer->opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	if (transfer->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	    transfer->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		request.wr.atomic.remote_addr = remote;
		request.wr.atomic.rkey = transfer->rkey;
		request.wr.atomic.compare_add = transfer->compare_add;
		request.wr.atomic.swap = transfer->swap;
	} else if (transfer->opcode != IBV_WR_SEND) {
		request.wr.rdma.remote_addr = remote;
		request.wr.rdma.rkey = transfer->rkey;
	}
	return ibv_post_send(rdma->qp[0], &request, &bad);
}

static int poll_one(struct rdma *rdma, struct ibv_wc *completion, struct vpeer_error *error)
{
	time_t end = time(NULL) + COMPLETION_SECONDS;
	int got;

	do {
		got = ibv_poll_cq(rdma->cq, 1, completion);
		if (got > 0)
			return 0;
		sched_yield();
	} while (!got && time(NULL) < end);
	return fail(rdma, got ? EIO : ETIMEDOUT, error, "no completion",
		    "see the kernel log for IOMMU or device errors");
}

static int wait_for(struct rdma *rdma, int completions, enum ibv_wc_status *status,
		    struct vpeer_error *error)
{
	struct ibv_wc completion;
	int err;

	while (completions--) {
		err = poll_one(rdma, &completion, error);
		if (err)
			return err;
		*status = completion.status;
		if (completion.status != IBV_WC_SUCCESS)
			return vpeer_fail(error, EIO, VPEER_REASON_NONE, rdma->who,
					  "see the kernel log for IOMMU or device errors",
					  "completion with status %d (%s), vendor error 0x%x",
					  completion.status, ibv_wc_status_str(completion.status),
					  completion.vendor_err);
	}
	return 0;
}

int rdma_transfer(struct rdma *rdma, const struct transfer *transfer, enum ibv_wc_status *status,
		  struct vpeer_error *error)
{
	bool send = transfer->opcode == IBV_WR_SEND;
	int err;

	*status = IBV_WC_SUCCESS;
	if (!rdma->qp[0] || !rdma->qp[1])
		return fail(rdma, ENOTCONN, error, "no queue pairs", "");
	err = send ? post_receive(rdma, transfer) : 0;
	if (!err)
		err = post_send(rdma, transfer);
	if (err)
		return fail(rdma, err, error, "cannot post the request", "");
	return wait_for(rdma, send ? 2 : 1, status, error);
}
