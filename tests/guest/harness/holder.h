/* SPDX-License-Identifier: GPL-2.0-only */
/* A process that has a window mapped and registered. */
#ifndef HOLDER_H
#define HOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct holder {
	pid_t pid;
	int command;		/* closed: give up the registration and end */
};

/*
 * Claims [offset, offset + size), fills it, registers it and, with traffic,
 * keeps writing to it by RDMA. Returns when all that is under way.
 */
void holder_start(struct holder *h, uint64_t offset, uint64_t size, bool traffic);

/* The holder deregisters and ends by itself; checks how it ended. */
void holder_release(struct holder *h);

void holder_kill(struct holder *h);

#endif /* HOLDER_H */
