/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A registration. It is kept in the context's cache, which counts who holds it, or it is
 * loose and counts them itself.
 */
#ifndef VPEER_MR_H
#define VPEER_MR_H

#include "context.h"

struct vpeer_mr {
	struct vpeer_context *context;
	struct vpeer_cache_entry *entry;	/* NULL: loose */
	uint64_t work;		/* in flight, and above VPEER_MR_DEFERRED who gave it back meanwhile */
	uint32_t holders;	/* of a loose one */

	uint32_t refs;		/* on the MR: while it is registered, and of who looks at it */
	struct ibv_mr *ibv;
	unsigned int route;
	bool relaxed;
	struct vpeer_memory memory;
	uint64_t start;		/* in work requests */
	uint64_t length;
	uint32_t access;
	uint32_t tag;
	void *own;		/* staging buffer, or pages of a DMA-buf */
	size_t own_length;
	bool kept;
	struct vpeer_cache_source *source;	/* of a kept one */

	/* Under the context's lock. */
	LIST_ENTRY(vpeer_mr) link;
	bool ended;
	bool told;		/* revoked() was called for it, or is not to be yet */
	bool doubtful;		/* told, unless someone holds it after all */
};

#define VPEER_MR_DEFERRED	(1ULL << 32)

/*
 * Gives @mr, which is registered and held once, to the cache or to the list of loose ones.
 * -EEXIST: @entry is a kept one that covers its range; -ESTALE: its memory was taken back.
 * In both cases @mr has ended.
 */
int vpeer_mr_publish(struct vpeer_mr *mr, bool keep, uint64_t ticket, struct vpeer_mr **other);

/* No one holds it, and it is not to be found any more. Returns what ibv_dereg_mr() did. */
int vpeer_mr_end(struct vpeer_mr *mr);

/* One hold more, by who has one; and one given back. */
void vpeer_mr_hold(struct vpeer_mr *mr);
int vpeer_mr_put(struct vpeer_mr *mr);

/* 1 if anyone holds it, else 0, or -EAGAIN: not known yet; by who has it pinned. */
int vpeer_mr_held(struct vpeer_mr *mr);

/* The one that a look into the cache has found. */
struct vpeer_mr *vpeer_mr_found(struct vpeer_cache_entry *entry);

/* Under the context's lock: it stays readable, and its MR in being, until vpeer_mr_unpin(). */
void vpeer_mr_pin(struct vpeer_mr *mr);
int vpeer_mr_unpin(struct vpeer_mr *mr);

/* What is found by address now may be other memory. Without asking a driver. */
static inline bool vpeer_mr_moved(const struct vpeer_mr *mr)
{
	return mr->memory.word &&
	       __atomic_load_n(mr->memory.word, __ATOMIC_ACQUIRE) != mr->memory.seen;
}

/* Not only some address of the window was unmapped: the memory is not reached any more. */
static inline bool vpeer_mr_cut_off(const struct vpeer_mr *mr)
{
	return mr->memory.word &&
	       (__atomic_load_n(mr->memory.word, __ATOMIC_ACQUIRE) ^ mr->memory.seen) >=
	       VPEER_GENERATION_ACCESS;
}

/* ", 4096 bytes at 0x1000"; nothing if the memory's name says that already. */
#define VPEER_RANGE_LEN	64
const char *vpeer_mr_range_text(const struct vpeer_mr *mr, char text[VPEER_RANGE_LEN]);

bool vpeer_mr_valid(const struct vpeer_mr *mr);

#endif /* VPEER_MR_H */
