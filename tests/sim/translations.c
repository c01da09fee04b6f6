// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "backing.h"
#include "map.h"
#include "translations.h"

struct translations *translations_new(void)
{
	return calloc(1, sizeof(struct translations));
}

void translations_free(struct translations *translations)
{
	translations_clear(translations);
	free(translations);
}

static struct translation_set *set_of(struct translations *translations, uint64_t page)
{
	return &translations->sets[(page ^ page >> 11) % TRANSLATION_SETS];
}

static struct translation *nth(struct translations *translations, unsigned int number)
{
	return &translations->sets[number / TRANSLATION_WAYS].ways[number % TRANSLATION_WAYS];
}

static struct translation *entry_of(struct translations *translations, uint64_t page)
{
	struct translation_set *set = set_of(translations, page);

	for (unsigned int way = 0; way < TRANSLATION_WAYS; way++)
		if (set->ways[way].valid && set->ways[way].page == page)
			return &set->ways[way];
	return NULL;
}

static void drop(struct translations *translations, struct translation *entry)
{
	backing_put(entry->backing);
	*entry = (struct translation){ 0 };
	translations->count--;
}

const struct translation *translations_find(struct translations *translations, uint64_t iova,
					    bool stale)
{
	struct translation *entry = entry_of(translations, iova / TRANSLATION_PAGE);

	if (entry) {
		if (!entry->stale || stale) {
			translations->hits++;
			return entry;
		}
		drop(translations, entry);
	}
	translations->misses++;
	return NULL;
}

/* Where a page that is not there goes: an unused place, or the oldest one's. */
static struct translation *room_for(struct translations *translations, uint64_t page)
{
	struct translation_set *set = set_of(translations, page);
	struct translation *entry;

	for (unsigned int way = 0; way < TRANSLATION_WAYS; way++)
		if (!set->ways[way].valid)
			return &set->ways[way];
	entry = &set->ways[set->next];
	set->next = (set->next + 1) % TRANSLATION_WAYS;
	drop(translations, entry);
	return entry;
}

void translations_fill(struct translations *translations, uint64_t iova,
		       const struct map_entry *map)
{
	uint64_t start = iova & ~(uint64_t)(TRANSLATION_PAGE - 1);
	struct translation *entry;

	if (start < map->iova || start + (TRANSLATION_PAGE - 1) > map->last)
		return;
	entry = room_for(translations, iova / TRANSLATION_PAGE);
	*entry = (struct translation){
		.page = iova / TRANSLATION_PAGE, .valid = true, .backing = map->backing,
		.readable = map->readable, .writable = map->writable, .peer = map->peer,
	};
	if (map->backing) {
		entry->bytes = map->backing->bytes + map->offset + (start - map->iova);
		backing_hold(map->backing);
	}
	translations->count++;
}

static void drop_or_keep(struct translations *translations, struct translation *entry, bool keep)
{
	if (keep && entry->backing) {
		entry->stale = true;
		return;
	}
	drop(translations, entry);
	translations->drops++;
}

void translations_drop(struct translations *translations, uint64_t iova, uint64_t last, bool keep)
{
	uint64_t first = iova / TRANSLATION_PAGE, end = last / TRANSLATION_PAGE;

	if (!translations->count)
		return;
	if (end - first < TRANSLATIONS) {
		for (uint64_t page = first; page <= end; page++) {
			struct translation *entry = entry_of(translations, page);

			if (entry)
				drop_or_keep(translations, entry, keep);
		}
		return;
	}
	for (unsigned int i = 0; i < TRANSLATIONS; i++) {
		struct translation *entry = nth(translations, i);

		if (entry->valid && entry->page >= first && entry->page <= end)
			drop_or_keep(translations, entry, keep);
	}
}

void translations_clear(struct translations *translations)
{
	for (unsigned int i = 0; i < TRANSLATIONS && translations->count; i++)
		if (nth(translations, i)->valid)
			drop(translations, nth(translations, i));
}
