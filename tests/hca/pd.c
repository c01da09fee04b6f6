// SPDX-License-Identifier: GPL-2.0-only
/* Protection domains, which are but numbers, and address handles, which user space keeps. */
#include "vrnic.h"

int vrnic_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	int ret = ida_alloc_range(&to_vrnic(ib->device)->pds, 1, VRNIC_MAX_PD, GFP_KERNEL);

	if (ret < 0)
		return ret;
	to_vrnic_pd(ib)->number = ret;
	return 0;
}

int vrnic_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	ida_free(&to_vrnic(ib->device)->pds, to_vrnic_pd(ib)->number);
	return 0;
}

bool vrnic_is_destination(const struct rdma_ah_attr *attr)
{
	u32 lid = rdma_ah_get_dlid(attr);

	return lid && lid <= VRNIC_UNICAST_LIDS;
}

/* Its LID is all that the provider puts into work requests. */
int vrnic_create_user_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr,
			 struct ib_udata *udata)
{
	return vrnic_is_destination(attr->ah_attr) ? 0 : -EINVAL;
}

int vrnic_destroy_ah(struct ib_ah *ib, u32 flags)
{
	return 0;
}
