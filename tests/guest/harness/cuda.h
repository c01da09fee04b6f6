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

#include "cuda_calls.h"
#include "vfio.h"

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
