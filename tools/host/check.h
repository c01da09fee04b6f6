/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The checks: of the host, of each function, of each path between two. */
#ifndef HOST_CHECK_H
#define HOST_CHECK_H

#include "../finding.h"
#include "topology.h"

struct json_object;

void check_host(struct findings *all, const struct host *host);
void check_functions(struct findings *all, const struct host *host);
void check_paths(struct findings *all, const struct host *host, const struct path *paths,
		 size_t count);

/* Each of the above. */
void check_all(struct findings *all, const struct host *host, const struct path *paths,
	       size_t count);

/* SR-IOV: what a PF holds for a VF. */
void check_vf(struct findings *all, const struct host *host, const struct function *function);

struct json_object *host_document(const struct host *host, const struct path *paths,
				  size_t count, const struct findings *all);

#endif /* HOST_CHECK_H */
