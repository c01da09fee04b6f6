// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>


struct place {
	const char *symbol;
	size_t offset;
	bool newer;
};

/* Names with _v2 are what CUDA's headers call without. */
static const struct place places[] = {
	{ "cuPointerGetAttribute", offsetof(struct vpeer_cuda, pointer_get), false },
	{ "cuPointerGetAttributes", offsetof(struct vpeer_cuda, pointer_get_all), false },
	{ "cuPointerSetAttribute", offsetof(struct vpeer_cuda, pointer_set), false },
	{ "cuCtxGetCurrent", offsetof(struct vpeer_cuda, context_current), false },
	{ "cuCtxGetDevice", offsetof(struct vpeer_cuda, context_device), false },
	{ "cuCtxPushCurrent_v2", offsetof(struct vpeer_cuda, context_push), false },
	{ "cuCtxPopCurrent_v2", offsetof(struct vpeer_cuda, context_pop), false },
	{ "cuDeviceGet", offsetof(struct vpeer_cuda, device_get), false },
	{ "cuDeviceGetAttribute", offsetof(struct vpeer_cuda, device_attribute), false },
	{ "cuDeviceGetPCIBusId", offsetof(struct vpeer_cuda, device_pci), false },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct vpeer_cuda, primary_retain), false },
	{ "cuDevicePrimaryCtxRelease_v2", offsetof(struct vpeer_cuda, primary_release), false },
	{ "cuMemcpyDtoH_v2", offsetof(struct vpeer_cuda, copy_to_host), false },
	{ "cuMemcpyHtoD_v2", offsetof(struct vpeer_cuda, copy_from_host), false },
	{ "cuGetErrorName", offsetof(struct vpeer_cuda, error_name), false },
	{ "cuMemGetHandleForAddressRange", offsetof(struct vpeer_cuda, range_handle), true },
};

struct vpeer_cuda *vpeer_cuda_find(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	struct vpeer_cuda *cuda;
	void *function;
	size_t i;

	if (!handle)
		return NULL;
	cuda = calloc(1, sizeof(*cuda));
	for (i = 0; cuda && i < sizeof(places) / sizeof(places[0]); i++) {
		function = dlsym(handle, places[i].symbol);
		if (!function && !places[i].newer)
			break;
		memcpy((char *)cuda + places[i].offset, &function, sizeof(function));
	}
	if (cuda && i == sizeof(places) / sizeof(places[0])) {
		cuda->handle = handle;
		return cuda;
	}
	free(cuda);
	dlclose(handle);
	return NULL;
}

void vpeer_cuda_end(struct vpeer_cuda *cuda)
{
	if (!cuda)
		return;
	dlclose(cuda->handle);
	free(cuda);
}

const char *vpeer_cuda_error(const struct vpeer_cuda *cuda, int result)
{
	const char *name = NULL;

	if (cuda->error_name(result, &name) || !name)
		return "an unknown error";
	return name;
}

int vpeer_cuda_fail(const struct vpeer_cuda *cuda, int result, const char *who, const char *what,
		    struct vpeer_error *error)
{
	int err = EIO;

	if (result == VPEER_CU_INVALID_VALUE)
		err = EINVAL;
	else if (result == VPEER_CU_NOT_SUPPORTED)
		err = EOPNOTSUPP;
	else if (result == VPEER_CU_OUT_OF_MEMORY)
		err = ENOMEM;
	return vpeer_fail(error, err, VPEER_REASON_CUDA, who,
			  result == VPEER_CU_OPERATING_SYSTEM ?
				  "see the kernel log; raise 'ulimit -n' if it is short" :
				  vpeer_reason_remedy(VPEER_REASON_CUDA),
			  "%s: %s (%d)", what, vpeer_cuda_error(cuda, result), result);
}

int vpeer_cuda_device_attribute(const struct vpeer_cuda *cuda, int attribute, int device)
{
	int value = 0;

	return cuda->device_attribute(&value, attribute, device) ? 0 : value;
}

static bool fits(const struct vpeer_cuda *cuda, int device, void *memory)
{
	void *current = NULL;
	int on;

	if (cuda->context_current(&current) || !current)
		return false;
	if (memory)
		return current == memory;
	return !cuda->context_device(&on) && on == device;
}

int vpeer_cuda_enter(const struct vpeer_cuda *cuda, int device, void *memory,
		     struct vpeer_cuda_scope *scope, const char *who, struct vpeer_error *error)
{
	void *context = memory;
	int result;

	*scope = (struct vpeer_cuda_scope){ .cuda = cuda, .device = device };
	if (fits(cuda, device, memory))
		return 0;
	if (!context) {
		result = cuda->primary_retain(&context, device);
		if (result)
			return vpeer_cuda_fail(cuda, result, who,
					       "cannot use the GPU: cuDevicePrimaryCtxRetain()",
					       error);
		scope->retained = true;
	}
	result = cuda->context_push(context);
	scope->pushed = !result;
	if (!result)
		return 0;
	vpeer_cuda_leave(scope);
	return vpeer_cuda_fail(cuda, result, who, "cannot use the GPU: cuCtxPushCurrent()", error);
}

void vpeer_cuda_leave(struct vpeer_cuda_scope *scope)
{
	void *popped;

	if (scope->pushed)
		scope->cuda->context_pop(&popped);
	if (scope->retained)
		scope->cuda->primary_release(scope->device);
	scope->pushed = false;
	scope->retained = false;
}
