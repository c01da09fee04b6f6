// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory of queues and doorbells for mlx5. Its library is found where the device
 * has it from: without libmlx5.so.1 in the process no device can be of mlx5.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "memory.h"
#include "range.h"

#define UMEM_DMABUF	1ULL	/* mlx5dv_devx_umem_in.comp_mask */
#define UMEM_PAGES	(~0xfffULL)	/* the device's page sizes: any from 4 KiB */

/* struct mlx5dv_devx_umem_in */
struct umem_in {
	void *address;		/* or the offset in the DMA-buf */
	size_t size;
	uint32_t access;
	uint64_t page_sizes;
	uint64_t mask;
	int dmabuf_fd;
};

typedef void *umem_reg(struct ibv_context *device, struct umem_in *in);

static void fail_no_mlx5(struct vpeer_error *error, const char *cause)
{
	vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NO_MLX5, "libmlx5.so.1",
		   vpeer_reason_remedy(VPEER_REASON_NO_MLX5),
		   "cannot register memory of a queue: %s", cause);
}

/* The function for @device, and what keeps it; NULL: @error says why not. */
static umem_reg *find(struct ibv_context *device, void **handle, struct vpeer_error *error)
{
	void *supported, *found;
	bool (*is_supported)(struct ibv_device *device);
	umem_reg *reg;

	*handle = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (!*handle) {
		fail_no_mlx5(error, "the process has no libmlx5, so the device is not of it");
		return NULL;
	}
	supported = dlvsym(*handle, "mlx5dv_is_supported", "MLX5_1.8");
	found = dlvsym(*handle, "mlx5dv_devx_umem_reg_ex", "MLX5_1.19");
	memcpy(&is_supported, &supported, sizeof(supported));
	memcpy(&reg, &found, sizeof(found));
	if (reg && is_supported && is_supported(device->device))
		return reg;
	dlclose(*handle);
	fail_no_mlx5(error, reg ? "the device is not one of libmlx5" :
				  "libmlx5 is older than rdma-core 33");
	return NULL;
}

static int call(umem_reg *reg, struct ibv_context *device, struct umem_in *in, const char *who,
		void **umem, struct vpeer_error *error)
{
	errno = 0;
	*umem = reg(device, in);
	if (*umem)
		return 0;
	return vpeer_fail(error, errno ? errno : EIO, VPEER_REASON_NONE, who,
			  "see that the device has DevX, which needs CAP_NET_RAW",
			  "cannot register memory of a queue: mlx5dv_devx_umem_reg_ex(): %s",
			  strerror(errno));
}

static int register_dmabuf(umem_reg *reg, struct ibv_context *device,
			   struct vpeer_memory *memory, struct umem_in *in, void **umem,
			   struct vpeer_error *error)
{
	uint64_t offset;
	int err;

	err = memory->ops->prepare ? memory->ops->prepare(memory, error) : 0;
	if (!err)
		err = vpeer_memory_export(memory, memory->start, memory->length, 0, &in->dmabuf_fd,
					  &offset, error);
	if (err)
		return err;
	in->mask = UMEM_DMABUF;
	in->address = (void *)(uintptr_t)offset; /* NOLINT(performance-no-int-to-ptr) */
	/* What was exported must be what the pointer points to still. */
	err = vpeer_memory_valid(memory) ?
		      call(reg, device, in, memory->who, umem, error) :
		      vpeer_fail_reason(error, ENODEV, VPEER_REASON_MR_STALE, memory->who,
					"cannot register memory of a queue");
	close(in->dmabuf_fd);
	return err;
}

static int register_memory(umem_reg *reg, struct ibv_context *device,
			   struct umem_in *in, void **umem, struct vpeer_error *error)
{
	struct vpeer_finder *finder;
	struct vpeer_memory memory;
	int err = vpeer_finder_create(&finder, -1, error);

	if (err)
		return err;
	err = vpeer_memory_identify(finder, (uintptr_t)in->address, in->size, &memory, error);
	if (!err) {
		err = memory.exportable ?
			      register_dmabuf(reg, device, &memory, in, umem, error) :
			      call(reg, device, in, memory.who, umem, error);
		vpeer_memory_release(&memory);
	}
	vpeer_finder_destroy(finder);
	return err;
}

int vpeer_umem_reg(struct ibv_context *device, void *address, size_t length, uint32_t access,
		   void **umem, struct vpeer_error *error)
{
	struct umem_in in = {
		.address = address,
		.size = length,
		.access = access,
		.page_sizes = UMEM_PAGES,
	};
	umem_reg *reg;
	void *handle;
	int err;

	*umem = NULL;
	if (!device)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, "RDMA device",
				  "see what ibv_open_device() said",
				  "cannot register memory of a queue: the device is NULL");
	err = vpeer_check_range(address, length, error);
	if (err)
		return err;
	reg = find(device, &handle, error);
	if (!reg)
		return -EOPNOTSUPP;
	err = register_memory(reg, device, &in, umem, error);
	dlclose(handle);
	if (!err)
		vpeer_error_clear(error);
	return err;
}
