// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* DMA-bufs that the CUDA driver makes of its memory. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cuda_memory.h"

int vpeer_cuda_memory_enter(const struct vpeer_memory *memory, struct vpeer_cuda_scope *scope,
			    struct vpeer_error *error)
{
	return vpeer_cuda_enter(memory->cuda->cuda, memory->cuda->device, memory->cuda->context,
				scope, memory->who, error);
}

static int fail_no_gdr(const struct vpeer_memory *memory, const char *cause, const char *remedy,
		       struct vpeer_error *error)
{
	return vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_CUDA_NO_GDR, memory->who, remedy,
			  "cannot export: %s", cause);
}

static int fail_export(const struct vpeer_memory *memory, int result, struct vpeer_error *error)
{
	const struct vpeer_cuda_memory *m = memory->cuda;
	int capable = 1;

	if (result == VPEER_CU_OUT_OF_MEMORY)
		return vpeer_fail_reason(error, ENOSPC, VPEER_REASON_BAR_FULL, memory->who,
					 "cannot export");
	if (!vpeer_cuda_device_attribute(m->cuda, VPEER_CU_DEVICE_GDR, m->device))
		return fail_no_gdr(memory, "this GPU has no GPUDirect RDMA",
				   vpeer_reason_remedy(VPEER_REASON_CUDA_NO_GDR), error);
	if (!vpeer_cuda_device_attribute(m->cuda, VPEER_CU_DEVICE_DMABUF, m->device))
		return fail_no_gdr(memory, "its driver exports no DMA-bufs",
				   "install the open kernel modules of the driver, 515 or newer",
				   error);
	if (!m->cuda->pointer_get(&capable, VPEER_CU_POINTER_GDR_CAPABLE, memory->start) &&
	    !capable)
		return fail_no_gdr(memory, "the memory was allocated without GPUDirect RDMA",
				   "set allocFlags.gpuDirectRDMACapable for cuMemCreate()", error);
	return vpeer_cuda_fail(m->cuda, result, memory->who,
			       "cannot export: cuMemGetHandleForAddressRange()", error);
}

static int get_handle(const struct vpeer_cuda_memory *m, uint64_t start, uint64_t length,
		      unsigned long long flags, int *fd)
{
	int result = m->cuda->range_handle(fd, start, length, VPEER_CU_RANGE_DMABUF, flags);

	if (!result)
		fcntl(*fd, F_SETFD, FD_CLOEXEC);
	return result;
}

/*
 * By default the mapping type that the platform does best with: by PCIe where GPU and
 * CPUs are coherent, unless it has none. VPEER_EXPORT_PCIE asks for the other one.
 */
static int get_typed(const struct vpeer_cuda_memory *m, uint64_t start, uint64_t length,
		     unsigned int flags, int *fd)
{
	bool coherent = vpeer_cuda_device_attribute(m->cuda, VPEER_CU_DEVICE_HOST_PAGE_TABLES,
						    m->device);
	int result;

	if (!coherent || flags)
		return get_handle(m, start, length, coherent || !flags ? 0 : VPEER_CU_RANGE_PCIE,
				  fd);
	result = get_handle(m, start, length, VPEER_CU_RANGE_PCIE, fd);
	if (result == VPEER_CU_NOT_SUPPORTED || result == VPEER_CU_INVALID_VALUE)
		result = get_handle(m, start, length, 0, fd);
	return result;
}

int vpeer_cuda_memory_export(struct vpeer_memory *memory, uint64_t start, uint64_t length,
			     unsigned int flags, int *fd, uint64_t *offset,
			     struct vpeer_error *error)
{
	const struct vpeer_cuda_memory *m = memory->cuda;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct vpeer_cuda_scope scope;
	int result;
	int err;

	if (!m->cuda->range_handle)
		return vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NO_DMABUF_EXPORT, memory->who,
				  "install a driver of CUDA 11.7 or newer",
				  "cannot export: the CUDA driver has no "
				  "cuMemGetHandleForAddressRange()");
	err = vpeer_cuda_memory_enter(memory, &scope, error);
	if (err)
		return err;
	*offset = start % page;
	length = (length + *offset + page - 1) / page * page;
	result = get_typed(m, start - *offset, length, flags, fd);
	if (result) {
		*fd = -1;
		err = fail_export(memory, result, error);
	}
	vpeer_cuda_leave(&scope);
	return err;
}
