/* SPDX-License-Identifier: GPL-2.0-only */
/* The CUDA driver of this machine, as the checks use it. */
#ifndef DRIVER_H
#define DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* CUmemAllocationProp */
struct gpu_properties {
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

/* CUmemAccessDesc */
struct gpu_access {
	int location_type;
	int location;
	int flags;
};

#define GPU_CALLS(X) \
	X(cuInit, init, (unsigned int flags)) \
	X(cuDriverGetVersion, version, (int *version)) \
	X(cuDeviceGetCount, count, (int *count)) \
	X(cuDeviceGet, device, (int *device, int ordinal)) \
	X(cuDeviceGetName, name, (char *name, int size, int device)) \
	X(cuDeviceGetPCIBusId, pci, (char *text, int size, int device)) \
	X(cuDeviceGetAttribute, attribute, (int *value, int attribute, int device)) \
	X(cuDevicePrimaryCtxRetain, retain, (void **context, int device)) \
	X(cuDevicePrimaryCtxRelease_v2, release_context, (int device)) \
	X(cuCtxPushCurrent_v2, push, (void *context)) \
	X(cuCtxPopCurrent_v2, pop, (void **context)) \
	X(cuCtxGetCurrent, current, (void **context)) \
	X(cuMemAlloc_v2, alloc, (uint64_t *got, size_t size)) \
	X(cuMemFree_v2, free, (uint64_t at)) \
	X(cuMemAllocManaged, managed, (uint64_t *got, size_t size, unsigned int flags)) \
	X(cuMemHostAlloc, host, (void **got, size_t size, unsigned int flags)) \
	X(cuMemFreeHost, free_host, (void *at)) \
	X(cuMemcpyDtoH_v2, to_host, (void *host, uint64_t at, size_t length)) \
	X(cuMemcpyHtoD_v2, from_host, (uint64_t at, const void *host, size_t length)) \
	X(cuPointerGetAttribute, get, (void *data, int attribute, uint64_t at)) \
	X(cuMemGetAllocationGranularity, granularity, \
	  (size_t *granularity, const struct gpu_properties *wanted, int option)) \
	X(cuMemAddressReserve, reserve, \
	  (uint64_t *got, size_t size, size_t alignment, uint64_t wanted, \
	   unsigned long long flags)) \
	X(cuMemAddressFree, unreserve, (uint64_t at, size_t size)) \
	X(cuMemCreate, create, \
	  (unsigned long long *handle, size_t size, const struct gpu_properties *wanted, \
	   unsigned long long flags)) \
	X(cuMemRelease, release, (unsigned long long handle)) \
	X(cuMemMap, map, \
	  (uint64_t at, size_t size, size_t offset, unsigned long long handle, \
	   unsigned long long flags)) \
	X(cuMemSetAccess, set_access, \
	  (uint64_t at, size_t size, const struct gpu_access *wanted, size_t count)) \
	X(cuMemUnmap, unmap, (uint64_t at, size_t size))

#define GPU_MEMBER(symbol, name, arguments) int (*name) arguments;

struct gpu {
	GPU_CALLS(GPU_MEMBER)
	int number;	/* CUdevice */
	char address[32];
	void *context;	/* its primary one, which the main thread has */
	int exports;	/* it says that it makes DMA-bufs */
};

extern struct gpu gpu;

/* NULL, or why there is nothing to check. */
const char *gpu_begin(void);

/* The result of a call of the driver's, in a check. */
#define CALL(call)	check_call(__LINE__, #call, call)
#define CHECK(condition) \
	do { \
		if (!(condition)) \
			check_fail(__LINE__, "expected %s", #condition); \
	} while (0)

void check_call(int line, const char *call, int result);
_Noreturn __attribute__((format(printf, 2, 3))) void check_fail(int line, const char *format, ...);
_Noreturn __attribute__((format(printf, 1, 2))) void check_skip(const char *format, ...);

#endif /* DRIVER_H */
