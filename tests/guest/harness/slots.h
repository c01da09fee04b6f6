/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses at which windows of the aperture under test, or ordinary memory, come and go. */
#ifndef HARNESS_SLOTS_H
#define HARNESS_SLOTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness.h"

#define SLOT_SIZE	(128 * KIB)	/* that is mapped */

struct slot {
	pthread_rwlock_t lock;	/* who holds it for reading finds all as it was */
	char *at;
	bool plain;		/* ordinary memory */
	bool live;		/* mapped, and may be used */
	char node[64];		/* of the aperture */
	int fd;
	uint64_t first;		/* granule of the aperture, of three that it has */
	uint64_t offset;	/* of the window; 0: none */
	unsigned int claims;
};

/* Each has a number below 8 of its own. */
void slot_begin(struct slot *slot, unsigned int number, bool plain);
void slot_end(struct slot *slot);

/* With the lock held for writing: in a way that @chance chooses. The address stays taken all the time. */
void slot_change(struct slot *slot, uint32_t chance);

#endif /* HARNESS_SLOTS_H */
