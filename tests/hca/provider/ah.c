// SPDX-License-Identifier: GPL-2.0-only
/* Address handles: a LID, which goes into each work request, so that the device knows of none. */
#include <errno.h>
#include <stdlib.h>

#include "vrnic.h"

struct ibv_ah *vrnic_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct vrnic_ah *ah;

	(void)pd;
	if (attr->port_num != 1 || !attr->dlid) {
		errno = EINVAL;
		return NULL;
	}
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	ah->lid = attr->dlid;
	return &ah->ah;
}

int vrnic_destroy_ah(struct ibv_ah *ah)
{
	free(to_ah(ah));
	return 0;
}
