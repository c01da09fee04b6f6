/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread that looks at a generation as soon as it is told of an event. */
#ifndef HARNESS_LISTENER_H
#define HARNESS_LISTENER_H

#include <pthread.h>
#include <stdint.h>

struct listener {
	int event;
	const volatile uint64_t *generation;
	uint64_t seen;
	volatile int ready;
	pthread_t thread;
};

/* It listens to the eventfd @event by the time this returns. */
void listener_start(struct listener *l, int event, const volatile uint64_t *generation);

/* The generation that it saw when it was told. */
uint64_t listener_end(struct listener *l);

#endif /* HARNESS_LISTENER_H */
