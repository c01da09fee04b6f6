/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA devices of a machine that a site file describes, and what a machine has that uses them:
 * character devices, libibverbs. Made for each function with ib=NAME, as a port of RoCE that is
 * well, and for each line
 *
 *   ib NAME KEY=VALUE...    netdev=NAME, mtu=, oper=, flags=    of its network device
 *                           state=DOWN|INIT|ARMED|ACTIVE, phys=NAME, layer=NAME, rate=GIGABITS
 *                           gid3=v2:10.0.0.1[:NETDEV], or none; "-" for ":" in an IPv6 address
 *                           soft=NETDEV (rxe on it), iwarp=yes
 *                           uverbs=, node=, library=, provider=none to lack it
 *                           PATH=VALUE: a file below the device, such as
 *                           ports/1/counters/symbol_error
 */
#ifndef SITE_RDMA_H
#define SITE_RDMA_H

#include "site_tree.h"

#define MOST_RDMA	64

struct made_rdma {
	char name[32];
	char words[1024];
};

struct made_rdma_list {
	struct made_rdma devices[MOST_RDMA];
	size_t count;
};

/* "mlx5_0 state=DOWN": adds to what is said of it. */
void rdma_take(struct made_rdma_list *list, const char *line);

/* After tree_make(). */
void rdma_make(const struct made_rdma_list *list, const struct tree *tree, const char *root);

/* What NVIDIA's driver shows of a machine with GPUs that it has, unless the site file says so. */
void nvidia_make(const struct tree *tree, const char *root);

#endif /* SITE_RDMA_H */
