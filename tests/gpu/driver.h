/* SPDX-License-Identifier: GPL-2.0-only */
/* The CUDA driver of this machine, as the checks use it. */
#ifndef DRIVER_H
#define DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* CUmemAllocationProp */
struct gpu_properties {
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
struct gpu_access {
	int location_type;
	int location;
	int flags;
};

struct gpu {
	int (*init)(unsigned int flags);
	int (*version)(int *version);
	int (*count)(int *count);
	int (*device)(int *device, int ordinal);
	int (*name)(char *name, int size, int device);
	int (*pci)(char *text, int size, int device);
	int (*attribute)(int *value, int attribute, int device);
	int (*retain)(void **context, int device);
	int (*release_context)(int device);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*current)(void **context);
	int (*alloc)(uint64_t *got, size_t size);
	int (*free)(uint64_t at);
	int (*managed)(uint64_t *got, size_t size, unsigned int flags);
	int (*host)(void **got, size_t size, unsigned int flags);
	int (*free_host)(void *at);
	int (*to_host)(void *host, uint64_t at, size_t length);
	int (*from_host)(uint64_t at, const void *host, size_t length);
	int (*get)(void *data, int attribute, uint64_t at);
	int (*granularity)(size_t *granularity, const struct gpu_properties *wanted, int option);
	int (*reserve)(uint64_t *got, size_t size, size_t alignment, uint64_t wanted,
		       unsigned long long flags);
	int (*unreserve)(uint64_t at, size_t size);
	int (*create)(unsigned long long *handle, size_t size, const struct gpu_properties *wanted,
		      unsigned long long flags);
	int (*release)(unsigned long long handle);
	int (*map)(uint64_t at, size_t size, size_t offset, unsigned long long handle,
		   unsigned long long flags);
	int (*set_access)(uint64_t at, size_t size, const struct gpu_access *wanted, size_t count);
	int (*unmap)(uint64_t at, size_t size);
	int number;	/* CUdevice */
	char address[32];
	void *context;	/* its primary one, which the main thread has */
	int exports;	/* it says that it makes DMA-bufs */
};

extern struct gpu gpu;

/* NULL, or why there is nothing to check. */
const char *gpu_begin(void);

/* The result of a call of the driver's, in a check. */
#define CALL(call)	check_call(__LINE__, #call, call)
#define CHECK(condition) \
	do { \
		if (!(condition)) \
			check_fail(__LINE__, "expected %s", #condition); \
	} while (0)

void check_call(int line, const char *call, int result);
_Noreturn __attribute__((format(printf, 2, 3))) void check_fail(int line, const char *format, ...);
_Noreturn __attribute__((format(printf, 1, 2))) void check_skip(const char *format, ...);

#endif /* DRIVER_H */
