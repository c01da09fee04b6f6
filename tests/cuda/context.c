// SPDX-License-Identifier: GPL-2.0-only
/* Devices and contexts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define DEPTH	16

static bool initialized;
static _Thread_local struct context *stack[DEPTH];
static _Thread_local unsigned int depth;

struct context *current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

EXPORTED unsigned int test_cuda_depth(void)
{
	return depth;
}

EXPORTED unsigned int test_cuda_retained(int ordinal)
{
	return devices[ordinal].retained;
}

EXPORTED int cuInit(unsigned int flags)
{
	int result = enter(__func__);

	if (!result && flags)
		result = INVALID_VALUE;
	initialized |= !result;
	return leave(result);
}

static int check_device(int device)
{
	if (!initialized)
		return NOT_INITIALIZED;
	return device < 0 || device >= device_count ? INVALID_DEVICE : SUCCESS;
}

EXPORTED int cuDriverGetVersion(int *version)
{
	int result = enter(__func__);

	*version = 12080;
	return leave(result);
}

EXPORTED int cuDeviceGetCount(int *count)
{
	int result = enter(__func__);

	*count = device_count;
	return leave(result ? result : initialized ? SUCCESS : NOT_INITIALIZED);
}

EXPORTED int cuDeviceGetName(char *name, int size, int device)
{
	int result = enter(__func__);

	if (!result)
		result = check_device(device);
	if (!result)
		snprintf(name, (size_t)size, "memory of the tests");
	return leave(result);
}

EXPORTED int cuDeviceGet(int *device, int ordinal)
{
	int result = enter(__func__);

	*device = ordinal;
	return leave(result ? result : check_device(ordinal));
}

EXPORTED int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	int result = enter(__func__);

	if (!result)
		result = check_device(device);
	if (result)
		return leave(result);
	switch (attribute) {
	case 100:
		*value = devices[device].is.coherent;
		break;
	case 116:
		*value = devices[device].is.gdr;
		break;
	case 124:
		*value = devices[device].is.dmabuf;
		break;
	default:
		result = INVALID_VALUE;
	}
	return leave(result);
}

EXPORTED int cuDeviceGetPCIBusId(char *text, int size, int device)
{
	int result = enter(__func__);

	if (!result)
		result = check_device(device);
	if (!result)
		snprintf(text, (size_t)size, "%s", devices[device].is.pci);
	return leave(result);
}

EXPORTED int cuDevicePrimaryCtxRetain(struct context **context, int device)
{
	int result = enter(__func__);

	if (!result)
		result = check_device(device);
	if (result)
		return leave(result);
	devices[device].retained++;
	*context = &devices[device].primary;
	return leave(SUCCESS);
}

EXPORTED int cuDevicePrimaryCtxRelease_v2(int device)
{
	int result = enter(__func__);

	if (!result)
		result = check_device(device);
	if (!result && !devices[device].retained)
		result = INVALID_CONTEXT;
	if (!result)
		devices[device].retained--;
	return leave(result);
}

static int push(struct context *context)
{
	if (!context || depth == DEPTH)
		return INVALID_CONTEXT;
	/* Nothing keeps a primary context but who retained it. */
	if (context->primary && !devices[context->device].retained)
		return INVALID_CONTEXT;
	stack[depth++] = context;
	return SUCCESS;
}

EXPORTED int cuCtxCreate_v2(struct context **context, unsigned int flags, int device)
{
	int result = enter(__func__);

	(void)flags;
	if (!result)
		result = check_device(device);
	if (result)
		return leave(result);
	*context = calloc(1, sizeof(**context));
	if (!*context)
		return leave(OUT_OF_MEMORY);
	(*context)->device = device;
	return leave(push(*context));
}

EXPORTED int cuCtxDestroy_v2(struct context *context)
{
	int result = enter(__func__);

	if (!result && current() == context)
		depth--;
	if (!result)
		free(context);
	return leave(result);
}

EXPORTED int cuCtxPushCurrent_v2(struct context *context)
{
	int result = enter(__func__);

	return leave(result ? result : push(context));
}

EXPORTED int cuCtxPopCurrent_v2(struct context **context)
{
	int result = enter(__func__);

	if (!result && !depth)
		result = INVALID_CONTEXT;
	if (!result)
		*context = stack[--depth];
	return leave(result);
}

EXPORTED int cuCtxGetCurrent(struct context **context)
{
	int result = enter(__func__);

	*context = current();
	return leave(result ? result : initialized ? SUCCESS : NOT_INITIALIZED);
}

EXPORTED int cuCtxGetDevice(int *device)
{
	int result = enter(__func__);

	if (!result && !current())
		result = INVALID_CONTEXT;
	if (!result)
		*device = current()->device;
	return leave(result);
}

EXPORTED int cuGetErrorName(int error, const char **name)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{ SUCCESS, "CUDA_SUCCESS" },
		{ INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE" },
		{ OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY" },
		{ NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED" },
		{ INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE" },
		{ INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT" },
		{ OPERATING_SYSTEM, "CUDA_ERROR_OPERATING_SYSTEM" },
		{ NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED" },
	};

	*name = NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].error == error)
			*name = names[i].name;
	return *name ? SUCCESS : INVALID_VALUE;
}
