/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the test driver share. Numbers are those of the real driver's interface. */
#ifndef DRIVER_H
#define DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "test_cuda.h"

#define EXPORTED	__attribute__((visibility("default")))
#define UNIT		(64ULL << 10)	/* of addresses and of device memory */
#define DEVICES		4

typedef unsigned long long pointer;

enum result {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	OPERATING_SYSTEM = 304,
	NOT_SUPPORTED = 801,
};

enum { TYPE_HOST = 1, TYPE_DEVICE = 2 };

struct context {
	int device;
	bool primary;
};

/* Addresses that mean something. */
struct allocation {
	struct allocation *next;	/* by address */
	pointer start;
	uint64_t length;
	uint64_t id;			/* as all of a reservation */
	uint64_t block;			/* of the memory behind it */
	uint64_t place;			/* in device memory */
	int device;
	int type;
	bool managed;
	bool mapped;			/* by cuMemMap() */
	bool gdr;
	int sync;
	struct context *context;
};

struct device {
	struct test_cuda_device is;
	uint8_t *used;			/* for each UNIT */
	uint64_t next;			/* UNIT to look at first */
	struct context primary;
	unsigned int retained;
};

extern struct device devices[DEVICES];
extern int device_count;

/* Counts a call; what it is to fail with. Takes the lock, which leave() drops. */
int enter(const char *function);
int leave(int result);

/* The thread's, or NULL. The lock is held from here on. */
struct context *current(void);

/* A run of UNITs: UINT64_MAX if there is none. */
uint64_t take_memory(struct device *device, uint64_t size);
void give_memory(struct device *device, uint64_t place, uint64_t size);

/* Addresses that nothing has, of an alignment of UNIT; 0: none left. */
pointer take_addresses(uint64_t size);
void give_addresses(pointer start, uint64_t size);

/* What was reserved around an address. */
struct reserved {
	struct reserved *next;
	pointer start;
	uint64_t length;
	uint64_t id;
};

const struct reserved *find_reserved(pointer at);

struct allocation *find_allocation(pointer at);
struct allocation *add_allocation(pointer start, uint64_t length, int device, uint64_t place);
void remove_allocation(struct allocation *allocation);

/* Runs of device memory behind a range, merged where they touch; count, or 0 if part of it is not device memory. */
size_t find_extents(pointer start, uint64_t length, struct test_cuda_extent *extents,
		    size_t room);

#endif /* DRIVER_H */
