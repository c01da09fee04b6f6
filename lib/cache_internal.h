/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the cache's files share.
 *
 * A hit notes the entry in a slot of its thread (refslots.h) and only then
 * looks at the entry's state. Who drops entries changes their state first, then has
 * every thread of the process pass a fence (membarrier()), and only then looks at
 * the slots: either it sees the slot, or the hit sees the state. So a hit needs no
 * fence itself, and an entry found alive stays as it is while it is noted.
 *
 * Where membarrier() is refused, hits have fences. When that is found out later, a thread
 * may be in the midst of a hit without one: until it is known to have seen that fences are
 * needed (refslots.h: it has passed), nothing that it may have noted is dropped.
 *
 * A reference is given back the same way round: the slot is emptied, then the state
 * looked at; who finds the entry dead looks under the lock whether it was the last.
 */
#ifndef VPEER_CACHE_INTERNAL_H
#define VPEER_CACHE_INTERNAL_H

#include <pthread.h>
#include <stddef.h>

#include "cache.h"
#include "cache_table.h"
#include "range_index.h"
#include "refslots.h"
#include "reserve.h"

enum cache_state {
	CACHE_FREE,
	CACHE_DEAD,	/* on the pending list: nobody has looked whether it is in use */
	CACHE_HELD,	/* dead and was in use; goes with the last reference */
	CACHE_ALIVE,
	CACHE_HIT,	/* alive, and hit since it was last looked at for eviction */
	CACHE_ASKED,	/* the same, but its source has to be asked at each hit */
};

/* What a hit reads: one line of the processor's cache. */
struct cache_entry {
	struct vpeer_cache_entry user;
	uint64_t start;
	uint64_t size;
	const uint64_t *word;	/* its own generation if it has none; NULL to ask the source */
	uint64_t generation;
	struct vpeer_cache_source *source;
	uint32_t denied;	/* all flags of access that it has not */
	uint32_t kind;
	uint32_t state;		/* enum cache_state */
} __attribute__((aligned(64)));

/* Two neighbours of an entry in a list; 0 is its end. */
struct cache_link {
	uint32_t prev;
	uint32_t next;
};

struct cache_list {
	uint32_t first;
	uint32_t last;
};

/* The rest of an entry, under the lock but for @shared. */
struct cache_record {
	int32_t shared;		/* see refslots.h; of all that had this number */
	uint32_t seen;		/* in slots, if @scan is the last one */
	uint64_t scan;
	struct cache_link queue;	/* of all alive, or of the pending (next only), or free ones */
	struct cache_link sibling;	/* of the same source */
	struct vpeer_cache_budget *budget;
};

struct vpeer_cache_source {
	struct vpeer_cache *cache;
	struct vpeer_cache_source_config config;
	struct vpeer_cache_source *next, **link;
	struct cache_list entries;	/* alive */
	uint64_t references;		/* values not yet dropped, and 1 until it ends */
	uint64_t invalidated;		/* the ticket from which on insertions are good */
	uint64_t seen;			/* the word, when its entries were last looked at */
	bool ended;
};

#define CACHE_RECENT	64	/* invalidated ranges that are known */

struct cache_range {
	uint64_t first;
	uint64_t last;
};

/* It lies at the beginning of @memory, so that a hit has no pointers to load but the table's. */
struct vpeer_cache {
	/* In a child of fork() these are zero, by themselves: a page of their own. */
	struct vpeer_table *table;
	uint64_t quick;		/* the number of the slots; another one if hits need fences */

	struct vpeer_reserve memory __attribute__((aligned(VPEER_LARGEST_PAGE)));
	struct vpeer_refslots refslots;
	bool fenced;		/* see cache_fenced() */
	bool late;		/* not since the beginning */
	struct vpeer_cache_config config;
	pthread_mutex_t lock;
	bool alone;		/* no other thread is in a call */
	int refused;		/* errno that is to be told when the lock is free */
	struct cache_record *records;
	struct vpeer_reserve record_memory, node_memory;
	struct vpeer_range_index index;
	struct cache_list queue;
	uint32_t pending, unused, made;
	uint64_t scan;
	struct vpeer_table *tables[TABLE_MAX_BITS + 1][2];	/* two of each size, in turn */
	uint64_t displaced, crowded;	/* in the present table */
	struct vpeer_cache_source *sources;
	uint64_t ticket;
	struct cache_range recent[CACHE_RECENT];
	struct vpeer_cache_stats stats;
	uint64_t slow_hits, misses;	/* counted without the lock; not in @stats */

	struct cache_entry entries[];	/* the first one is none */
};

/* Of the cache with @entries entries. */
static inline size_t cache_bytes(size_t entries)
{
	return sizeof(struct vpeer_cache) + entries * sizeof(struct cache_entry);
}

#define CACHE_BATCH	64

/* Values that are to be dropped once the lock is free. */
struct cache_batch {
	unsigned int count;
	void *values[CACHE_BATCH];
	struct vpeer_cache_source *sources[CACHE_BATCH];
};

/* True in a child of fork(), which must not take the lock. */
static inline bool cache_forked(const struct vpeer_cache *cache)
{
	return !__atomic_load_n(&cache->quick, __ATOMIC_RELAXED);
}

static inline void cache_lock(struct vpeer_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
}

/* Hits need fences. What this thread does from then on has them. */
static inline bool cache_fenced(const struct vpeer_cache *cache)
{
	return __builtin_expect(__atomic_load_n(&cache->fenced, __ATOMIC_ACQUIRE), 0);
}

/* The near side of the fences, see the top, where there is a far one. */
static inline void cache_quick_fence(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	vpeer_pause();
}

static inline void cache_near_fence(const struct vpeer_cache *cache)
{
	cache_quick_fence();
	if (cache_fenced(cache))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline uint32_t cache_id(const struct vpeer_cache *cache, const struct cache_entry *entry)
{
	return (uint32_t)(entry - cache->entries);
}

static inline uint32_t cache_state(const struct cache_entry *entry)
{
	return __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
}

static inline bool cache_alive(const struct cache_entry *entry)
{
	return cache_state(entry) >= CACHE_ALIVE;
}

static inline void cache_set_state(struct cache_entry *entry, enum cache_state state)
{
	__atomic_store_n(&entry->state, state, __ATOMIC_RELEASE);
}

static inline bool cache_was_hit(const struct cache_entry *entry)
{
	return cache_state(entry) > CACHE_ALIVE;
}

/* Of a referenced one; somebody else may declare it dead meanwhile. */
static inline void cache_note_hit(struct cache_entry *entry)
{
	uint32_t alive = CACHE_ALIVE;

	__atomic_compare_exchange_n(&entry->state, &alive, entry->word ? CACHE_HIT : CACHE_ASKED,
				    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* What begins before the entry has an offset of almost 2^64: its sum overflows, or is too large. */
static inline bool cache_covers(const struct cache_entry *entry, uint64_t start, uint64_t size)
{
	uint64_t end;

	return !__builtin_add_overflow(start - entry->start, size, &end) && end <= entry->size;
}

static inline bool cache_allows(const struct cache_entry *entry, uint32_t access, uint32_t kind)
{
	return !(access & entry->denied) && entry->kind == kind;
}

/* Of a referenced entry; without the lock held, as the caller's check() may be called. */
bool cache_ask(const struct cache_entry *entry, uint64_t start, uint64_t size);

static inline bool cache_valid(const struct cache_entry *entry, uint64_t start, uint64_t size)
{
	if (entry->word)
		return __atomic_load_n(entry->word, __ATOMIC_ACQUIRE) == entry->generation;
	return cache_ask(entry, start, size);
}

/* cache_fence.c: 0, or the errno of membarrier() */
int cache_try_far_fence(bool first);

/* With the lock held: false if there may be hits that are not seen. */
bool cache_far_fence(struct vpeer_cache *cache);

/* With @mine, this thread's block, at a call of its own. */
void cache_pass(struct vpeer_cache *cache, struct vpeer_refslots_block *mine);
void cache_unlock(struct vpeer_cache *cache);

/* cache_lists.c: the lists, with the lock held */
void cache_append(struct vpeer_cache *cache, struct cache_list *list, size_t member, uint32_t id);
void cache_take_out(struct vpeer_cache *cache, struct cache_list *list, size_t member,
		    uint32_t id);

#define CACHE_QUEUE	offsetof(struct cache_record, queue)
#define CACHE_SIBLING	offsetof(struct cache_record, sibling)

/* cache_look.c: with the lock held, the entry is alive and covers all; 0 for none */
uint32_t cache_look(struct vpeer_cache *cache, uint64_t start, uint64_t size, uint32_t access,
		    uint32_t kind);

/*
 * Likewise, and valid: without the lock held, and referenced. Entries found stale on
 * the way are dropped.
 */
struct cache_entry *cache_find(struct vpeer_cache *cache, uint64_t start, uint64_t size,
			       uint32_t access, uint32_t kind);
void cache_reference(struct vpeer_cache *cache, uint32_t id);

/* The caller's reference is given back, and the entry dropped when it has no other. */
void cache_drop_stale(struct vpeer_cache *cache, struct cache_entry *entry);

/* cache_source.c: with the lock held, one reference less; true if it is to be released then. */
bool cache_source_put(struct vpeer_cache_source *source);
void cache_source_release(struct vpeer_cache_source *source);
/* 0, -ESTALE or -EBUSY: see vpeer_cache_insert() */
int cache_invalidated(const struct vpeer_cache *cache, const struct vpeer_cache_insert *insert);

/* cache_retire.c: with the lock held, an entry that is alive is to go; cache_drain() comes next. */
void cache_retire(struct vpeer_cache *cache, uint32_t id);

/* With the lock held: notes how often each entry is in slots, for cache_in_use(). */
void cache_scan(struct vpeer_cache *cache);
bool cache_in_use(const struct vpeer_cache *cache, uint32_t id);

/* With the lock held: an idle entry that is no longer alive becomes a free number. */
void cache_give(struct vpeer_cache *cache, uint32_t id, struct cache_batch *batch);
void cache_unlink(struct vpeer_cache *cache, uint32_t id);


/* Without it: drops what is in the batch; what waits to be looked at; one entry if it is idle. */
void cache_drop(struct vpeer_cache *cache, struct cache_batch *batch);
void cache_drain(struct vpeer_cache *cache);
void cache_finish(struct vpeer_cache *cache, uint32_t id);

/* cache_fill.c: with the lock held */
void cache_fill(struct vpeer_cache *cache, uint64_t start, uint32_t id);
uint64_t cache_fill_bytes(const struct vpeer_cache *cache);
int cache_fill_begin(struct vpeer_cache *cache);
void cache_fill_end(struct vpeer_cache *cache);

/* Makes the table fit for one more entry. -ENOMEM */
int cache_fill_fit(struct vpeer_cache *cache);

/* cache_evict.c: with the lock held; see vpeer_cache_insert() */
int cache_make_room(struct vpeer_cache *cache, const struct vpeer_cache_insert *insert,
		    struct cache_batch *batch);

#endif /* VPEER_CACHE_INTERNAL_H */
