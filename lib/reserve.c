// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reserve.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#define SMALLEST_STEP	((size_t)64 << 10)
#define HUGE_PAGE	((size_t)2 << 20)

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

int vpeer_reserve_begin(struct vpeer_reserve *reserve, size_t size)
{
	size_t aligned = round_up(size, HUGE_PAGE), before;
	char *base = mmap(NULL, aligned + HUGE_PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -errno;
	/* Starts at a huge page, so that large ones can consist of such. */
	before = round_up((uintptr_t)base, HUGE_PAGE) - (uintptr_t)base;
	if (before)
		munmap(base, before);
	munmap(base + before + aligned, HUGE_PAGE - before);
	*reserve = (struct vpeer_reserve){ .base = base + before, .size = aligned };
	return 0;
}

/* By half of what is there, so that the number of steps stays small. */
static size_t next_size(const struct vpeer_reserve *reserve, size_t size)
{
	size_t next = reserve->committed + reserve->committed / 2;

	if (next < size)
		next = size;
	next = round_up(next, next < HUGE_PAGE ? SMALLEST_STEP : HUGE_PAGE);
	return next < reserve->size ? next : reserve->size;
}

int vpeer_reserve_grow(struct vpeer_reserve *reserve, size_t size)
{
	size_t next;

	if (size <= reserve->committed)
		return 0;
	if (size > reserve->size)
		return -ENOMEM;
	next = next_size(reserve, size);
	if (mprotect(reserve->base + reserve->committed, next - reserve->committed,
		     PROT_READ | PROT_WRITE))
		return -errno;
	/* Only saves look-ups of addresses: where the kernel has no huge pages, small ones do. */
	if (next >= 2 * HUGE_PAGE)
		madvise(reserve->base, next, MADV_HUGEPAGE);
	reserve->committed = next;
	return 0;
}

void vpeer_reserve_end(struct vpeer_reserve *reserve)
{
	if (reserve->base)
		munmap(reserve->base, reserve->size);
	*reserve = (struct vpeer_reserve){ 0 };
}
