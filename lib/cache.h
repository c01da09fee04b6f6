/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cache of registrations by address range; not installed, not exported.
 *
 * An entry stands for a range of addresses and holds a value of the caller's (a
 * registration). It answers any request for a part of its range. It is valid as
 * long as its source says so, and is dropped (the caller's drop()) exactly once:
 * when it is found stale, invalidated, or evicted, but never while it is
 * referenced; then it is dropped with its last reference.
 *
 * Where the kernel refuses membarrier() from some time on, as with a seccomp filter, nothing
 * is dropped, and nothing evicted, before each thread that had hits until then has made
 * another call, or has ended.
 *
 * All functions may be called from any thread, except vpeer_cache_begin() and
 * vpeer_cache_end(); none may be called from a signal handler, nor from a hook of
 * malloc(), mmap(), mprotect() or madvise(), which the cache calls. drop(), release(),
 * check(), refused() and passed() are called without a lock held, on the thread whose call led to
 * it, and may call the cache, but not end it.
 *
 * In a child of fork() the cache is empty: nothing is found, nothing can be
 * inserted, and neither drop() nor release() is called, since what they would
 * give back is the parent's. vpeer_cache_end() frees the child's memory.
 */
#ifndef VPEER_CACHE_H
#define VPEER_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct vpeer_cache;
struct vpeer_cache_source;

/* A referenced entry. The struct is the cache's; @value is what was inserted. */
struct vpeer_cache_entry {
	void *value;
};

/**
 * struct vpeer_cache_config
 * @max_entries: at most so many entries, 1 to VPEER_CACHE_MAX_ENTRIES; only
 *	address space is taken for them in advance
 * @max_bytes: at most so many bytes in all ranges together; 0 for no bound
 * @drop: gives a value back; called once for each value inserted
 * @user: passed to @drop
 * @fences: have fences at each hit, as where the kernel refuses membarrier()
 * @refused: told once, with the errno, that it does, at the beginning or later: hits are
 *	slower from now on, and entries may wait; may be NULL
 * @passed: told of a thread that others waited for: vpeer_cache_reclaim() may drop more
 *	now; may be NULL
 */
struct vpeer_cache_config {
	uint32_t max_entries;
	uint64_t max_bytes;
	void (*drop)(void *user, void *value);
	void *user;
	bool fences;
	void (*refused)(void *user, int err);
	void (*passed)(void *user);
};

#define VPEER_CACHE_MAX_ENTRIES	(1U << 24)

/* -EINVAL, -ENOMEM, or what mmap(), madvise() or pthread_key_create() say. */
int vpeer_cache_begin(struct vpeer_cache **cache, const struct vpeer_cache_config *config);

/*
 * Frees the cache. -EBUSY, and nothing is done, while a source is not released:
 * when all are, all values were dropped. No other thread may be in a call on the
 * cache, and none that has used it may be ending meanwhile. NULL is allowed.
 */
int vpeer_cache_end(struct vpeer_cache *cache);

/**
 * struct vpeer_cache_source_config - what the validity of entries hangs on
 * @word: a generation: an entry is valid as long as an acquire load gives the
 *	value that it was inserted with, and never has an earlier value again;
 *	NULL for none. Must stay readable until @release
 * @check: asked at the insertion and at each hit if there is no @word; tells whether @value is still
 *	valid for @size bytes at @start; @generation is that of the insertion.
 *	NULL: entries are valid until they are invalidated
 * @release: called once, when the source has ended and its last entry was
 *	dropped; may be NULL
 * @arg: passed to @check and @release
 */
struct vpeer_cache_source_config {
	const uint64_t *word;
	bool (*check)(void *arg, const void *value, uint64_t start, uint64_t size,
		      uint64_t generation);
	void (*release)(void *arg);
	void *arg;
};

/* -ENOMEM, -ECHILD in a child. */
int vpeer_cache_source_begin(struct vpeer_cache *cache,
			     const struct vpeer_cache_source_config *config,
			     struct vpeer_cache_source **source);

/*
 * Invalidates all its entries, takes no more, and releases it with the last one. May be
 * called by drop() for the source of the value.
 */
void vpeer_cache_source_end(struct vpeer_cache_source *source);

/* Invalidates all its entries, and insertions with an earlier ticket. */
void vpeer_cache_source_invalidate(struct vpeer_cache_source *source);

/**
 * struct vpeer_cache_budget - a bound for some entries together
 * @limit: bytes; set by the caller before the first insertion
 * @used: bytes; the cache's, start with 0
 *
 * Such as the share of an aperture. It must outlive its entries, and belongs
 * to one cache.
 */
struct vpeer_cache_budget {
	uint64_t limit;
	uint64_t used;
};

/**
 * vpeer_cache_get() - look for a valid entry and reference it
 * @cache: the cache
 * @start: of the range that it must cover
 * @size: in bytes, at least 1; whether 0 bytes are found is not defined
 * @access: flags, all of which it must have
 * @kind: it must have exactly this one
 *
 * A hit that is not the first at its place takes no lock, makes no system call
 * and writes nothing that other threads write or read at a hit.
 *
 * Return: the entry, for vpeer_cache_put() on any thread; NULL if there is none.
 */
struct vpeer_cache_entry *vpeer_cache_get(struct vpeer_cache *cache, uint64_t start,
					  uint64_t size, uint32_t access, uint32_t kind);

/* One reference more on an entry that the caller has one on. */
void vpeer_cache_hold(struct vpeer_cache *cache, struct vpeer_cache_entry *entry);

/*
 * 1 if @entry is still @value's and referenced, for who has seen it once and has no
 * reference; else 0. Right away it may be no longer; but it is not missed what is. -EAGAIN
 * while that is not known: see config.passed().
 */
int vpeer_cache_held(struct vpeer_cache *cache, const struct vpeer_cache_entry *entry,
		     const void *value);

/* Gives one reference back. The last one of an invalid entry drops it. */
void vpeer_cache_put(struct vpeer_cache *cache, struct vpeer_cache_entry *entry);

/*
 * Taken before a registration is begun, for its insertion: what is invalidated
 * meanwhile is not cached.
 */
uint64_t vpeer_cache_ticket(struct vpeer_cache *cache);

/**
 * struct vpeer_cache_insert
 * @start: first address
 * @size: bytes, at least 1
 * @access: flags that it has
 * @kind: see vpeer_cache_get()
 * @generation: of @source, read before the registration was begun
 * @ticket: of vpeer_cache_ticket(), likewise
 * @source: must not have ended
 * @budget: to be charged with @size as well; NULL for none
 * @value: goes to drop(); not NULL
 */
struct vpeer_cache_insert {
	uint64_t start;
	uint64_t size;
	uint32_t access;
	uint32_t kind;
	uint64_t generation;
	uint64_t ticket;
	struct vpeer_cache_source *source;
	struct vpeer_cache_budget *budget;
	void *value;
};

/**
 * vpeer_cache_insert() - insert an entry and reference it
 * @cache: the cache
 * @insert: the entry
 * @entry: out, NULL where nothing is referenced
 *
 * Idle entries are evicted where a bound asks for it, those first that were not
 * hit for long: a queue in the order of insertion, from which an entry that was
 * hit since it was last looked at goes to the end once more (second chance).
 *
 * Return: 0; the value is the cache's then. With every other result it stays the
 * caller's:
 * -EEXIST: a valid entry covers the range meanwhile; @entry is that one, referenced
 * -ESTALE: the source, or the range, was invalidated since the registration began
 * -EBUSY: so much was invalidated since then that it is not known whether the range was
 * -ENOSPC: a bound cannot be kept, as the entries that would have to go are in
 *	use, or as the range alone exceeds it; or none may be evicted for now
 * -EOVERFLOW: the range ends beyond the last address
 * -EINVAL, -ENOMEM, -ECHILD in a child
 */
int vpeer_cache_insert(struct vpeer_cache *cache, const struct vpeer_cache_insert *insert,
		       struct vpeer_cache_entry **entry);

/*
 * Invalidates the entries that have an address of the range, and insertions with
 * an earlier ticket that have. A range that would end beyond the last address
 * ends there. Idle entries are dropped at once, by this or by another thread that
 * drops some anyway. Returns how many entries it invalidated.
 */
uint64_t vpeer_cache_invalidate(struct vpeer_cache *cache, uint64_t start, uint64_t size);

/*
 * Drops the entries whose generation has moved, now or, if they are in use, with
 * their last reference; for whoever learns that one has moved.
 */
void vpeer_cache_reclaim(struct vpeer_cache *cache);

/*
 * Drops the idle entries but @keep, those first that would be evicted first. Returns
 * how many it dropped.
 */
uint64_t vpeer_cache_trim(struct vpeer_cache *cache, uint64_t keep);

/*
 * Drops all that are idle, and those that wait. No other thread may be in a call on the
 * cache, and what others did there must have come to an end before.
 */
void vpeer_cache_clear(struct vpeer_cache *cache);

/**
 * struct vpeer_cache_stats - counts since the beginning
 * @hits: requests answered
 * @slow_hits: of these, those that had to look into the index of ranges
 * @misses: requests not answered
 * @inserts: entries inserted
 * @stale: entries found stale by a request or by vpeer_cache_reclaim()
 * @invalidated: entries invalidated by the caller
 * @evictions: entries evicted for a bound
 * @drops: values given to drop()
 * @entries: now, with those that wait for their last reference
 * @bytes: now, likewise
 * @peak_entries: largest @entries so far
 * @peak_bytes: largest @bytes so far
 * @memory: bytes of memory that the cache itself has
 * @fenced: hits need a fence, as the kernel refuses membarrier(): slower
 */
struct vpeer_cache_stats {
	uint64_t hits;
	uint64_t slow_hits;
	uint64_t misses;
	uint64_t inserts;
	uint64_t stale;
	uint64_t invalidated;
	uint64_t evictions;
	uint64_t drops;
	uint64_t entries;
	uint64_t bytes;
	uint64_t peak_entries;
	uint64_t peak_bytes;
	uint64_t memory;
	bool fenced;
};

/* All zero in a child. */
void vpeer_cache_stats(struct vpeer_cache *cache, struct vpeer_cache_stats *stats);

#endif /* VPEER_CACHE_H */
