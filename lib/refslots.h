/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * References that a thread notes in slots of its own, where no other thread
 * writes. Whoever wants to know whether an object is referenced looks at the
 * slots of all threads and at a count of the object's, which stands for what the
 * slots do not hold: references that found no room, and, below zero, those given
 * back by a thread that has no slot with them. Their sum is the number of
 * references.
 *
 * The fences between the owner of a slot and who looks at it are their business.
 */
#ifndef VPEER_REFSLOTS_H
#define VPEER_REFSLOTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VPEER_REFSLOTS	16

#ifdef VPEER_PAUSE
/* Tests stop threads here at random, so that what may come between does come between. */
void vpeer_pause(void);
#else
static inline void vpeer_pause(void)
{
}
#endif

struct vpeer_refslots;

struct vpeer_refslots_block {
	const void *objects[VPEER_REFSLOTS];	/* NULL for none; written by the thread only */
	uint64_t hits;		/* the user's; likewise */
	bool passed;		/* likewise; see vpeer_refslots_all_passed() */
	struct vpeer_refslots *slots;
	struct vpeer_refslots_block *next;
	bool taken;
} __attribute__((aligned(128)));

struct vpeer_refslots {
	uint64_t id;
	pthread_key_t key;
	struct vpeer_refslots_block *blocks;
	void (*spill)(void *arg, const void *object);
	void *arg;
};

/* @spill adds one to an object's count, on the thread whose slot is emptied next. */
int vpeer_refslots_begin(struct vpeer_refslots *slots,
			 void (*spill)(void *arg, const void *object), void *arg);

/* No thread that has a block may use or end it meanwhile. */
void vpeer_refslots_end(struct vpeer_refslots *slots);

/* This thread's block, made if there is none; NULL if there is no memory. */
struct vpeer_refslots_block *vpeer_refslots_attach(struct vpeer_refslots *slots);

/* Moves all that the thread's own block holds to the objects' counts. */
void vpeer_refslots_spill(struct vpeer_refslots_block *block);

/* Calls @each for every slot in use. */
void vpeer_refslots_scan(struct vpeer_refslots *slots,
			 void (*each)(void *arg, const void *object), void *arg);

/*
 * Whether each thread that has a block has passed a place that the user chose, or has ended
 * since: what it had noted in slots before is seen by who scans them then.
 */
bool vpeer_refslots_all_passed(struct vpeer_refslots *slots);

uint64_t vpeer_refslots_hits(struct vpeer_refslots *slots);
uint64_t vpeer_refslots_memory(struct vpeer_refslots *slots);

/* The block that this thread used last: a look at the key would take half as long as a hit. */
struct vpeer_refslots_recent {
	uint64_t id;
	struct vpeer_refslots_block *block;
};

/* Of no slots, but of a thread that used none recently; not 0. */
#define VPEER_REFSLOTS_NONE	UINT64_MAX
/* Of no slots nor threads; not 0. */
#define VPEER_REFSLOTS_NOBODY	(UINT64_MAX - 1)

extern __thread struct vpeer_refslots_recent vpeer_refslots_recent
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

struct vpeer_refslots_block *vpeer_refslots_find(struct vpeer_refslots *slots);

/* This thread's block; NULL if it has none yet. */
static inline struct vpeer_refslots_block *vpeer_refslots_mine(struct vpeer_refslots *slots)
{
	if (__builtin_expect(vpeer_refslots_recent.id == slots->id, 1))
		return vpeer_refslots_recent.block;
	return vpeer_refslots_find(slots);
}

/* An empty slot of the thread's own block; NULL if there is none. */
static inline const void **vpeer_refslots_empty(struct vpeer_refslots_block *block)
{
	for (unsigned int i = 0; i < VPEER_REFSLOTS; i++)
		if (!block->objects[i])
			return &block->objects[i];
	return NULL;
}

static inline void vpeer_refslots_set(const void **slot, const void *object)
{
	__atomic_store_n(slot, object, __ATOMIC_RELEASE);
}

/* By the block's own thread; true for the first time. */
static inline bool vpeer_refslots_pass(struct vpeer_refslots_block *block)
{
	if (__atomic_load_n(&block->passed, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&block->passed, true, __ATOMIC_RELEASE);
	return true;
}

/* False if no slot of the thread's own block has @object. */
static inline bool vpeer_refslots_clear(struct vpeer_refslots_block *block, const void *object)
{
	for (unsigned int i = 0; i < VPEER_REFSLOTS; i++) {
		if (block->objects[i] != object)
			continue;
		vpeer_refslots_set(&block->objects[i], NULL);
		return true;
	}
	return false;
}

#endif /* VPEER_REFSLOTS_H */
