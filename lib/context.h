/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A protection domain and what is registered in it. */
#ifndef VPEER_CONTEXT_H
#define VPEER_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "cache.h"
#include "internal.h"
#include "memory.h"
#include "verbs.h"

#define VPEER_ROUTES	5	/* enum vpeer_route */

enum vpeer_counter {
	VPEER_COUNT_SHARED_HITS,	/* ranges that shared a hit, which the cache has counted once */
	VPEER_COUNT_MISSES,
	VPEER_COUNT_REGISTERED,
	VPEER_COUNT_DEREGISTERED,
	VPEER_COUNT_DEFERRED,
	VPEER_COUNT_LOST,
	VPEER_COUNT_FAILED,
	VPEER_COUNT_UNCACHED,
	VPEER_COUNT_PROBES,
	VPEER_COUNT_REVOKED,
	VPEER_COUNT_EXPORTS,
	VPEER_COUNT_ROUTES,	/* and those that follow: one for each */
};

#define VPEER_COUNTERS	(VPEER_COUNT_ROUTES + VPEER_ROUTES)

/* How much of an aperture the registrations that are kept may take. */
struct vpeer_share {
	SLIST_ENTRY(vpeer_share) next;
	uint64_t aperture_id;
	struct vpeer_cache_budget budget;
};

/* What is known of a route. */
struct vpeer_verdict {
	bool works;
	int err;		/* why it cannot, for as long as the context lives; else 0 */
	unsigned int reason;
};

#define VPEER_KINDS	7	/* enum vpeer_memory_kind */

struct vpeer_context {
	/* What a hit reads. */
	struct vpeer_cache *cache;	/* NULL: nothing is kept */
	const uint32_t *alive;		/* 0 in a child of fork() */
	uint32_t tag;			/* of a registration without options */

	struct ibv_pd *pd;
	bool own_pd;
	bool threaded;
	struct vpeer_verbs verbs;
	struct vpeer_context_options options;	/* defaults filled in */
	char device[64];
	struct vpeer_finder *finder;
	int event;			/* a generation changed */
	int stop;			/* the thread is to end */
	pthread_t thread;

	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t reclaimed;
	bool reclaiming;		/* the thread does, or may not */
	LIST_HEAD(, vpeer_mr) mrs;	/* registered, kept or not */
	uint64_t loose;			/* of them not in the cache */
	uint64_t loose_bytes;
	SLIST_HEAD(, vpeer_share) shares;
	struct vpeer_verdict no_import;	/* the device's driver imports no DMA-bufs */

	/* Without it, and false at first: what was seen. */
	bool imports;			/* that driver looked for a DMA-buf */
	bool never_relaxed;		/* the kernel refused relaxed ordering */
	bool told_uncached;		/* that some memory's registrations are not kept */
	bool works[VPEER_KINDS][VPEER_ROUTES];
	uint64_t counters[VPEER_COUNTERS];
};

static inline bool vpeer_context_alive(const struct vpeer_context *context)
{
	return __atomic_load_n(context->alive, __ATOMIC_RELAXED);
}

static inline void vpeer_count_many(struct vpeer_context *context, unsigned int counter,
				    uint64_t count)
{
	__atomic_fetch_add(&context->counters[counter], count, __ATOMIC_RELAXED);
}

static inline void vpeer_count(struct vpeer_context *context, unsigned int counter)
{
	vpeer_count_many(context, counter, 1);
}

/* -ECHILD */
int vpeer_context_fail_forked(const struct vpeer_context *context, struct vpeer_error *error);

/* With functions of the caller's choice, which are the context's afterwards if it succeeds. */
int vpeer_context_begin(struct vpeer_context **context, struct ibv_pd *pd,
			const struct vpeer_context_options *options,
			const struct vpeer_verbs *verbs, struct vpeer_error *error);

/* The share of the memory's aperture; NULL for other memory, or without memory for it. */
struct vpeer_cache_budget *vpeer_context_budget(struct vpeer_context *context,
						const struct vpeer_memory *memory);

/*
 * Ends the context's own protection domain, if it has one. -EBUSY: something is in it, and
 * nothing was done; with another error it is lost.
 */
int vpeer_pd_end(struct vpeer_context *context, struct vpeer_error *error);

/* reclaim.c */
int vpeer_reclaim_start(struct vpeer_context *context, struct vpeer_error *error);
void vpeer_reclaim_stop(struct vpeer_context *context);

/*
 * Between them no one else is, and the context's own thread does not reclaim. No mutex is
 * held meanwhile: it calls the user.
 */
void vpeer_reclaim_enter(struct vpeer_context *context);
void vpeer_reclaim_leave(struct vpeer_context *context);

/* log.c */
__attribute__((format(printf, 3, 4)))
void vpeer_log(const struct vpeer_context *context, int level, const char *format, ...);

/* Name and words of an errno, also of those that only kernels have. */
#define VPEER_ERRNO_LEN	96
const char *vpeer_errno_text(int err, char text[VPEER_ERRNO_LEN]);

#endif /* VPEER_CONTEXT_H */
