// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of queues, as libmlx5 registers it, on RDMA devices of any make: what it
 * returns holds an MR of the memory, by which a test sees where that is.
 */
#include <errno.h>
#include <stdlib.h>

#include <infiniband/mlx5dv.h>

struct umem {
	struct mlx5dv_devx_umem is;
	struct ibv_mr *mr;
};

static struct ibv_pd *pd;

/* Devices are mlx5 from now on, and MRs are made in this protection domain of theirs. */
void test_mlx5_use(struct ibv_pd *used)
{
	pd = used;
}

bool mlx5dv_is_supported(struct ibv_device *device)
{
	return device && pd && device == pd->context->device;
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_reg_ex(struct ibv_context *context,
						 struct mlx5dv_devx_umem_in *in)
{
	struct umem *umem = calloc(1, sizeof(*umem));
	uint64_t offset = (uintptr_t)in->addr;

	if (!umem)
		return NULL;
	if (context != pd->context || (in->comp_mask & ~(uint64_t)MLX5DV_UMEM_MASK_DMABUF) ||
	    in->pgsz_bitmap != (UINT64_MAX & ~0xfffULL))
		errno = EOPNOTSUPP;
	else if (in->comp_mask)
		umem->mr = ibv_reg_dmabuf_mr(pd, offset, in->size, offset, in->dmabuf_fd,
					     (int)in->access);
	else
		umem->mr = ibv_reg_mr(pd, in->addr, in->size, (int)in->access);
	if (umem->mr)
		return &umem->is;
	free(umem);
	return NULL;
}
