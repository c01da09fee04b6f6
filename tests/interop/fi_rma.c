// SPDX-License-Identifier: GPL-2.0-only
/*
 * libfabric, verbs: a write and a read between windows of two processes. With $INTEROP_WRONG_KEY the target's
 * key is another one; both must fail then. usage: fi_rma PCI FILE ADDRESS (the device's own)
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "memory.h"

struct end {
	struct memory memory;
	struct peer peer;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	fi_addr_t other;
};

/* What the target tells of its memory. */
struct told {
	uint64_t address;
	uint64_t key;
};

static void check(int err, const char *what)
{
	if (err)
		die("%s: %s", what, fi_strerror(-err));
}

static void find(struct end *end, const char *address)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		die("no memory");
	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("verbs;ofi_rxm");
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->mode = FI_CONTEXT;
	check(fi_getinfo(FI_VERSION(1, 20), address, NULL, FI_SOURCE, hints, &end->info),
	      "fi_getinfo");
	fi_freeinfo(hints);
}

static void open_fabric(struct end *end)
{
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_CONTEXT };

	check(fi_fabric(end->info->fabric_attr, &end->fabric, NULL), "fi_fabric");
	check(fi_domain(end->fabric, end->info, &end->domain, NULL), "fi_domain");
	check(fi_av_open(end->domain, &av, &end->av, NULL), "fi_av_open");
	check(fi_cq_open(end->domain, &cq, &end->cq, NULL), "fi_cq_open");
	check(fi_endpoint(end->domain, end->info, &end->ep, NULL), "fi_endpoint");
	check(fi_ep_bind(end->ep, &end->av->fid, 0), "fi_ep_bind");
	check(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	check(fi_enable(end->ep), "fi_enable");
	check(fi_mr_reg(end->domain, end->memory.address, SIZE,
			FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &end->mr,
			NULL), "fi_mr_reg");
}

static void close_fabric(struct end *end)
{
	check(fi_close(&end->ep->fid), "fi_close of the endpoint");
	check(fi_close(&end->mr->fid), "fi_close of the memory");
	fi_close(&end->cq->fid);
	fi_close(&end->av->fid);
	check(fi_close(&end->domain->fid), "fi_close of the domain");
	fi_close(&end->fabric->fid);
	fi_freeinfo(end->info);
}

static void meet(struct end *end)
{
	char name[128] = { 0 }, other[sizeof(name)];
	size_t size = sizeof(name);

	check(fi_getname(&end->ep->fid, name, &size), "fi_getname");
	peer_send(&end->peer, name, sizeof(name));
	peer_receive(&end->peer, other, sizeof(other));
	if (fi_av_insert(end->av, other, 1, &end->other, 0, NULL) != 1)
		die("fi_av_insert");
}

static int finish(struct end *end)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_entry entry;
	ssize_t count;

	do {
		count = fi_cq_read(end->cq, &entry, 1);
	} while (count == -FI_EAGAIN);
	if (count == 1)
		return 0;
	if (count != -FI_EAVAIL)
		return (int)count;
	fi_cq_readerr(end->cq, &error, 0);
	return -error.err;
}

/* Until the connection is there, what is asked for is to be asked for again. */
#define AGAIN(end, call)							\
	({									\
		ssize_t ret_;							\
										\
		while ((ret_ = (call)) == -FI_EAGAIN)				\
			fi_cq_read((end)->cq, NULL, 0);				\
		ret_ ? (int)ret_ : finish(end);					\
	})

static void initiator(struct end *end)
{
	char *address = end->memory.address;
	struct fi_context context[2];
	void *local = fi_mr_desc(end->mr);
	struct told told;
	int wrote, got;

	peer_receive(&end->peer, &told, sizeof(told));
	wrote = AGAIN(end, fi_write(end->ep, address, HALF, local, end->other, told.address + HALF,
				    told.key, &context[0]));
	got = AGAIN(end, fi_read(end->ep, address + HALF, HALF, local, end->other, told.address,
				 told.key, &context[1]));
	printf("write %s\nread %s\n", fi_strerror(-wrote), fi_strerror(-got));
	if ((!wrote && !got) == !!getenv("INTEROP_WRONG_KEY"))
		die("that was not to be");
}

static void target(struct end *end)
{
	struct pollfd wait = { .fd = end->peer.socket, .events = POLLIN };
	struct told told = {
		.address = (uintptr_t)end->memory.address,
		.key = fi_mr_key(end->mr) + !!getenv("INTEROP_WRONG_KEY"),
	};

	peer_send(&end->peer, &told, sizeof(told));
	while (poll(&wait, 1, 0) == 0)
		fi_cq_read(end->cq, NULL, 0);
}

int main(int argc, char **argv)
{
	struct end end = { 0 };

	if (argc != 4)
		die("usage: fi_rma PCI FILE ADDRESS");
	peer_start(&end.peer);
	memory_take(&end.memory, argv[1], end.peer.is_target);
	memory_fill(&end.memory, argv[2], end.peer.is_target ? HALF : 0);
	find(&end, argv[3]);
	open_fabric(&end);
	meet(&end);
	if (end.peer.is_target) {
		target(&end);
	} else {
		initiator(&end);
		peer_send(&end.peer, "", 1);
	}
	close_fabric(&end);
	return peer_end(&end.peer);
}
