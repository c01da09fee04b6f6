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

static struct translation *place_of(struct translations *translations, uint64_t page)
{
	return &translations->entries[(page ^ page >> 13) % TRANSLATIONS];
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
	struct translation *entry = place_of(translations, iova / TRANSLATION_PAGE);

	if (entry->valid && entry->page == iova / TRANSLATION_PAGE) {
		if (!entry->stale || stale) {
			translations->hits++;
			return entry;
		}
		drop(translations, entry);
	}
	translations->misses++;
	return NULL;
}

void translations_fill(struct translations *translations, uint64_t iova,
		       const struct map_entry *map)
{
	uint64_t start = iova & ~(uint64_t)(TRANSLATION_PAGE - 1);
	struct translation *entry = place_of(translations, iova / TRANSLATION_PAGE);

	if (start < map->iova || start + (TRANSLATION_PAGE - 1) > map->last)
		return;
	if (entry->valid)
		drop(translations, entry);
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
			struct translation *entry = place_of(translations, page);

			if (entry->valid && entry->page == page)
				drop_or_keep(translations, entry, keep);
		}
		return;
	}
	for (unsigned int i = 0; i < TRANSLATIONS; i++) {
		struct translation *entry = &translations->entries[i];

		if (entry->valid && entry->page >= first && entry->page <= end)
			drop_or_keep(translations, entry, keep);
	}
}

void translations_clear(struct translations *translations)
{
	for (unsigned int i = 0; i < TRANSLATIONS && translations->count; i++)
		if (translations->entries[i].valid)
			drop(translations, &translations->entries[i]);
}
