/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A cache of registrations that counts what it drops. */
#ifndef CACHE_FIXTURE_H
#define CACHE_FIXTURE_H

#include "fixture.h"

#include <stdbool.h>

#include "cache.h"

#define READ	1U
#define WRITE	2U
#define PAGE	4096ULL
#define BASE	0x7f0000000000ULL
#define VALUES	4096

/* A value is a counter: how often it was dropped. */
struct cache_fixture {
	struct vpeer_cache *cache;
	struct vpeer_cache_source *source, *plain;
	uint64_t word;
	int dropped[VALUES];
	unsigned int values;
	int released;
};

/* It has both sources, one with a word and one of nothing; @max_bytes: 0 for no bound. */
struct cache_fixture *cached_begin(uint32_t max_entries, uint64_t max_bytes, bool fences);

/* Every value was dropped, and once. */
void cached_end(struct cache_fixture *fixture);

/* cmocka setup and teardown: *state is the fixture. */
int cached_setup(void **state);
int cached_setup_fences(void **state);
int cached_teardown(void **state);

#define CASE(name)	cmocka_unit_test_setup_teardown(name, cached_setup, cached_teardown)
#define FENCED(name)	{ #name " with fences", name, cached_setup_fences, cached_teardown, NULL }

/* What the cache calls. */
void cached_drop(void *user, void *value);
void cached_release(void *arg);

/* A range of the source with a word, as it is now. */
struct vpeer_cache_insert cached_range(struct cache_fixture *fixture, uint64_t start,
				       uint64_t size);

/* The value is accounted for only if the cache takes it. */
int cached_try_insert(struct cache_fixture *fixture, struct vpeer_cache_insert *insert,
		      struct vpeer_cache_entry **entry);

/* The value of what goes in; nobody holds it then. */
int *cached_put_in(struct cache_fixture *fixture, struct vpeer_cache_insert insert);
int *cached_add(struct cache_fixture *fixture, uint64_t start, uint64_t size);

struct vpeer_cache_entry *cached_get(struct cache_fixture *fixture, uint64_t start, uint64_t size);

/* The value that a request gets; NULL for none. */
int *cached_ask(struct cache_fixture *fixture, uint64_t start, uint64_t size);

struct vpeer_cache_stats cached_stats(struct cache_fixture *fixture);

#endif /* CACHE_FIXTURE_H */
