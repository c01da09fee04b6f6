/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One process of a storm: claims memory, checks that it holds zeroes, fills it
 * with words of its own, and uses it in every way until it is killed.
 */
#ifndef OWNER_H
#define OWNER_H

#include <stdbool.h>
#include <stdint.h>

#define OWNER_PLACES	4	/* owners at a time on one aperture */

enum owner_act {
	OWNER_CLAIM,		/* explicit window or plain mmap() */
	OWNER_FIRST_TOUCH,	/* all zero? then filled */
	OWNER_REGISTER,		/* an MR, and RDMA into it and out of it */
	OWNER_DISK,		/* O_DIRECT */
	OWNER_AIO,		/* the same, several in flight */
	OWNER_FORK,		/* a child that may outlive its parent */
	OWNER_PASS,		/* the descriptor to another owner */
	OWNER_TAKE,		/* someone's descriptor */
	OWNER_VIEW,		/* bytes compared on the memory owner's side */
	OWNER_REVOKE,
	OWNER_FREE,
	OWNER_ACTS,
};

extern const char *const owner_act_names[OWNER_ACTS];

/* Shared by all processes of a storm. */
struct storm {
	uint64_t done[OWNER_ACTS];
	uint64_t bytes_found_zero;
	uint64_t faults;		/* SIGBUS as the aperture left */
	uint32_t next_owner;
	enum owner_act now[OWNER_PLACES];
	volatile int told;
	char trouble[256];		/* the first one */
};

struct owner {
	struct storm *storm;
	uint32_t number;
	uint32_t seed;
	unsigned int place;		/* below OWNER_PLACES */
	int exchange;			/* datagrams with descriptors */
	bool leaves;			/* the aperture may leave at any moment */
	const char *disk;
	uint64_t start;			/* granules of the aperture it may claim */
	uint64_t end;
};

/* How an owner ends when it is not killed; storm.trouble says more. */
#define OWNER_SAW_OTHERS	40	/* not zero at first touch */
#define OWNER_DAMAGED		41	/* its own words have changed */

_Noreturn void owner_run(const struct owner *owner);

/* Takes the descriptors that no one has taken; returns how many. */
unsigned int owner_drain(int exchange);

#endif /* OWNER_H */
