// SPDX-License-Identifier: GPL-2.0-only
/* Memory regions. */
#include <stdlib.h>

#include "vrnic.h"

struct ibv_mr *vrnic_reg_mr(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
			    int access)
{
	struct ib_uverbs_reg_mr_resp reply;
	struct ibv_reg_mr command;
	struct verbs_mr *mr;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	if (ibv_cmd_reg_mr(pd, address, length, iova, access, mr, &command, sizeof(command), &reply,
			   sizeof(reply))) {
		free(mr);
		return NULL;
	}
	return &mr->ibv_mr;
}

struct ibv_mr *vrnic_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				   int fd, int access)
{
	struct verbs_mr *mr;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	if (ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, mr, NULL)) {
		free(mr);
		return NULL;
	}
	return &mr->ibv_mr;
}

int vrnic_dereg_mr(struct verbs_mr *mr)
{
	int error = ibv_cmd_dereg_mr(mr);

	if (!error)
		free(mr);
	return error;
}
