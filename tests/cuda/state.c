// SPDX-License-Identifier: GPL-2.0-only
/* Calls that are counted or fail, devices and their memory, addresses. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"

#define FUNCTIONS	64
#define SPACE		(64ULL << 30)	/* addresses, as the real driver reserves them */

struct function {
	const char *name;
	uint64_t calls;
	unsigned int failing;
	int result;
};

struct device devices[DEVICES];
int device_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct function functions[FUNCTIONS];
static struct allocation *allocations;
static uint64_t last_id;
static pointer space;

/* Reserved ranges: of cuMemAlloc() and of cuMemAddressReserve(). */
static struct reserved *reserved;

static struct function *find_function(const char *name)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		if (!functions[i].name)
			functions[i].name = name;
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	}
	abort();
}

int enter(const char *name)
{
	struct function *function;

	pthread_mutex_lock(&lock);
	function = find_function(name);
	function->calls++;
	if (!function->failing)
		return SUCCESS;
	function->failing--;
	return function->result;
}

int leave(int result)
{
	pthread_mutex_unlock(&lock);
	return result;
}

EXPORTED void test_cuda_fail(const char *name, int result, unsigned int times)
{
	struct function *function;

	pthread_mutex_lock(&lock);
	function = find_function(name);
	function->result = result;
	function->failing = times;
	pthread_mutex_unlock(&lock);
}

EXPORTED uint64_t test_cuda_calls(const char *name)
{
	uint64_t calls;

	pthread_mutex_lock(&lock);
	calls = find_function(name)->calls;
	pthread_mutex_unlock(&lock);
	return calls;
}

EXPORTED int test_cuda_add_device(const struct test_cuda_device *is)
{
	struct device *device;
	int ordinal;

	pthread_mutex_lock(&lock);
	if (device_count == DEVICES)
		abort();
	ordinal = device_count++;
	device = &devices[ordinal];
	device->is = *is;
	device->used = calloc(1, is->size / UNIT);
	device->primary = (struct context){ .device = ordinal, .primary = true };
	pthread_mutex_unlock(&lock);
	return ordinal;
}

static bool is_free(const struct device *device, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++)
		if (device->used[i])
			return false;
	return true;
}

uint64_t take_memory(struct device *device, uint64_t size)
{
	uint64_t all = device->is.size / UNIT, count = (size + UNIT - 1) / UNIT, first, tries;

	for (tries = 0; tries < all; tries++) {
		first = (device->next + tries) % all;
		if (first + count > all || !is_free(device, first, count))
			continue;
		memset(device->used + first, 1, count);
		device->next = first + count;
		return first * UNIT;
	}
	return UINT64_MAX;
}

void give_memory(struct device *device, uint64_t place, uint64_t size)
{
	memset(device->used + place / UNIT, 0, (size + UNIT - 1) / UNIT);
}

static uint64_t new_id(void)
{
	return getenv("VPEER_TEST_CUDA_SAME_ID") ? 1 : ++last_id;
}

const struct reserved *find_reserved(pointer at)
{
	const struct reserved *r = reserved;

	while (r && (at < r->start || at - r->start >= r->length))
		r = r->next;
	return r;
}

/* Lowest first, in a space without access: that is what makes ibv_reg_mr() of the addresses fail. */
pointer take_addresses(uint64_t size)
{
	uint64_t length = (size + UNIT - 1) / UNIT * UNIT;
	struct reserved **link = &reserved, *taken = malloc(sizeof(*taken));
	pointer at;
	void *mapped;

	if (!space) {
		mapped = mmap(NULL, SPACE + UNIT, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (mapped == MAP_FAILED)
			abort();
		space = ((pointer)(uintptr_t)mapped + UNIT - 1) / UNIT * UNIT;
	}
	for (at = space; *link && (*link)->start - at < length; link = &(*link)->next)
		at = (*link)->start + (*link)->length;
	if (!taken || length > space + SPACE - at) {
		free(taken);
		return 0;
	}
	*taken = (struct reserved){ .next = *link, .start = at, .length = length, .id = new_id() };
	*link = taken;
	return at;
}

void give_addresses(pointer start, uint64_t size)
{
	uint64_t length = (size + UNIT - 1) / UNIT * UNIT;
	struct reserved **link = &reserved, *given;

	while (*link && (*link)->start != start)
		link = &(*link)->next;
	given = *link;
	if (!given || given->length != length)
		abort();
	*link = given->next;
	free(given);
}

struct allocation *find_allocation(pointer at)
{
	struct allocation *a = allocations;

	while (a && (at < a->start || at - a->start >= a->length))
		a = a->next;
	return a;
}

struct allocation *add_allocation(pointer start, uint64_t length, int device, uint64_t place)
{
	struct allocation **link = &allocations, *added = calloc(1, sizeof(*added));

	if (!added)
		abort();
	while (*link && (*link)->start < start)
		link = &(*link)->next;
	*added = (struct allocation){
		.next = *link,
		.start = start,
		.length = length,
		.id = new_id(),
		.block = new_id(),
		.device = device,
		.place = place,
		.type = TYPE_DEVICE,
		.gdr = true,
	};
	*link = added;
	return added;
}

void remove_allocation(struct allocation *allocation)
{
	struct allocation **link = &allocations;

	while (*link != allocation)
		link = &(*link)->next;
	*link = allocation->next;
	free(allocation);
}

size_t find_extents(pointer start, uint64_t length, struct test_cuda_extent *extents, size_t room)
{
	size_t count = 0;

	while (length) {
		const struct allocation *a = find_allocation(start);
		uint64_t part, place;

		if (!a || a->type != TYPE_DEVICE)
			return 0;
		part = a->length - (start - a->start);
		if (part > length)
			part = length;
		place = a->place + (start - a->start);
		if (!count || extents[count - 1].offset + extents[count - 1].length != place) {
			if (count == room)
				return 0;
			extents[count++] = (struct test_cuda_extent){ .offset = place };
		}
		extents[count - 1].length += part;
		start += part;
		length -= part;
	}
	return count;
}

EXPORTED uint64_t test_cuda_place(uint64_t at)
{
	const struct allocation *a;
	uint64_t place = UINT64_MAX;

	pthread_mutex_lock(&lock);
	a = find_allocation(at);
	if (a && a->type == TYPE_DEVICE)
		place = a->place + (at - a->start);
	pthread_mutex_unlock(&lock);
	return place;
}
