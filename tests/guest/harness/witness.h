/* SPDX-License-Identifier: GPL-2.0-only */
/* An open file that sees everything a revocation is to do. */
#ifndef WITNESS_H
#define WITNESS_H

#include <stdint.h>

struct witness {
	int fd;
	int event;
	int dmabuf;
	uint64_t offset;
	uint64_t generation;
	const volatile uint64_t *place;	/* of its generation */
	char *mapped;			/* the window */
	char *exported;			/* the DMA-buf of it */
};

/*
 * Claims a granule of an aperture, maps it, exports it, maps that as well, and
 * asks for an event.
 */
void witness_start(struct witness *w, uint64_t offset);

/* Nothing has happened to it. */
void witness_check_untouched(const struct witness *w);

/* It was told once, all access has ended, and this is why. */
void witness_check_revoked(const struct witness *w, uint32_t cause);

void witness_end(struct witness *w);

/* An eventfd that does not block; what it was signalled since the last look. */
int event_make(void);
uint64_t event_count(int event);

/*
 * Thousands that wait for an eventfd too, until the descriptor returned is
 * closed: the kernel goes through them while who does not wait already looks.
 */
int event_crowd(int event);

/* As the ioctl, the second without flags: -1 and errno. @reason may be NULL. */
int event_call(int fd, int event, uint32_t flags, uint32_t *reason);
int event_ask(int fd, int event, uint32_t *reason);

#endif /* WITNESS_H */
