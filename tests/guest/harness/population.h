/* SPDX-License-Identifier: GPL-2.0-only */
/* The owners that live on one aperture at a time. */
#ifndef POPULATION_H
#define POPULATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "owner.h"

struct population {
	struct storm *storm;
	unsigned int size;	/* at most OWNER_PLACES */
	bool leaves;
	const char *disk;	/* variable that names it */
	uint64_t start, end;	/* granules they may claim */
	int exchange[2];
	pid_t pids[OWNER_PLACES];
	uint64_t killed_in[OWNER_ACTS];
};

struct storm *storm_make(void);

/* The caller becomes the parent of what its owners leave behind. */
void population_start(struct population *p);

/* kill -9 one, wait until it is gone, start another. */
void population_replace(struct population *p, unsigned int place);

void population_kill(struct population *p, unsigned int place);
void population_end(struct population *p);

/* Fails the case if an owner ended by itself. */
void population_check(struct population *p);

/* Closes the descriptors that owners have passed and no one has taken. */
void population_drain(const struct population *p);

/* Waits for one to end by itself, at most so long: its exit status, or -1. */
int population_wait(struct population *p, unsigned int milliseconds);

/* Prints what was done; with @all, each act must have been. */
void storm_report(const struct population *p, bool all);

#endif /* POPULATION_H */
