// SPDX-License-Identifier: GPL-2.0-only
/* Virtual memory management: addresses, memory, and mappings of one at the other. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* CUmemAllocationProp */
struct properties {
	int type;
	int handle_types;
	int location_type;
	int location;
	void *metadata;
	struct {
		unsigned char compression;
		unsigned char gdr;
		unsigned short usage;
		unsigned char reserved[4];
	} flags;
};

struct handle {
	uint64_t size;
	uint64_t place;
	int device;
	bool gdr;
	unsigned int users;	/* who created it, and mappings */
};

/* Which handle a mapping is of. */
struct mapping {
	struct mapping *next;
	pointer start;
	struct handle *handle;
};

static struct mapping *mappings;

static void put(struct handle *handle)
{
	if (--handle->users)
		return;
	give_memory(&devices[handle->device], handle->place, handle->size);
	free(handle);
}

EXPORTED int cuMemGetAllocationGranularity(size_t *granularity, const struct properties *wanted,
					   int option)
{
	int result = enter(__func__);

	(void)wanted;
	(void)option;
	*granularity = UNIT;
	return leave(result);
}

EXPORTED int cuMemAddressReserve(pointer *got, size_t size, size_t alignment, pointer wanted,
				 unsigned long long flags)
{
	int result = enter(__func__);

	(void)alignment;
	(void)wanted;
	if (!result && (!size || size % UNIT || flags))
		result = INVALID_VALUE;
	if (result)
		return leave(result);
	*got = take_addresses(size);
	return leave(*got ? SUCCESS : OUT_OF_MEMORY);
}

EXPORTED int cuMemAddressFree(pointer start, size_t size)
{
	int result = enter(__func__);

	if (!result)
		give_addresses(start, size);
	return leave(result);
}

EXPORTED int cuMemCreate(struct handle **got, size_t size, const struct properties *wanted,
			 unsigned long long flags)
{
	int result = enter(__func__);
	struct handle *handle;

	if (!result && (!size || size % UNIT || flags || wanted->location < 0 ||
			wanted->location >= device_count))
		result = INVALID_VALUE;
	if (result)
		return leave(result);
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		abort();
	*handle = (struct handle){
		.size = size,
		.device = wanted->location,
		.gdr = wanted->flags.gdr,
		.users = 1,
		.place = take_memory(&devices[wanted->location], size),
	};
	if (handle->place == UINT64_MAX) {
		free(handle);
		return leave(OUT_OF_MEMORY);
	}
	*got = handle;
	return leave(SUCCESS);
}

EXPORTED int cuMemRelease(struct handle *handle)
{
	int result = enter(__func__);

	if (!result)
		put(handle);
	return leave(result);
}

EXPORTED int cuMemMap(pointer at, size_t size, size_t offset, struct handle *handle,
		      unsigned long long flags)
{
	int result = enter(__func__);
	struct mapping *added;
	struct allocation *a;

	if (!result && (flags || offset || size != handle->size || find_allocation(at) ||
			!find_reserved(at)))
		result = INVALID_VALUE;
	if (result)
		return leave(result);
	added = malloc(sizeof(*added));
	if (!added)
		abort();
	*added = (struct mapping){ .next = mappings, .start = at, .handle = handle };
	mappings = added;
	handle->users++;
	a = add_allocation(at, size, handle->device, handle->place);
	a->mapped = true;
	a->gdr = handle->gdr;
	a->id = find_reserved(at)->id;
	return leave(SUCCESS);
}

EXPORTED int cuMemSetAccess(pointer at, size_t size, const void *wanted, size_t count)
{
	(void)at;
	(void)size;
	(void)wanted;
	(void)count;
	return leave(enter(__func__));
}

static void unmap_one(struct allocation *a)
{
	struct mapping **link = &mappings, *gone;

	while ((*link)->start != a->start)
		link = &(*link)->next;
	gone = *link;
	*link = gone->next;
	put(gone->handle);
	free(gone);
	remove_allocation(a);
}

EXPORTED int cuMemUnmap(pointer at, size_t size)
{
	int result = enter(__func__);
	pointer end = at + size;

	while (!result && at < end) {
		struct allocation *a = find_allocation(at);

		if (!a || !a->mapped || a->start != at || a->length > end - at)
			return leave(INVALID_VALUE);
		at += a->length;
		unmap_one(a);
	}
	return leave(result);
}
