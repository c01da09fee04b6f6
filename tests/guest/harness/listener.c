// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>

#include "harness.h"
#include "listener.h"

static void *listen_once(void *data)
{
	struct listener *l = data;
	struct pollfd wait = { .fd = l->event, .events = POLLIN };

	l->ready = 1;
	while (!poll(&wait, 1, 0))
		;
	l->seen = __atomic_load_n(l->generation, __ATOMIC_ACQUIRE);
	return NULL;
}

void listener_start(struct listener *l, int event, const volatile uint64_t *generation)
{
	*l = (struct listener){ .event = event, .generation = generation };
	CHECK_EQ(pthread_create(&l->thread, NULL, listen_once, l), 0);
	while (!l->ready)
		;
}

uint64_t listener_end(struct listener *l)
{
	CHECK_EQ(pthread_join(l->thread, NULL), 0);
	return l->seen;
}
