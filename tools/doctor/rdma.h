/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA devices of the machine that is looked at, as class infiniband shows them. */
#ifndef DOCTOR_RDMA_H
#define DOCTOR_RDMA_H

#include "site.h"

enum port_state {
	PORT_UNKNOWN,	/* not read */
	PORT_DOWN,
	PORT_INIT,	/* InfiniBand: no subnet manager has set it up */
	PORT_ARMED,
	PORT_ACTIVE,
};

enum gid_kind {
	GID_V1,
	GID_V2_LOCAL,	/* RoCE v2, link-local: not routed */
	GID_V2,
};

struct rdma_gid {
	unsigned int index;
	enum gid_kind kind;
	bool four;		/* of an IPv4 address */
	char address[48];	/* as IP writes it */
	char netdev[32];
};

struct rdma_port {
	unsigned int number;
	enum port_state state;
	bool ethernet;
	char rate[64];
	struct rdma_gid *gids;	/* those that are set */
	size_t gid_count;
};

enum rdma_kind {
	RDMA_HARDWARE,
	RDMA_EFA,
	RDMA_SOFT,	/* the CPU does it: rxe, siw */
};

struct rdma_device {
	char name[64];
	char object[96];	/* "mlx5_0 (0000:02:00.0)" */
	enum rdma_kind kind;
	bool iwarp;		/* no RoCE: GIDs are of no use */
	const struct function *function;	/* NULL: on none */
	char netdev[32];	/* of the function, or the one it runs on; empty for none */
	char driver[64];	/* of the function, or "rxe", "siw" */
	char uverbs[32];	/* character device, empty for none */
	struct rdma_port *ports;
	size_t port_count;
};

/* Reads site->rdma; the functions must be there. */
void rdma_read(struct site *site);
void rdma_free(struct site *site);

/* Of one port; rdma_free() frees it. */
void rdma_port_read(const struct site *site, const char *device, struct rdma_port *port);

/* The GID that programs should use: of RoCE v2 and an IPv4 address, else of any; NULL for none. */
const struct rdma_gid *rdma_best_gid(const struct rdma_port *port);

/* A VF, whose PF and switch are out of sight. */
bool rdma_is_vf(const struct rdma_device *device);

/* "mlx5_0 (0000:02:00.0)", with "port 2" for one of several. */
void rdma_port_object(const struct rdma_device *device, const struct rdma_port *port,
		      char *object, size_t size);

typedef void port_check(struct findings *all, const struct site *site,
			const struct rdma_device *device, const struct rdma_port *port);

/* Ports of devices other than EFA, whose ports say nothing. */
void rdma_each_port(struct findings *all, const struct site *site, port_check *check);

/* The same, of those that are active and speak RoCE. */
void rdma_each_roce_port(struct findings *all, const struct site *site, port_check *check);

/* Netdev that port's GIDs are bound to, or that of the device; "" for none. */
const char *rdma_port_netdev(const struct rdma_device *device, const struct rdma_port *port);

#endif /* DOCTOR_RDMA_H */
