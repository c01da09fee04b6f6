// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <string.h>

#include "cuda_calls.h"

struct place {
	const char *symbol;
	size_t offset;
};

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static const struct place driver[] = {
	{ "cuInit", offsetof(struct cuda_calls, init) },
	{ "cuDriverGetVersion", offsetof(struct cuda_calls, version) },
	{ "cuDeviceGetCount", offsetof(struct cuda_calls, count) },
	{ "cuDeviceGet", offsetof(struct cuda_calls, device) },
	{ "cuDeviceGetName", offsetof(struct cuda_calls, name) },
	{ "cuDeviceGetPCIBusId", offsetof(struct cuda_calls, pci) },
	{ "cuDeviceGetAttribute", offsetof(struct cuda_calls, attribute) },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct cuda_calls, primary_retain) },
	{ "cuDevicePrimaryCtxRelease_v2", offsetof(struct cuda_calls, primary_release) },
	{ "cuCtxCreate_v2", offsetof(struct cuda_calls, context_create) },
	{ "cuCtxDestroy_v2", offsetof(struct cuda_calls, context_destroy) },
	{ "cuCtxPushCurrent_v2", offsetof(struct cuda_calls, push) },
	{ "cuCtxPopCurrent_v2", offsetof(struct cuda_calls, pop) },
	{ "cuCtxGetCurrent", offsetof(struct cuda_calls, current) },
	{ "cuMemAlloc_v2", offsetof(struct cuda_calls, mem_alloc) },
	{ "cuMemFree_v2", offsetof(struct cuda_calls, mem_free) },
	{ "cuMemAllocManaged", offsetof(struct cuda_calls, mem_managed) },
	{ "cuMemHostAlloc", offsetof(struct cuda_calls, mem_host) },
	{ "cuMemFreeHost", offsetof(struct cuda_calls, mem_free_host) },
	{ "cuMemHostRegister_v2", offsetof(struct cuda_calls, host_register) },
	{ "cuMemHostUnregister", offsetof(struct cuda_calls, host_unregister) },
	{ "cuMemcpyDtoH_v2", offsetof(struct cuda_calls, to_host) },
	{ "cuMemcpyHtoD_v2", offsetof(struct cuda_calls, from_host) },
	{ "cuPointerGetAttribute", offsetof(struct cuda_calls, get) },
	{ "cuMemGetAllocationGranularity", offsetof(struct cuda_calls, granularity) },
	{ "cuMemAddressReserve", offsetof(struct cuda_calls, reserve) },
	{ "cuMemAddressFree", offsetof(struct cuda_calls, unreserve) },
	{ "cuMemCreate", offsetof(struct cuda_calls, create) },
	{ "cuMemRelease", offsetof(struct cuda_calls, release) },
	{ "cuMemMap", offsetof(struct cuda_calls, map) },
	{ "cuMemSetAccess", offsetof(struct cuda_calls, set_access) },
	{ "cuMemUnmap", offsetof(struct cuda_calls, unmap) },
};

static const struct place for_tests_alone[] = {
	{ "test_cuda_memory", offsetof(struct cuda_calls, memory) },
	{ "test_cuda_add_device", offsetof(struct cuda_calls, add_device) },
	{ "test_cuda_fail", offsetof(struct cuda_calls, fail) },
	{ "test_cuda_calls", offsetof(struct cuda_calls, calls) },
	{ "test_cuda_retained", offsetof(struct cuda_calls, retained) },
	{ "test_cuda_depth", offsetof(struct cuda_calls, depth) },
	{ "test_cuda_place", offsetof(struct cuda_calls, place) },
	{ "test_cuda_export_flags", offsetof(struct cuda_calls, export_flags) },
};

static const char *find(struct cuda_calls *calls, void *handle, const struct place *places,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(handle, places[i].symbol);

		if (!function)
			return places[i].symbol;
		memcpy((char *)calls + places[i].offset, &function, sizeof(function));
	}
	return NULL;
}

const char *cuda_calls_find(struct cuda_calls *calls, void *handle, bool for_tests)
{
	const char *missing = find(calls, handle, driver, COUNT(driver));

	if (missing || !for_tests)
		return missing;
	return find(calls, handle, for_tests_alone, COUNT(for_tests_alone));
}
