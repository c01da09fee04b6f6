// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <stdio.h>

#include "driver.h"

struct gpu gpu;
struct cuda_calls cuda;

static void tell(void)
{
	int version = 0, gdr = 0, dmabuf = 0, coherent = 0;
	char name[128] = "";

	cuda.version(&version);
	cuda.name(name, sizeof(name), gpu.number);
	cuda.attribute(&gdr, 116, gpu.number);
	cuda.attribute(&dmabuf, 124, gpu.number);
	cuda.attribute(&coherent, 100, gpu.number);
	gpu.exports = gdr && dmabuf;
	printf("%s at %s, driver of CUDA %d.%d: GPUDirect RDMA %s, DMA-bufs %s, coherent %s\n",
	       name, gpu.address, version / 1000, version % 1000 / 10, gdr ? "yes" : "no",
	       dmabuf ? "yes" : "no", coherent ? "yes" : "no");
}

const char *gpu_begin(void)
{
	static char why[256];
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	const char *missing;
	int count = 0, result;

	if (!handle) {
		snprintf(why, sizeof(why), "no CUDA driver: %.200s", dlerror());
		return why;
	}
	missing = cuda_calls_find(&cuda, handle, false);
	if (missing) {
		snprintf(why, sizeof(why), "the CUDA driver is too old: it has no %s()", missing);
		return why;
	}
	result = cuda.init(0);
	if (!result)
		result = cuda.count(&count);
	if (result || !count) {
		snprintf(why, sizeof(why), "the CUDA driver has no GPU (error %d)", result);
		return why;
	}
	CALL(cuda.device(&gpu.number, 0));
	CALL(cuda.pci(gpu.address, sizeof(gpu.address), gpu.number));
	CALL(cuda.primary_retain(&gpu.context, gpu.number));
	CALL(cuda.push(gpu.context));
	tell();
	return NULL;
}
