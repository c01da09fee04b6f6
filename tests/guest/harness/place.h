/* SPDX-License-Identifier: GPL-2.0-only */
/* An address at which one kind of memory follows another. */
#ifndef HARNESS_PLACE_H
#define HARNESS_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu_window.h"
#include "harness.h"

#define PLACE_SIZE	(16 * KIB)

/* How the old memory goes. Whatever is still mapped then is mapped over. */
enum leave { UNMAP, COVER, MOVE, FREE, REVOKE, CLOSE, LEAVES };

/* What comes: a window, or a part of one, or ordinary memory. */
enum next { OTHER_FILE, SAME_FILE, OTHER_PART, SAME_PLACE, OTHER_APERTURE, PLAIN, NEXTS };

struct backing {
	enum next kind;
	int fd;			/* that its window is of; -1: closed, or ordinary memory */
	bool claimed;		/* its window is */
	uint64_t at;		/* of the window, in the aperture */
	uint64_t shift;		/* of the bytes, in the window */
	const char *plain;	/* where ordinary memory is; NULL when it is no more */
};

struct place {
	struct backing now;
	char *at;		/* the address */
	char *away;		/* another, to move old memory to */
	struct gpu_window *first;	/* of the aperture under test, if that is a GPU's; or NULL */
	struct gpu_window second;	/* of another, likewise */
	unsigned int windows;	/* made so far */
};

/* With a window there. */
void place_begin(struct place *p, struct gpu_window *first);
void place_end(struct place *p);

/*
 * What is there goes, and other memory comes; what went is to be retired. The second is told
 * whether somebody holds what goes: a window that no one holds must end at once.
 */
enum leave place_possible_leave(const struct place *p, enum leave way);
enum next place_possible_next(const struct place *p, enum leave way, enum next next);
struct backing place_let_go(struct place *p, enum leave way, bool in_use);
void place_come(struct place *p, struct backing *old, enum next next);
void place_retire(struct place *p, struct backing *old);

bool is_window(const struct backing *b);

/* The pattern of a seed, as the memory's owner sees it. */
bool place_holds(struct place *p, const struct backing *b, uint64_t seed);

/* Other ordinary memory in place of such, or of anything. */
void place_put_plain(struct place *p);

#endif /* HARNESS_PLACE_H */
