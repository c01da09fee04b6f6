// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A ring all-reduce on device memory: every rank has a window, and adds up numbers with
 * RDMA writes to its right neighbour. MPI is for the start only; all data goes by
 * libibverbs.
 * usage: mpirun -n RANKS ring_allreduce DEVICE PORT APERTURE NUMBERS [GID-INDEX]
 *
 * Each rank prints where its sums lie, and ends with status 1 if one is wrong.
 */
#include <mpi.h>

#include "example.h"

/* Where the numbers are in the window; after them an inbox for each step, of a chunk each. */
struct ring {
	int rank;
	int ranks;
	size_t numbers;
	size_t chunk;		/* numbers that are sent at once */
	uint32_t *data;
	uint32_t *inbox;
	struct memory memory;
	struct ibv_context *device;
	uint8_t port;
	int gid_index;
	struct vpeer_context *context;
	struct vpeer_mr *mr;
	struct vpeer_flush *flush;
	struct ibv_cq *sent;
	struct ibv_cq *received;
	struct ibv_qp *to_right;
	struct ibv_qp *from_left;
	uint64_t right_address;
	uint32_t right_rkey;
};

/* What a rank tells all others. */
struct told {
	uint64_t address;
	union ibv_gid gid;
	uint32_t to_right;
	uint32_t from_left;
	uint32_t rkey;
	uint16_t lid;
};

static uint32_t number_of(size_t index, int rank)
{
	return (uint32_t)index * 2654435761U + (uint32_t)rank * 40503U;
}

static size_t at(const struct ring *r, int chunk)
{
	return (size_t)((chunk % r->ranks + r->ranks) % r->ranks) * r->chunk;
}

static void take_memory(struct ring *r, const char *aperture)
{
	struct vpeer_error error;

	r->memory = window_memory(aperture, 2 * r->numbers * sizeof(*r->data));
	r->data = r->memory.address;
	r->inbox = r->data + r->numbers;
	for (size_t i = 0; i < r->numbers; i++)
		r->data[i] = number_of(i, r->rank);
	if (vpeer_context_open(&r->context, r->device, NULL, &error) ||
	    vpeer_reg(r->context, r->memory.address, r->memory.length, NULL, &r->mr, &error) ||
	    vpeer_flush_create(&r->flush, r->context, r->port, &error))
		die(&error);
}

static struct ibv_qp *make_qp(struct ring *r, struct ibv_cq *send, struct ibv_cq *receive)
{
	struct ibv_qp_init_attr init = {
		.send_cq = send,
		.recv_cq = receive,
		.cap = { 2, 2 * (uint32_t)r->ranks, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_INIT,
		.port_num = r->port,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_qp *qp = ibv_create_qp(vpeer_context_pd(r->context), &init);

	if (!qp || ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				 IBV_QP_ACCESS_FLAGS))
		err(1, "no queue pair");
	return qp;
}

static void make_queues(struct ring *r)
{
	r->sent = ibv_create_cq(r->device, 16, NULL, NULL, 0);
	r->received = ibv_create_cq(r->device, 2 * r->ranks, NULL, NULL, 0);
	if (!r->sent || !r->received)
		err(1, "no completion queue");
	r->to_right = make_qp(r, r->sent, r->sent);
	r->from_left = make_qp(r, r->received, r->received);
	/* A write with immediate data takes a receive, which has no memory of its own. */
	for (int i = 0; i < 2 * (r->ranks - 1); i++) {
		struct ibv_recv_wr wr = { 0 }, *bad;

		if (ibv_post_recv(r->from_left, &wr, &bad))
			err(1, "cannot post a receive");
	}
}

static struct told told_by(struct ring *r)
{
	struct ibv_port_attr port;
	struct told told = {
		.address = (uintptr_t)r->data,
		.to_right = r->to_right->qp_num,
		.from_left = r->from_left->qp_num,
		.rkey = vpeer_mr_rkey(r->mr),
	};

	if (ibv_query_port(r->device, r->port, &port) ||
	    ibv_query_gid(r->device, r->port, r->gid_index < 0 ? 0 : r->gid_index, &told.gid))
		err(1, "port %d", r->port);
	told.lid = port.lid;
	return told;
}

static void connect_qp(const struct ring *r, struct ibv_qp *qp, const struct told *to,
		       uint32_t number)
{
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = number,
		.min_rnr_timer = 12,
		.ah_attr = { .dlid = to->lid, .port_num = r->port },
	};

	if (r->gid_index >= 0) {
		attributes.ah_attr.is_global = 1;
		attributes.ah_attr.grh.dgid = to->gid;
		attributes.ah_attr.grh.sgid_index = (uint8_t)r->gid_index;
		attributes.ah_attr.grh.hop_limit = 64;
	}
	if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		err(1, "cannot connect");
	attributes.qp_state = IBV_QPS_RTS;
	attributes.timeout = 18;
	attributes.retry_cnt = 7;
	attributes.rnr_retry = 7;
	if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		err(1, "cannot connect");
}

static void meet(struct ring *r)
{
	int right = (r->rank + 1) % r->ranks, left = (r->rank + r->ranks - 1) % r->ranks;
	struct told told = told_by(r), *all = calloc((size_t)r->ranks, sizeof(*all));

	if (!all)
		err(1, "no memory");
	MPI_Allgather(&told, sizeof(told), MPI_BYTE, all, sizeof(told), MPI_BYTE, MPI_COMM_WORLD);
	connect_qp(r, r->to_right, &all[right], all[right].from_left);
	connect_qp(r, r->from_left, &all[left], all[left].to_right);
	r->right_address = all[right].address;
	r->right_rkey = all[right].rkey;
	free(all);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void wait_for(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int count;

	do {
		count = ibv_poll_cq(cq, 1, &wc);
	} while (!count);
	if (count < 0 || wc.status != IBV_WC_SUCCESS)
		errx(1, "a transfer failed: %s", count < 0 ? "" : ibv_wc_status_str(wc.status));
}

/* A chunk from @from to @to of the right neighbour, both counted in numbers. */
static void send_chunk(struct ring *r, size_t from, size_t to)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(r->data + from),
		.length = (uint32_t)(r->chunk * sizeof(*r->data)),
		.lkey = vpeer_mr_lkey(r->mr),
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { r->right_address + to * sizeof(*r->data), r->right_rkey },
	}, *bad;

	if (ibv_post_send(r->to_right, &wr, &bad))
		err(1, "cannot post a write");
}

/* The CPU is about to read what the device has written. */
static void wait_for_chunk(struct ring *r)
{
	struct vpeer_error error;

	wait_for(r->received);
	if (vpeer_flush(r->flush, r->mr, 10000, &error))
		die(&error);
	wait_for(r->sent);
}

/* After it rank R has the sums of chunk R + 1. */
static void reduce_scatter(struct ring *r)
{
	for (int step = 0; step < r->ranks - 1; step++) {
		const uint32_t *came = r->inbox + (size_t)step * r->chunk;
		uint32_t *sums = r->data + at(r, r->rank - step - 1);

		send_chunk(r, at(r, r->rank - step), r->numbers + (size_t)step * r->chunk);
		wait_for_chunk(r);
		for (size_t i = 0; i < r->chunk; i++)
			sums[i] += came[i];
	}
}

static void all_gather(struct ring *r)
{
	for (int step = 0; step < r->ranks - 1; step++) {
		size_t chunk = at(r, r->rank + 1 - step);

		send_chunk(r, chunk, chunk);
		wait_for_chunk(r);
	}
}

static size_t count_wrong(const struct ring *r)
{
	size_t wrong = 0;

	for (size_t i = 0; i < r->numbers; i++) {
		uint32_t sum = 0;

		for (int rank = 0; rank < r->ranks; rank++)
			sum += number_of(i, rank);
		wrong += r->data[i] != sum;
	}
	return wrong;
}

static void finish(struct ring *r)
{
	struct vpeer_error error;

	ibv_destroy_qp(r->to_right);
	ibv_destroy_qp(r->from_left);
	ibv_destroy_cq(r->sent);
	ibv_destroy_cq(r->received);
	vpeer_flush_destroy(r->flush);
	vpeer_dereg(r->mr);
	if (vpeer_context_destroy(r->context, &error))
		die(&error);
	ibv_close_device(r->device);
	window_memory_free(&r->memory);
}

int main(int argc, char **argv)
{
	struct ring r = { .gid_index = -1 };
	size_t wrong;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &r.ranks);
	if (argc < 5 || argc > 6)
		errx(2, "usage: ring_allreduce DEVICE PORT APERTURE NUMBERS [GID-INDEX]");
	r.device = open_device(argv[1]);
	r.port = (uint8_t)atoi(argv[2]);
	r.numbers = strtoul(argv[4], NULL, 0);
	r.chunk = r.numbers / (size_t)r.ranks;
	if (!r.chunk || r.chunk * (size_t)r.ranks != r.numbers || r.ranks < 2)
		errx(2, "%zu numbers are not for %d ranks", r.numbers, r.ranks);
	if (argc == 6)
		r.gid_index = atoi(argv[5]);
	take_memory(&r, argv[3]);
	make_queues(&r);
	meet(&r);
	reduce_scatter(&r);
	all_gather(&r);
	wrong = count_wrong(&r);
	printf("rank %d: by %s, at %" PRIu64 " of %s: %zu of %zu sums are wrong\n", r.rank,
	       vpeer_route_name(vpeer_mr_route(r.mr)), vpeer_window_offset(r.memory.window),
	       argv[3], wrong, r.numbers);
	MPI_Barrier(MPI_COMM_WORLD);
	finish(&r);
	MPI_Finalize();
	return wrong != 0;
}
