// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cache_internal.h"

#include <errno.h>

/* A number for an entry, and memory for what is known by it; 0 if there is none. */
static uint32_t new_number(struct vpeer_cache *cache)
{
	uint32_t id = cache->unused;
	size_t count = (size_t)cache->made + 2;

	if (id) {
		cache->unused = cache->records[id].queue.next;
		return id;
	}
	if (vpeer_reserve_grow(&cache->memory, cache_bytes(count)) ||
	    vpeer_reserve_grow(&cache->record_memory, count * sizeof(*cache->records)) ||
	    vpeer_reserve_grow(&cache->node_memory, count * sizeof(*cache->index.nodes)))
		return 0;
	return ++cache->made;
}

static void account(struct vpeer_cache *cache, const struct vpeer_cache_insert *insert)
{
	struct vpeer_cache_stats *stats = &cache->stats;

	stats->inserts++;
	stats->entries++;
	stats->bytes += insert->size;
	if (stats->peak_entries < stats->entries)
		stats->peak_entries = stats->entries;
	if (stats->peak_bytes < stats->bytes)
		stats->peak_bytes = stats->bytes;
	if (insert->budget)
		insert->budget->used += insert->size;
}

/* Field by field: the state and the number of references are looked at all the time. */
static void add(struct vpeer_cache *cache, uint32_t id, const struct vpeer_cache_insert *insert)
{
	struct cache_entry *entry = &cache->entries[id];
	struct vpeer_cache_source *source = insert->source;

	entry->user.value = insert->value;
	entry->start = insert->start;
	entry->size = insert->size;
	entry->word = source->config.word;
	if (!source->config.word && !source->config.check)
		entry->word = &entry->generation;
	entry->generation = insert->generation;
	entry->source = source;
	entry->denied = ~insert->access;
	entry->kind = insert->kind;
	cache->records[id].budget = insert->budget;
	source->references++;
	account(cache, insert);
	vpeer_range_insert(&cache->index, id, insert->start, insert->start + insert->size);
	cache_append(cache, &cache->queue, CACHE_QUEUE, id);
	cache_append(cache, &source->entries, CACHE_SIBLING, id);
	cache_set_state(entry, CACHE_ALIVE);
	cache_fill(cache, insert->start, id);
}

static int check_stale(const struct vpeer_cache *cache, const struct vpeer_cache_insert *insert)
{
	const uint64_t *word = insert->source->config.word;

	if (word && __atomic_load_n(word, __ATOMIC_ACQUIRE) != insert->generation)
		return -ESTALE;
	return cache_invalidated(cache, insert);
}

/* -EAGAIN if all is to be done once more. */
static int insert_locked(struct vpeer_cache *cache, const struct vpeer_cache_insert *insert,
			 struct cache_batch *batch, uint32_t *id)
{
	int err;

	if (cache_look(cache, insert->start, insert->size, insert->access, insert->kind))
		return -EAGAIN;
	err = check_stale(cache, insert);
	if (err)
		return err;
	err = cache_make_room(cache, insert, batch);
	if (err)
		return err;
	if (cache_fill_fit(cache))
		return -ENOMEM;
	*id = new_number(cache);
	if (!*id)
		return -ENOMEM;
	add(cache, *id, insert);
	cache_reference(cache, *id);
	return 0;
}

static int check(const struct vpeer_cache_insert *insert)
{
	const struct vpeer_cache_source_config *config;

	if (!insert->size || !insert->value || !insert->source)
		return -EINVAL;
	if (insert->size > UINT64_MAX - insert->start)
		return -EOVERFLOW;
	config = &insert->source->config;
	if (!config->word && config->check &&
	    !config->check(config->arg, insert->value, insert->start, insert->size,
			   insert->generation))
		return -ESTALE;
	return 0;
}

int vpeer_cache_insert(struct vpeer_cache *cache, const struct vpeer_cache_insert *insert,
		       struct vpeer_cache_entry **entry)
{
	struct cache_batch batch;
	uint32_t id = 0;
	int err;

	*entry = NULL;
	if (cache_forked(cache))
		return -ECHILD;
	err = check(insert);
	if (err)
		return err;
	do {
		struct cache_entry *there = cache_find(cache, insert->start, insert->size,
						       insert->access, insert->kind);

		if (there) {
			*entry = &there->user;
			return -EEXIST;
		}
		batch.count = 0;
		cache_lock(cache);
		err = insert_locked(cache, insert, &batch, &id);
		cache_unlock(cache);
		cache_drop(cache, &batch);
	} while (err == -EAGAIN);
	if (!err)
		*entry = &cache->entries[id].user;
	return err;
}
