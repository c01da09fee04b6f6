// SPDX-License-Identifier: GPL-2.0-only
/* Allocations, what is told of pointers, copies, exports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"

#define EXTENTS	64
#define PAGE	4096ULL

static unsigned long long export_flags;

EXPORTED unsigned long long test_cuda_export_flags(void)
{
	return export_flags;
}

/* Small ones start inside a page, as the real driver's do. */
static int allocate(pointer *got, size_t size, bool managed)
{
	struct context *context = current();
	uint64_t place, inside = size < UNIT - 512 ? 512 : 0;
	struct allocation *a;
	pointer at;

	if (!context)
		return INVALID_CONTEXT;
	if (!size)
		return INVALID_VALUE;
	place = take_memory(&devices[context->device], size + inside);
	if (place == UINT64_MAX)
		return OUT_OF_MEMORY;
	at = take_addresses(size + inside);
	if (!at) {
		give_memory(&devices[context->device], place, size + inside);
		return OUT_OF_MEMORY;
	}
	a = add_allocation(at + inside, size, context->device, place + inside);
	a->context = context;
	a->managed = managed;
	*got = a->start;
	return SUCCESS;
}

EXPORTED int cuMemAlloc_v2(pointer *got, size_t size)
{
	int result = enter(__func__);

	return leave(result ? result : allocate(got, size, false));
}

EXPORTED int cuMemAllocManaged(pointer *got, size_t size, unsigned int flags)
{
	int result = enter(__func__);

	(void)flags;
	return leave(result ? result : allocate(got, size, true));
}

static int release(struct allocation *a)
{
	uint64_t inside = a->start % UNIT;

	give_memory(&devices[a->device], a->place - inside, a->length + inside);
	give_addresses(a->start - inside, a->length + inside);
	remove_allocation(a);
	return SUCCESS;
}

EXPORTED int cuMemFree_v2(pointer at)
{
	int result = enter(__func__);
	struct allocation *a = find_allocation(at);

	if (!result && (!a || a->start != at || a->type != TYPE_DEVICE || a->mapped))
		result = INVALID_VALUE;
	return leave(result ? result : release(a));
}

EXPORTED int cuMemHostAlloc(void **got, size_t size, unsigned int flags)
{
	int result = enter(__func__);
	uint64_t length = (size + PAGE - 1) / PAGE * PAGE;

	(void)flags;
	if (!result && !current())
		result = INVALID_CONTEXT;
	if (result)
		return leave(result);
	*got = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*got == MAP_FAILED)
		return leave(OUT_OF_MEMORY);
	add_allocation((uintptr_t)*got, size, current()->device, 0)->type = TYPE_HOST;
	return leave(SUCCESS);
}

EXPORTED int cuMemFreeHost(void *at)
{
	int result = enter(__func__);
	struct allocation *a = find_allocation((uintptr_t)at);

	if (!result && (!a || a->start != (uintptr_t)at || a->type != TYPE_HOST))
		result = INVALID_VALUE;
	if (result)
		return leave(result);
	munmap(at, (a->length + PAGE - 1) / PAGE * PAGE);
	remove_allocation(a);
	return leave(SUCCESS);
}

/* Any memory of the process, so that devices reach it: windows too, by the flag for that. */
EXPORTED int cuMemHostRegister_v2(void *at, size_t size, unsigned int flags)
{
	int result = enter(__func__);

	(void)flags;
	if (!result && !current())
		result = INVALID_CONTEXT;
	if (!result && (!size || find_allocation((uintptr_t)at)))
		result = INVALID_VALUE;
	if (!result)
		add_allocation((uintptr_t)at, size, current()->device, 0)->type = TYPE_HOST;
	return leave(result);
}

EXPORTED int cuMemHostUnregister(void *at)
{
	int result = enter(__func__);
	struct allocation *a = find_allocation((uintptr_t)at);

	if (!result && (!a || a->start != (uintptr_t)at || a->type != TYPE_HOST))
		result = INVALID_VALUE;
	if (!result)
		remove_allocation(a);
	return leave(result);
}

/* The real driver tells of what was reserved, not of what is mapped there. */
static struct reserved range_of(const struct allocation *a)
{
	const struct reserved *r = a->mapped ? find_reserved(a->start) : NULL;

	return r ? *r : (struct reserved){ .start = a->start, .length = a->length };
}

static bool old(void)
{
	return getenv("VPEER_TEST_CUDA_OLD");
}

/* false: no such attribute. */
static bool tell(const struct allocation *a, int attribute, void *data)
{
	const struct allocation none = { 0 };

	if (!a)
		a = &none;
	switch (attribute) {
	case 1:
		*(struct context **)data = a->context;
		return true;
	case 2:
		*(unsigned int *)data = (unsigned int)a->type;
		return true;
	case 6:
		*(int *)data = a->sync;
		return true;
	case 7:
		*(uint64_t *)data = a->id;
		return true;
	case 8:
		*(int *)data = a->managed;
		return true;
	case 9:
		*(int *)data = a == &none ? -2 : a->device;
		return true;
	case 11:
		*(pointer *)data = range_of(a).start;
		return true;
	case 12:
		*(size_t *)data = range_of(a).length;
		return true;
	case 15:
		*(int *)data = a->gdr;
		return true;
	case 18:
		*(size_t *)data = a->length;
		return !old();
	case 19:
		*(pointer *)data = a->start;
		return !old();
	case 20:
		*(uint64_t *)data = a->block;
		return !old();
	default:
		return false;
	}
}

EXPORTED int cuPointerGetAttribute(void *data, int attribute, pointer at)
{
	int result = enter(__func__);
	const struct allocation *a = find_allocation(at);

	if (!result && (!a || !tell(a, attribute, data)))
		result = INVALID_VALUE;
	return leave(result);
}

/* Unlike the call for one attribute it does not fail where nothing is known. */
EXPORTED int cuPointerGetAttributes(unsigned int count, const int *attributes, void **data,
				    pointer at)
{
	int result = enter(__func__);
	const struct allocation *a = find_allocation(at);

	for (unsigned int i = 0; i < count && !result; i++)
		if (!tell(a, attributes[i], data[i]))
			result = INVALID_VALUE;
	return leave(result);
}

EXPORTED int cuPointerSetAttribute(const void *data, int attribute, pointer at)
{
	int result = enter(__func__);
	struct allocation *a = find_allocation(at);

	if (!result && !current())
		result = INVALID_CONTEXT;
	if (!result && (!a || attribute != 6 || a->type != TYPE_DEVICE))
		result = INVALID_VALUE;
	if (!result && a->mapped)
		result = NOT_SUPPORTED;
	if (!result)
		a->sync = *(const int *)data;
	return leave(result);
}

static int copy(pointer at, void *host, size_t length, bool to_host)
{
	struct test_cuda_extent extents[EXTENTS];
	const struct allocation *a = find_allocation(at);
	char *plain = host, *memory;
	size_t count;

	if (!current())
		return INVALID_CONTEXT;
	count = find_extents(at, length, extents, EXTENTS);
	for (size_t i = 0; i < count; i++) {
		memory = (char *)devices[a->device].is.memory + extents[i].offset;
		memcpy(to_host ? plain : memory, to_host ? memory : plain, extents[i].length);
		plain += extents[i].length;
	}
	return count ? SUCCESS : INVALID_VALUE;
}

EXPORTED int cuMemcpyDtoH_v2(void *host, pointer at, size_t length)
{
	int result = enter(__func__);

	return leave(result ? result : copy(at, host, length, true));
}

EXPORTED int cuMemcpyHtoD_v2(pointer at, const void *host, size_t length)
{
	int result = enter(__func__);

	return leave(result ? result : copy(at, (void *)host, length, false));
}

EXPORTED int cuMemGetAddressRange_v2(pointer *start, size_t *length, pointer at)
{
	int result = enter(__func__);
	const struct allocation *a = find_allocation(at);

	if (!result && !a)
		result = INVALID_VALUE;
	if (result)
		return leave(result);
	*start = a->start;
	*length = a->length;
	return leave(SUCCESS);
}

/* Whole pages: what of them is outside of the allocation belongs to it all the same. */
static size_t find_pages(pointer start, size_t length, struct test_cuda_extent *extents)
{
	const struct allocation *a = find_allocation(start);
	uint64_t inside = 0, beyond = 0;
	size_t count;

	if (!a) {
		a = find_allocation(start + 512);
		inside = 512;
	}
	if (!a || inside >= length)
		return 0;
	if (start + length > a->start + a->length && !a->mapped)
		beyond = start + length - (a->start + a->length);
	if (beyond >= PAGE)
		return 0;
	count = find_extents(start + inside, length - inside - beyond, extents, EXTENTS);
	if (!count)
		return 0;
	extents[0].offset -= inside;
	extents[0].length += inside;
	extents[count - 1].length += beyond;
	return count;
}

static int check_export(const struct device *device, const struct allocation *a,
			unsigned long long flags)
{
	if (a->managed || a->type != TYPE_DEVICE)
		return INVALID_VALUE;
	if (current()->device != a->device || (a->context && a->context != current()))
		return INVALID_CONTEXT;
	if (!device->is.dmabuf || !device->is.gdr || !a->gdr || (flags && !device->is.pcie))
		return NOT_SUPPORTED;
	return SUCCESS;
}

static int result_of(int err)
{
	switch (err) {
	case -ENOSPC:
		return OUT_OF_MEMORY;
	case -EMFILE:
	case -ENFILE:
		return OPERATING_SYSTEM;
	default:
		return NOT_SUPPORTED;
	}
}

EXPORTED int cuMemGetHandleForAddressRange(void *handle, pointer start, size_t length, int type,
					   unsigned long long flags)
{
	struct test_cuda_extent extents[EXTENTS];
	int result = enter(__func__), fd;
	const struct allocation *a;
	const struct device *device;
	size_t count;

	export_flags = flags;
	if (!result && !current())
		result = INVALID_CONTEXT;
	if (!result && (type != 1 || flags > 1 || !length || start % PAGE || length % PAGE))
		result = INVALID_VALUE;
	if (result)
		return leave(result);
	count = find_pages(start, length, extents);
	a = count ? find_allocation(start + (find_allocation(start) ? 0 : 512)) : NULL;
	if (!a)
		return leave(INVALID_VALUE);
	device = &devices[a->device];
	result = check_export(device, a, flags);
	if (result)
		return leave(result);
	fd = device->is.export(device->is.context, extents, count);
	if (fd < 0)
		return leave(result_of(fd));
	*(int *)handle = fd;
	return leave(SUCCESS);
}
