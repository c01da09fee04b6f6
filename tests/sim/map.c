// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backing.h"
#include "map.h"

/* The first entry that ends at or after IOVA. */
static size_t first_at(const struct iova_map *map, uint64_t iova)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->entries[middle].last < iova)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int grow(struct iova_map *map)
{
	size_t room = map->room ? 2 * map->room : 64;
	struct map_entry *larger;

	if (map->count < map->room)
		return 0;
	larger = realloc(map->entries, room * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	map->entries = larger;
	map->room = room;
	return 0;
}

int map_add(struct iova_map *map, const struct map_entry *entry)
{
	size_t at = first_at(map, entry->iova);
	int error;

	if (at < map->count && map->entries[at].iova <= entry->last)
		return -EEXIST;
	if (map->count >= MAP_ENTRIES)
		return -ENOSPC;
	error = grow(map);
	if (error)
		return error;
	memmove(map->entries + at + 1, map->entries + at, (map->count - at) * sizeof(*entry));
	map->entries[at] = *entry;
	map->count++;
	return 0;
}

int map_remove(struct iova_map *map, uint64_t iova, uint64_t last, uint64_t *removed_bytes)
{
	size_t from = first_at(map, iova), to = from;

	*removed_bytes = 0;
	if (from < map->count && map->entries[from].iova < iova)
		return -EINVAL;
	while (to < map->count && map->entries[to].iova <= last) {
		if (map->entries[to].last > last)
			return -EINVAL;
		to++;
	}
	for (size_t i = from; i < to; i++) {
		*removed_bytes += map->entries[i].last - map->entries[i].iova + 1;
		backing_put(map->entries[i].backing);
	}
	if (to > from)
		memmove(map->entries + from, map->entries + to,
			(map->count - to) * sizeof(*map->entries));
	map->count -= to - from;
	return 0;
}

void map_clear(struct iova_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		backing_put(map->entries[i].backing);
	free(map->entries);
	*map = (struct iova_map){ 0 };
}

const struct map_entry *map_find(const struct iova_map *map, uint64_t iova)
{
	size_t at = first_at(map, iova);

	if (at == map->count || map->entries[at].iova > iova)
		return NULL;
	return &map->entries[at];
}
