/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The CUDA driver, where the process has it already: without libcuda.so.1 in the
 * process no pointer can be of CUDA's, so the library never loads it. What of its
 * interface is used is declared here; its headers are not needed.
 */
#ifndef VPEER_CUDA_H
#define VPEER_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "internal.h"

/* CUresult */
enum vpeer_cu_error {
	VPEER_CU_SUCCESS = 0,
	VPEER_CU_INVALID_VALUE = 1,
	VPEER_CU_OUT_OF_MEMORY = 2,
	VPEER_CU_NOT_INITIALIZED = 3,
	VPEER_CU_DEINITIALIZED = 4,
	VPEER_CU_INVALID_CONTEXT = 201,
	VPEER_CU_OPERATING_SYSTEM = 304,
	VPEER_CU_NOT_SUPPORTED = 801,
};

/* CUpointer_attribute */
enum vpeer_cu_pointer_attribute {
	VPEER_CU_POINTER_CONTEXT = 1,
	VPEER_CU_POINTER_MEMORY_TYPE = 2,
	VPEER_CU_POINTER_SYNC_MEMOPS = 6,
	VPEER_CU_POINTER_BUFFER_ID = 7,
	VPEER_CU_POINTER_IS_MANAGED = 8,
	VPEER_CU_POINTER_DEVICE_ORDINAL = 9,
	VPEER_CU_POINTER_RANGE_START = 11,
	VPEER_CU_POINTER_RANGE_SIZE = 12,
	VPEER_CU_POINTER_GDR_CAPABLE = 15,
	VPEER_CU_POINTER_MAPPING_SIZE = 18,
	VPEER_CU_POINTER_MAPPING_START = 19,
	VPEER_CU_POINTER_BLOCK_ID = 20,
};

/* CUmemorytype */
enum vpeer_cu_memory_type {
	VPEER_CU_MEMORY_HOST = 1,
	VPEER_CU_MEMORY_DEVICE = 2,
};

/* CUdevice_attribute */
enum vpeer_cu_device_attribute {
	VPEER_CU_DEVICE_HOST_PAGE_TABLES = 100,	/* coherent with the CPUs */
	VPEER_CU_DEVICE_GDR = 116,
	VPEER_CU_DEVICE_DMABUF = 124,
};

/* cuMemGetHandleForAddressRange() */
#define VPEER_CU_RANGE_DMABUF	1
#define VPEER_CU_RANGE_PCIE	1ULL	/* flags: mapping type */

/* Its functions; what each is called in libcuda.so.1 is in cuda.c. */
struct vpeer_cuda {
	void *handle;
	int (*pointer_get)(void *data, int attribute, uint64_t pointer);
	int (*pointer_get_all)(unsigned int count, const int *attributes, void **data,
			       uint64_t pointer);
	int (*pointer_set)(const void *data, int attribute, uint64_t pointer);
	int (*context_current)(void **context);
	int (*context_device)(int *device);
	int (*context_push)(void *context);
	int (*context_pop)(void **context);
	int (*device_get)(int *device, int ordinal);
	int (*device_attribute)(int *value, int attribute, int device);
	int (*device_pci)(char *text, int size, int device);
	int (*primary_retain)(void **context, int device);
	int (*primary_release)(int device);
	int (*copy_to_host)(void *host, uint64_t device, size_t length);
	int (*copy_from_host)(uint64_t device, const void *host, size_t length);
	int (*error_name)(int error, const char **name);
	/* NULL where the driver is older. */
	int (*range_handle)(void *handle, uint64_t pointer, size_t size, int type,
			    unsigned long long flags);
};

/* The driver that the process has; NULL: none. What is returned is the caller's. */
struct vpeer_cuda *vpeer_cuda_find(void);
void vpeer_cuda_end(struct vpeer_cuda *cuda);

/* Static text such as "CUDA_ERROR_INVALID_VALUE". */
const char *vpeer_cuda_error(const struct vpeer_cuda *cuda, int result);

/* @what failed with @result: words, reason and errno. */
int vpeer_cuda_fail(const struct vpeer_cuda *cuda, int result, const char *who, const char *what,
		    struct vpeer_error *error);

int vpeer_cuda_device_attribute(const struct vpeer_cuda *cuda, int attribute, int device);

/* A context in which calls about @device's memory can be made on this thread. */
struct vpeer_cuda_scope {
	const struct vpeer_cuda *cuda;
	int device;
	bool pushed;
	bool retained;
};

/*
 * The thread's own context if it is the right one; else @memory's, the context that
 * it was allocated in; else (@memory is NULL) the primary context of the device, for
 * as long as that is needed. vpeer_cuda_leave() leaves the thread as it was.
 */
int vpeer_cuda_enter(const struct vpeer_cuda *cuda, int device, void *memory,
		     struct vpeer_cuda_scope *scope, const char *who, struct vpeer_error *error);
void vpeer_cuda_leave(struct vpeer_cuda_scope *scope);

#endif /* VPEER_CUDA_H */
