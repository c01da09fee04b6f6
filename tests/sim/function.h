/* SPDX-License-Identifier: GPL-2.0-only */
/* A PCI function that QEMU is, or will be, connected to. */
#ifndef SIM_FUNCTION_H
#define SIM_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "fault.h"

#define FUNCTION_BARS	6

struct client;
struct function;
struct iova_map;
struct irqs;
struct peer;
struct translations;

struct bar {
	uint64_t size;		/* power of 2, or 0: not there */
	bool is_64bit;
	bool prefetchable;
	int fd; /* of the memory behind it, mapped by QEMU; -1: none, all goes by messages */
};

/*
 * What a device does. An access is 1, 2, 4 or 8 bytes, aligned and inside the BAR, and only comes for BARs
 * without memory of their own. A read gives all ones where nothing is. None of these may reach guest
 * memory: they defer work that does (loop_defer).
 */
struct device {
	const char *kind;	/* "vgpu", "vrnic" */
	/* 0 or -errno, told why on stderr. */
	int (*create)(struct function *function, const char *options);
	uint64_t (*read)(struct function *function, unsigned int bar, uint64_t offset,
			 unsigned int size);
	void (*write)(struct function *function, unsigned int bar, uint64_t offset,
		      unsigned int size, uint64_t value);
	void (*reset)(struct function *function);	/* also when QEMU goes */
	/* The misbehaviour "hang" ended; may be NULL. */
	void (*go_on)(struct function *function);
	/* Text for the control socket; may be NULL. */
	void (*state)(struct function *function, int out);
	void (*destroy)(struct function *function);
};

struct function {
	char name[32];		/* vgpu0, vrnic1 ... */
	const struct device *device;
	struct config config;
	struct bar bars[FUNCTION_BARS];
	unsigned int vectors;	/* MSI-X; its table lies in BAR 4 */
	struct client *client;	/* NULL: no QEMU is connected */
	struct iova_map *map;
	struct translations *translations;
	struct irqs *irqs;
	struct peer *peer;	/* what misbehaviours keep */
	struct faults faults;
	uint64_t bounce, bounce_size;
	uint64_t untranslated;	/* accesses that found no translation */
	bool own_queues;	/* what it reaches now: no translation is stale there */
	bool resetting;		/* the device's reset waits until the work that runs is done */
	void *private;		/* the device's */
	struct function *next;
};

extern struct function *functions;

/* Raises MSI-X vector, if the guest has it unmasked; else it is pending until then. */
void function_interrupt(struct function *function, unsigned int vector);

/*
 * Memory of the guest's driver, by its IOVA, that transfers with peers go through while the misbehaviour
 * "bounce" is on; forgotten by a reset. Size 0: none, and such transfers fail.
 */
void function_bounce(struct function *function, uint64_t iova, uint64_t size);

/* Whether it may reach memory: bus mastering is on, it is not "gone", QEMU is connected. */
bool function_is_master(const struct function *function);

#endif
