/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of the CUDA driver: of a machine's (tests/gpu), or of the one for tests (tests/cuda). */
#ifndef HARNESS_CUDA_CALLS_H
#define HARNESS_CUDA_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../cuda/test_cuda.h"

/* CUmemAllocationProp */
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

/* CUmemAccessDesc */
struct cuda_access {
	int location_type;
	int location;
	int flags;
};

/* They return 0 or the driver's error; what they are called there is in cuda_calls.c. */
struct cuda_calls {
	int (*init)(unsigned int flags);
	int (*version)(int *version);
	int (*count)(int *count);
	int (*device)(int *device, int ordinal);
	int (*name)(char *name, int size, int device);
	int (*pci)(char *text, int size, int device);
	int (*attribute)(int *value, int attribute, int device);
	int (*primary_retain)(void **context, int device);
	int (*primary_release)(int device);
	int (*context_create)(void **context, unsigned int flags, int device);
	int (*context_destroy)(void *context);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*current)(void **context);
	int (*mem_alloc)(uint64_t *got, size_t size);
	int (*mem_free)(uint64_t at);
	int (*mem_managed)(uint64_t *got, size_t size, unsigned int flags);
	int (*mem_host)(void **got, size_t size, unsigned int flags);
	int (*mem_free_host)(void *at);
	int (*host_register)(void *at, size_t size, unsigned int flags);
	int (*host_unregister)(void *at);
	int (*to_host)(void *host, uint64_t at, size_t length);
	int (*from_host)(uint64_t at, const void *host, size_t length);
	int (*get)(void *data, int attribute, uint64_t at);
	int (*granularity)(size_t *granularity, const struct cuda_properties *wanted, int option);
	int (*reserve)(uint64_t *got, size_t size, size_t alignment, uint64_t wanted,
		       unsigned long long flags);
	int (*unreserve)(uint64_t at, size_t size);
	int (*create)(unsigned long long *handle, size_t size, const struct cuda_properties *wanted,
		      unsigned long long flags);
	int (*release)(unsigned long long handle);
	int (*map)(uint64_t at, size_t size, size_t offset, unsigned long long handle,
		   unsigned long long flags);
	int (*set_access)(uint64_t at, size_t size, const struct cuda_access *wanted, size_t count);
	int (*unmap)(uint64_t at, size_t size);

	/* Of the driver for tests alone. */
	int (*memory)(uint64_t size, struct test_cuda_device *device);
	int (*add_device)(const struct test_cuda_device *device);
	void (*fail)(const char *function, int result, unsigned int times);
	uint64_t (*calls)(const char *function);
	unsigned int (*retained)(int ordinal);
	unsigned int (*depth)(void);
	uint64_t (*place)(uint64_t at);
	unsigned long long (*export_flags)(void);
};

/* Of the driver @handle, which dlopen() returned: NULL, or the name of one that it has not. */
const char *cuda_calls_find(struct cuda_calls *calls, void *handle, bool for_tests);

#endif /* HARNESS_CUDA_CALLS_H */
