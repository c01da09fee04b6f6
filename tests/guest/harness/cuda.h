/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CUDA driver of tests/cuda in the process, and devices for it: memory that a
 * GPU's own driver exports (udmabuf's, or VFIO's of a vgpu), or windows of vpeer.
 */
#ifndef HARNESS_CUDA_H
#define HARNESS_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../cuda/test_cuda.h"
#include "vfio.h"

struct cuda_properties {
	int type;
	int handle_types;
	int location_type;
	int location;
	void *metadata;
	unsigned char compression;
	unsigned char gdr;
	unsigned short usage;
	unsigned char reserved[4];
};

/* Name of the call, name here, what it returns, arguments. Those of the driver return 0 or its error. */
#define CUDA_CALLS(X) \
	X(cuInit, init, int, (unsigned int flags)) \
	X(cuMemAlloc_v2, mem_alloc, int, (uint64_t *got, size_t size)) \
	X(cuMemFree_v2, mem_free, int, (uint64_t at)) \
	X(cuMemAllocManaged, mem_managed, int, (uint64_t *got, size_t size, unsigned int flags)) \
	X(cuMemHostAlloc, mem_host, int, (void **got, size_t size, unsigned int flags)) \
	X(cuMemFreeHost, mem_free_host, int, (void *at)) \
	X(cuMemcpyDtoH_v2, to_host, int, (void *host, uint64_t at, size_t length)) \
	X(cuMemcpyHtoD_v2, from_host, int, (uint64_t at, const void *host, size_t length)) \
	X(cuPointerGetAttribute, get, int, (void *data, int attribute, uint64_t at)) \
	X(cuDevicePrimaryCtxRetain, primary_retain, int, (void **context, int device)) \
	X(cuDevicePrimaryCtxRelease_v2, primary_release, int, (int device)) \
	X(cuCtxCreate_v2, context_create, int, (void **context, unsigned int flags, int device)) \
	X(cuCtxDestroy_v2, context_destroy, int, (void *context)) \
	X(cuCtxPushCurrent_v2, push, int, (void *context)) \
	X(cuCtxPopCurrent_v2, pop, int, (void **context)) \
	X(cuMemAddressReserve, reserve, int, \
	  (uint64_t *got, size_t size, size_t alignment, uint64_t wanted, \
	   unsigned long long flags)) \
	X(cuMemAddressFree, unreserve, int, (uint64_t at, size_t size)) \
	X(cuMemCreate, create, int, \
	  (void **handle, size_t size, const struct cuda_properties *wanted, \
	   unsigned long long flags)) \
	X(cuMemRelease, release, int, (void *handle)) \
	X(cuMemMap, map, int, \
	  (uint64_t at, size_t size, size_t offset, void *handle, unsigned long long flags)) \
	X(cuMemUnmap, unmap, int, (uint64_t at, size_t size)) \
	X(test_cuda_memory, memory, int, (uint64_t size, struct test_cuda_device *device)) \
	X(test_cuda_add_device, add_device, int, (const struct test_cuda_device *device)) \
	X(test_cuda_fail, fail, void, (const char *function, int result, unsigned int times)) \
	X(test_cuda_calls, calls, uint64_t, (const char *function)) \
	X(test_cuda_retained, retained, unsigned int, (int ordinal)) \
	X(test_cuda_depth, depth, unsigned int, (void)) \
	X(test_cuda_place, place, uint64_t, (uint64_t at)) \
	X(test_cuda_export_flags, export_flags, unsigned long long, (void))

#define CUDA_MEMBER(symbol, name, result, arguments) result (*name) arguments;

struct cuda_calls {
	CUDA_CALLS(CUDA_MEMBER)
};

/* Filled in by cuda_load(). */
extern struct cuda_calls cuda;

/* Brings the driver into the process and initializes it. */
void cuda_load(void);

/* Devices: their ordinals. @memory: where CPUs see its memory. */
int cuda_add_udmabuf(uint64_t size, char **memory);
int cuda_add_window(uint64_t size, char **memory);
void cuda_close_window(void);
int cuda_add_vfio(struct vfio *v, uint64_t size);

/* What cuda_add_...() would add, to be changed before. */
int cuda_add(const struct test_cuda_device *device);
struct test_cuda_device cuda_udmabuf_device(uint64_t size, char **memory);

/* The thread's context is the device's primary one from then on. */
void cuda_use(int ordinal);

/* Memory of the thread's device. */
uint64_t cuda_alloc(uint64_t size);
void cuda_free(uint64_t at);

/* Maps new memory of the device at @at, in reserved addresses; it ends with the mapping. */
void cuda_map(uint64_t at, uint64_t size, int ordinal, bool gdr);

#endif /* HARNESS_CUDA_H */
