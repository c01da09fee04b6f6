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

#define PLACE(symbol, name, arguments) { #symbol, offsetof(struct gpu, name) },

static const struct place places[] = { GPU_CALLS(PLACE) };

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
	printf("%s at %s, driver of CUDA %d.%d: GPUDirect RDMA %s, DMA-bufs %s, coherent %s\n", name,
	       gpu.address, version / 1000, version % 1000 / 10, gdr ? "yes" : "no",
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
