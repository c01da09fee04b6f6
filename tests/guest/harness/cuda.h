/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CUDA driver of tests/cuda in the process, and devices for it: memory that a
 * GPU's own driver exports (udmabuf's, or VFIO's of a vgpu), or windows of vpeer.
 */
#ifndef HARNESS_CUDA_H
#define HARNESS_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../cuda/test_cuda.h"
#include "vfio.h"

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

/* Those of the driver return 0 or its error; what they are called there is in cuda.c. */
struct cuda_calls {
	int (*init)(unsigned int flags);
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
	int (*primary_retain)(void **context, int device);
	int (*primary_release)(int device);
	int (*context_create)(void **context, unsigned int flags, int device);
	int (*context_destroy)(void *context);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*pci)(char *text, int size, int device);
	int (*reserve)(uint64_t *got, size_t size, size_t alignment, uint64_t wanted,
		       unsigned long long flags);
	int (*unreserve)(uint64_t at, size_t size);
	int (*create)(void **handle, size_t size, const struct cuda_properties *wanted,
		      unsigned long long flags);
	int (*release)(void *handle);
	int (*map)(uint64_t at, size_t size, size_t offset, void *handle, unsigned long long flags);
	int (*unmap)(uint64_t at, size_t size);
	int (*memory)(uint64_t size, struct test_cuda_device *device);
	int (*add_device)(const struct test_cuda_device *device);
	void (*fail)(const char *function, int result, unsigned int times);
	uint64_t (*calls)(const char *function);
	unsigned int (*retained)(int ordinal);
	unsigned int (*depth)(void);
	uint64_t (*place)(uint64_t at);
	unsigned long long (*export_flags)(void);
};

/* Filled in by cuda_load(). */
extern struct cuda_calls cuda;

/* Brings the driver into the process and initializes it. */
void cuda_load(void);

/*
 * Devices: their ordinals. @memory: where CPUs see its memory. What is exported of
 * ordinary memory are its pages, wherever they lie; where the kernel has no udmabuf,
 * windows take its place, of which only what lies in one piece is exported.
 */
int cuda_add_memory(uint64_t size, char **memory);
int cuda_add_window(uint64_t size, char **memory);
/* Until the memory is unmapped the device stays open. */
int cuda_add_vfio(struct vfio *v, uint64_t size, char **memory);
bool cuda_scatters(void);

/* What cuda_add_memory() would add, to be changed before. */
struct test_cuda_device cuda_memory_device(uint64_t size, char **memory);
int cuda_add(const struct test_cuda_device *device);

void cuda_close_windows(void);

/* The thread's context is the device's primary one from then on. */
void cuda_use(int ordinal);

/* Memory of the thread's device. */
uint64_t cuda_alloc(uint64_t size);
void cuda_free(uint64_t at);

/* Maps new memory of the device at @at, in reserved addresses; it ends with the mapping. */
void cuda_map(uint64_t at, uint64_t size, int ordinal, bool gdr);

#endif /* HARNESS_CUDA_H */
