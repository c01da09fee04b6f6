/* SPDX-License-Identifier: GPL-2.0-only */
/* The CUDA driver of this machine, as the checks use it. */
#ifndef DRIVER_H
#define DRIVER_H

#include "../guest/harness/cuda_calls.h"

/* The first one. */
struct gpu {
	int number;	/* CUdevice */
	char address[32];
	void *context;	/* its primary one, which the main thread has */
	int exports;	/* it says that it makes DMA-bufs */
};

extern struct gpu gpu;
extern struct cuda_calls cuda;

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
