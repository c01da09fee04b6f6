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

#define PLACE(symbol, name, arguments) { symbol, offsetof(struct vpeer_cuda, name), false },
#define NEWER(symbol, name, arguments) { symbol, offsetof(struct vpeer_cuda, name), true },

static const struct place places[] = {
	VPEER_CUDA_FUNCTIONS(PLACE)
	VPEER_CUDA_NEWER_FUNCTIONS(NEWER)
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

const char *vpeer_cuda_error(const struct vpeer_cuda *cuda, vpeer_cu_result result)
{
	const char *name = NULL;

	if (cuda->error_name(result, &name) || !name)
		return "an unknown error";
	return name;
}

int vpeer_cuda_fail(const struct vpeer_cuda *cuda, vpeer_cu_result result, const char *who,
		    const char *what, struct vpeer_error *error)
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
				  "see the kernel log; if descriptors are short, raise 'ulimit -n'" :
				  vpeer_reason_remedy(VPEER_REASON_CUDA),
			  "%s: %s (%d)", what, vpeer_cuda_error(cuda, result), result);
}

int vpeer_cuda_device_attribute(const struct vpeer_cuda *cuda, int attribute,
				vpeer_cu_device device)
{
	int value = 0;

	return cuda->device_attribute(&value, attribute, device) ? 0 : value;
}

static bool fits(const struct vpeer_cuda *cuda, vpeer_cu_device device, vpeer_cu_context memory)
{
	vpeer_cu_context current = NULL;
	vpeer_cu_device on;

	if (cuda->context_current(&current) || !current)
		return false;
	if (memory)
		return current == memory;
	return !cuda->context_device(&on) && on == device;
}

int vpeer_cuda_enter(const struct vpeer_cuda *cuda, vpeer_cu_device device,
		     vpeer_cu_context memory, struct vpeer_cuda_scope *scope, const char *who,
		     struct vpeer_error *error)
{
	vpeer_cu_context context = memory;
	vpeer_cu_result result;

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
	vpeer_cu_context popped;

	if (scope->pushed)
		scope->cuda->context_pop(&popped);
	if (scope->retained)
		scope->cuda->primary_release(scope->device);
	scope->pushed = false;
	scope->retained = false;
}
