// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cache_internal.h"

static struct cache_link *link_of(struct vpeer_cache *cache, size_t member, uint32_t id)
{
	return (struct cache_link *)((char *)&cache->records[id] + member);
}

void cache_append(struct vpeer_cache *cache, struct cache_list *list, size_t member, uint32_t id)
{
	struct cache_link *link = link_of(cache, member, id);

	*link = (struct cache_link){ .prev = list->last };
	if (list->last)
		link_of(cache, member, list->last)->next = id;
	else
		list->first = id;
	list->last = id;
}

void cache_take_out(struct vpeer_cache *cache, struct cache_list *list, size_t member,
		    uint32_t id)
{
	struct cache_link *link = link_of(cache, member, id);

	if (link->prev)
		link_of(cache, member, link->prev)->next = link->next;
	else
		list->first = link->next;
	if (link->next)
		link_of(cache, member, link->next)->prev = link->prev;
	else
		list->last = link->prev;
}
