/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs of this directory have in common: memory behind a BAR, the bytes to send, a second
 * process. Each prints "target OFFSET" and "initiator OFFSET", where in the BAR its memory lay, for who
 * compares bytes with what the BAR's owner has.
 */
#ifndef INTEROP_MEMORY_H
#define INTEROP_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* The first half of a piece of memory is sent, the second half receives. */
#define SIZE	(1UL << 20)
#define HALF	(SIZE / 2)

struct memory {
	char *address;
	uint64_t offset;	/* in the BAR */
};

struct peer {
	int socket;		/* to the other process */
	int is_target;
};

/* Ends the process with a message and status 1. */
_Noreturn __attribute__((format(printf, 1, 2)))
void die(const char *format, ...);

/*
 * A window of the aperture, or, if $INTEROP_PLAIN is set, the same BAR mapped by
 * the kernel's own means. @number: 0 and 1 lie apart.
 */
void memory_take(struct memory *memory, const char *pci, unsigned int number);

/* HALF bytes of a file, from the given one on, to the first half; the second half is cleared. */
void memory_fill(const struct memory *memory, const char *file, size_t from);

/* Forks: both processes go on, the second one ends with the first. */
void peer_start(struct peer *peer);

/* Waits for the second process; the first one's exit status. */
int peer_end(struct peer *peer);

void peer_send(const struct peer *peer, const void *data, size_t size);
void peer_receive(const struct peer *peer, void *data, size_t size);

#endif /* INTEROP_MEMORY_H */
