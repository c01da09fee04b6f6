/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A libcuda.so.1 for tests: the part of the CUDA driver's interface that deals with
 * memory, over memory of devices that the test adds. This is what it offers beside
 * the driver's own calls.
 *
 * Unlike the real one, it gives memory away again at once when it is freed, whatever
 * was exported of it; virtual addresses are given out again at once too, lowest
 * first, and device memory in turn, so that an address that comes back has other
 * memory behind it.
 */
#ifndef TEST_CUDA_H
#define TEST_CUDA_H

#include <stddef.h>
#include <stdint.h>

struct test_cuda_extent {
	uint64_t offset;	/* in the device's memory */
	uint64_t length;
};

struct test_cuda_device {
	char pci[16];
	void *memory;		/* as CPUs see it */
	uint64_t size;		/* a multiple of 64 KiB */
	/* A DMA-buf of whole pages: a descriptor, or a negative errno. */
	int (*export)(void *context, const struct test_cuda_extent *extents, size_t count);
	void *context;
	int gdr;		/* GPUDirect RDMA */
	int dmabuf;		/* exports them */
	int coherent;		/* with the CPUs */
	int pcie;		/* has the mapping type PCIe */
};

/*
 * A device of ordinary memory, which udmabuf exports, to be changed and added: 0, or
 * a negative errno. Where VPEER_TEST_CUDA has a size in bytes, one is there already.
 * VPEER_TEST_CUDA_SAME_ID makes a driver that is broken: every allocation has one id.
 * VPEER_TEST_CUDA_OLD makes one that tells nothing of mappings.
 */
int test_cuda_memory(uint64_t size, struct test_cuda_device *device);

/* Its ordinal. */
int test_cuda_add_device(const struct test_cuda_device *device);

/* The next @times calls of a function fail with @result. */
void test_cuda_fail(const char *function, int result, unsigned int times);

/* How often it was called. */
uint64_t test_cuda_calls(const char *function);

/* How often a device's primary context is retained, and contexts on the thread's stack. */
unsigned int test_cuda_retained(int ordinal);
unsigned int test_cuda_depth(void);

/* Where in its device's memory a pointer points to; UINT64_MAX: nowhere. */
uint64_t test_cuda_place(uint64_t pointer);

/* Flags of the last export. */
unsigned long long test_cuda_export_flags(void);

#endif /* TEST_CUDA_H */
