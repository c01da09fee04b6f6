// SPDX-License-Identifier: GPL-2.0-only
/* Protection domains. */
#include <stdlib.h>

#include "vrnic.h"

struct ibv_pd *vrnic_alloc_pd(struct ibv_context *context)
{
	struct ib_uverbs_alloc_pd_resp reply;
	struct ibv_alloc_pd command;
	struct ibv_pd *pd;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	if (ibv_cmd_alloc_pd(context, pd, &command, sizeof(command), &reply, sizeof(reply))) {
		free(pd);
		return NULL;
	}
	return pd;
}

int vrnic_dealloc_pd(struct ibv_pd *pd)
{
	int error = ibv_cmd_dealloc_pd(pd);

	if (!error)
		free(pd);
	return error;
}
