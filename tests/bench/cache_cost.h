/* SPDX-License-Identifier: GPL-2.0-only */
/* What is measured, and of what. */
#ifndef CACHE_COST_H
#define CACHE_COST_H

#include <stddef.h>
#include <stdint.h>

#define BASE	0x100000000000ULL
#define SIZE	(64ULL << 10)
#define STRIDE	(2 * SIZE)

/* A cache. @hits gets and puts the ranges of SIZE bytes at each start once. */
struct subject {
	const char *name;
	void (*fill)(const uint64_t *starts, size_t count);
	void (*hits)(const uint64_t *starts, size_t count);
	void (*empty)(void);
};

extern const struct subject vpeer, ucx;

/* The library's, piece by piece. */
void vpeer_begin(uint32_t entries);
void vpeer_insert(uint64_t start, uint64_t size);
void vpeer_hit(uint64_t start, uint64_t size);
void vpeer_empty(void);
extern uint64_t vpeer_bytes;	/* of the cache's own memory when it was last filled */

void die(const char *what, int err) __attribute__((noreturn));

#endif /* CACHE_COST_H */
