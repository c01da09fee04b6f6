// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What callers do with a registration that they hold. */
#include <errno.h>

#include "mr.h"

/* The hold goes to the work in flight. False: there is none. */
static bool defer(struct vpeer_mr *mr)
{
	uint64_t work = __atomic_load_n(&mr->work, __ATOMIC_RELAXED);

	while ((uint32_t)work)
		if (__atomic_compare_exchange_n(&mr->work, &work, work + VPEER_MR_DEFERRED, false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return true;
	return false;
}

int vpeer_dereg(struct vpeer_mr *mr)
{
	if (!mr)
		return 0;
	if (!vpeer_context_alive(mr->context))
		return -ECHILD;
	if (!defer(mr))
		return vpeer_mr_put(mr);
	vpeer_count(mr->context, VPEER_COUNT_DEFERRED);
	return -EINPROGRESS;
}

int vpeer_mr_work_begin(struct vpeer_mr *mr)
{
	if (!vpeer_context_alive(mr->context))
		return -ECHILD;
	if (!vpeer_mr_valid(mr))
		return -ESTALE;
	__atomic_fetch_add(&mr->work, 1, __ATOMIC_RELAXED);
	return 0;
}

void vpeer_mr_work_end(struct vpeer_mr *mr)
{
	uint64_t work, left;

	if (!vpeer_context_alive(mr->context))
		return;
	work = __atomic_load_n(&mr->work, __ATOMIC_RELAXED);
	do {
		left = work - 1;
		if (!(uint32_t)left)
			left = 0;
	} while (!__atomic_compare_exchange_n(&mr->work, &work, left, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	if (left)
		return;
	for (work /= VPEER_MR_DEFERRED; work; work--)
		vpeer_mr_put(mr);
}

int vpeer_mr_check(const struct vpeer_mr *mr, struct vpeer_error *error)
{
	if (!vpeer_context_alive(mr->context))
		return vpeer_context_fail_forked(mr->context, error);
	if (!vpeer_mr_valid(mr))
		return vpeer_fail_reason(error, ESTALE, VPEER_REASON_MR_STALE, mr->memory.who,
					 "the registration is of no use");
	vpeer_error_clear(error);
	return 0;
}

uint32_t vpeer_mr_lkey(const struct vpeer_mr *mr)
{
	return mr->ibv->lkey;
}

uint32_t vpeer_mr_rkey(const struct vpeer_mr *mr)
{
	return mr->ibv->rkey;
}

struct ibv_mr *vpeer_mr_ibv(const struct vpeer_mr *mr)
{
	return mr->ibv;
}

void vpeer_mr_range(const struct vpeer_mr *mr, uint64_t *iova, uint64_t *length)
{
	if (iova)
		*iova = mr->start;
	if (length)
		*length = mr->length;
}

unsigned int vpeer_mr_route(const struct vpeer_mr *mr)
{
	return mr->route;
}

unsigned int vpeer_mr_kind(const struct vpeer_mr *mr)
{
	return mr->memory.kind;
}
