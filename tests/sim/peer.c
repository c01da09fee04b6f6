// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"
#include "loop.h"
#include "peer.h"

#define PAGE		4096u
#define BUCKETS		1024u

struct mirror_page {
	struct mirror_page *next;
	uint64_t number;
	uint8_t data[PAGE];
	uint8_t valid[PAGE / 8];	/* bits */
};

struct late {
	struct late *next;
	struct function *function;
	late_landing land;
	uint64_t iova;
	size_t length;
	bool lost;
	uint8_t data[];
};

struct peer {
	struct mirror_page *pages[BUCKETS];
	size_t page_count;
	struct late *late;
	size_t late_bytes;
};

struct peer *peer_new(void)
{
	return calloc(1, sizeof(struct peer));
}

void peer_forget(struct peer *peer)
{
	mirror_drop(peer, 0, UINT64_MAX);
	while (peer->late) {
		struct late *late = peer->late;

		peer->late = late->next;
		loop_forget(late);
		free(late);
	}
	peer->late_bytes = 0;
}

void peer_free(struct peer *peer)
{
	peer_forget(peer);
	free(peer);
}

static struct mirror_page *page_of(const struct peer *peer, uint64_t number)
{
	struct mirror_page *page = peer->pages[number % BUCKETS];

	while (page && page->number != number)
		page = page->next;
	return page;
}

static struct mirror_page *page_made(struct peer *peer, uint64_t number)
{
	struct mirror_page *page = page_of(peer, number);

	if (page || peer->page_count >= PEER_MOST_BYTES / PAGE)
		return page;
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	page->number = number;
	page->next = peer->pages[number % BUCKETS];
	peer->pages[number % BUCKETS] = page;
	peer->page_count++;
	return page;
}

static size_t in_page(uint64_t iova, size_t length)
{
	size_t left = PAGE - iova % PAGE;

	return length < left ? length : left;
}

int mirror_write(struct peer *peer, uint64_t iova, const void *data, size_t length)
{
	const uint8_t *from = data;

	while (length) {
		size_t some = in_page(iova, length), at = iova % PAGE;
		struct mirror_page *page = page_made(peer, iova / PAGE);

		if (!page)
			return -ENOMEM;
		memcpy(page->data + at, from, some);
		for (size_t i = at; i < at + some; i++)
			page->valid[i / 8] |= (uint8_t)(1u << i % 8);
		from += some;
		iova += some;
		length -= some;
	}
	return 0;
}

void mirror_read(const struct peer *peer, uint64_t iova, void *data, size_t length)
{
	uint8_t *to = data;

	while (length) {
		size_t some = in_page(iova, length), at = iova % PAGE;
		const struct mirror_page *page = page_of(peer, iova / PAGE);

		for (size_t i = 0; page && i < some; i++)
			if (page->valid[(at + i) / 8] & 1u << (at + i) % 8)
				to[i] = page->data[at + i];
		to += some;
		iova += some;
		length -= some;
	}
}

void mirror_drop(struct peer *peer, uint64_t iova, uint64_t last)
{
	for (unsigned int i = 0; i < BUCKETS && peer->page_count; i++) {
		struct mirror_page **at = &peer->pages[i];

		while (*at) {
			struct mirror_page *page = *at;

			if (page->number < iova / PAGE || page->number > last / PAGE) {
				at = &page->next;
				continue;
			}
			*at = page->next;
			peer->page_count--;
			free(page);
		}
	}
}

static void land(void *arg)
{
	struct late *late = arg, **at = &late->function->peer->late;

	while (*at != late)
		at = &(*at)->next;
	*at = late->next;
	late->function->peer->late_bytes -= late->length;
	late->land(late->function, late->iova, late->lost ? NULL : late->data, late->length);
	free(late);
}

void late_lose(struct peer *peer, uint64_t iova, uint64_t last)
{
	for (struct late *late = peer->late; late; late = late->next)
		if (late->iova <= last && late->iova + (late->length - 1) >= iova)
			late->lost = true;
}

int late_write(struct function *function, uint64_t microseconds, uint64_t iova, const void *data,
	       size_t length, late_landing landing)
{
	struct peer *peer = function->peer;
	struct late *late;

	if (length > PEER_MOST_BYTES - peer->late_bytes)
		return -ENOMEM;
	late = malloc(sizeof(*late) + length);
	if (!late)
		return -ENOMEM;
	*late = (struct late){
		.function = function, .land = landing, .iova = iova, .length = length,
	};
	memcpy(late->data, data, length);
	if (!loop_timer(microseconds, land, late)) {
		free(late);
		return -ENOMEM;
	}
	late->next = peer->late;
	peer->late = late;
	peer->late_bytes += length;
	return 0;
}
