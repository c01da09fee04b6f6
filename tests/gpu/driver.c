// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

struct gpu gpu;

struct place {
	const char *symbol;
	size_t offset;
};

static const struct place places[] = {
	{ "cuInit", offsetof(struct gpu, init) },
	{ "cuDriverGetVersion", offsetof(struct gpu, version) },
	{ "cuDeviceGetCount", offsetof(struct gpu, count) },
	{ "cuDeviceGet", offsetof(struct gpu, device) },
	{ "cuDeviceGetName", offsetof(struct gpu, name) },
	{ "cuDeviceGetPCIBusId", offsetof(struct gpu, pci) },
	{ "cuDeviceGetAttribute", offsetof(struct gpu, attribute) },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct gpu, retain) },
	{ "cuDevicePrimaryCtxRelease_v2", offsetof(struct gpu, release_context) },
	{ "cuCtxPushCurrent_v2", offsetof(struct gpu, push) },
	{ "cuCtxPopCurrent_v2", offsetof(struct gpu, pop) },
	{ "cuCtxGetCurrent", offsetof(struct gpu, current) },
	{ "cuMemAlloc_v2", offsetof(struct gpu, alloc) },
	{ "cuMemFree_v2", offsetof(struct gpu, free) },
	{ "cuMemAllocManaged", offsetof(struct gpu, managed) },
	{ "cuMemHostAlloc", offsetof(struct gpu, host) },
	{ "cuMemFreeHost", offsetof(struct gpu, free_host) },
	{ "cuMemcpyDtoH_v2", offsetof(struct gpu, to_host) },
	{ "cuMemcpyHtoD_v2", offsetof(struct gpu, from_host) },
	{ "cuPointerGetAttribute", offsetof(struct gpu, get) },
	{ "cuMemGetAllocationGranularity", offsetof(struct gpu, granularity) },
	{ "cuMemAddressReserve", offsetof(struct gpu, reserve) },
	{ "cuMemAddressFree", offsetof(struct gpu, unreserve) },
	{ "cuMemCreate", offsetof(struct gpu, create) },
	{ "cuMemRelease", offsetof(struct gpu, release) },
	{ "cuMemMap", offsetof(struct gpu, map) },
	{ "cuMemSetAccess", offsetof(struct gpu, set_access) },
	{ "cuMemUnmap", offsetof(struct gpu, unmap) },
};

static void tell(void)
{
	int version = 0, gdr = 0, dmabuf = 0, coherent = 0;
	char name[128] = "";

	gpu.version(&version);
	gpu.name(name, sizeof(name), gpu.number);
	gpu.attribute(&gdr, 116, gpu.number);
	gpu.attribute(&dmabuf, 124, gpu.number);
	gpu.attribute(&coherent, 100, gpu.number);
	gpu.exports = gdr && dmabuf;
	printf("%s at %s, driver of CUDA %d.%d: GPUDirect RDMA %s, DMA-bufs %s, coherent %s\n",
	       name, gpu.address, version / 1000, version % 1000 / 10, gdr ? "yes" : "no",
	       dmabuf ? "yes" : "no", coherent ? "yes" : "no");
}

const char *gpu_begin(void)
{
	static char why[256];
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *function;
	int count = 0, result;

	if (!handle) {
		snprintf(why, sizeof(why), "no CUDA driver: %.200s", dlerror());
		return why;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		function = dlsym(handle, places[i].symbol);
		if (!function) {
			snprintf(why, sizeof(why), "the CUDA driver is too old: it has no %s()",
				 places[i].symbol);
			return why;
		}
		memcpy((char *)&gpu + places[i].offset, &function, sizeof(function));
	}
	result = gpu.init(0);
	if (!result)
		result = gpu.count(&count);
	if (result || !count) {
		snprintf(why, sizeof(why), "the CUDA driver has no GPU (error %d)", result);
		return why;
	}
	CALL(gpu.device(&gpu.number, 0));
	CALL(gpu.pci(gpu.address, sizeof(gpu.address), gpu.number));
	CALL(gpu.retain(&gpu.context, gpu.number));
	CALL(gpu.push(gpu.context));
	tell();
	return NULL;
}
