// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Why a registration failed, in words. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "memlock.h"
#include "mr.h"
#include "route.h"

static unsigned int reason_of_address(unsigned int route, int err)
{
	switch (err) {
	case EOPNOTSUPP: /* pages of device memory that may not be pinned for long */
	case EFAULT:
		return route == VPEER_ROUTE_PEERMEM ? VPEER_REASON_NO_PEERMEM :
						      VPEER_REASON_NOT_PINNABLE;
	case ENOMEM:
	case ENOSPC:
		return VPEER_REASON_MR_LIMIT;
	case EACCES:
	case EPERM:
		return VPEER_REASON_ACCESS;
	default:
		return VPEER_REASON_NONE;
	}
}

static unsigned int reason_of_dmabuf(int err)
{
	/* That the device's driver imports was seen before. */
	if (vpeer_errno_unsupported(err))
		return VPEER_REASON_EXPORTER_REFUSED;
	switch (err) {
	case ENOMEM:
	case ENOSPC:
		return VPEER_REASON_MR_LIMIT;
	case EACCES:
		return VPEER_REASON_ACCESS;
	case ERANGE:
	case EPERM:
		return VPEER_REASON_EXPORTER_REFUSED;
	default:
		return VPEER_REASON_NONE;
	}
}

/* vpeer's DMA-bufs give no other error of this number. */
static bool is_of_window(const struct vpeer_memory *memory)
{
	return memory->kind == VPEER_MEMORY_WINDOW ||
	       (memory->kind == VPEER_MEMORY_DMABUF && !strcmp(memory->dmabuf.name, "vpeer"));
}

static unsigned int reason_of(const struct vpeer_mr *mr, unsigned int route, int err)
{
	const struct vpeer_memory_ops *ops = mr->memory.ops;
	unsigned int reason = ops->explain ? ops->explain(&mr->memory, route, err) : 0;

	if (reason)
		return reason;
	if (err == ENODEV && is_of_window(&mr->memory))
		return VPEER_REASON_REVOKED;
	return route == VPEER_ROUTE_DMABUF ? reason_of_dmabuf(err) : reason_of_address(route, err);
}

static bool about_device(unsigned int reason)
{
	return reason == VPEER_REASON_NO_DMABUF_IMPORT || reason == VPEER_REASON_MR_LIMIT ||
	       reason == VPEER_REASON_NO_LIBIBVERBS;
}

static int fail_memlock(const struct vpeer_mr *mr, unsigned int route,
			const struct vpeer_memlock *lock, struct vpeer_error *error)
{
	return vpeer_fail(error, ENOMEM, VPEER_REASON_MEMLOCK, mr->memory.who,
			  vpeer_reason_remedy(VPEER_REASON_MEMLOCK),
			  "cannot register %s with %s: %s: %s: RLIMIT_MEMLOCK is %" PRIu64
			  " KiB, of which %" PRIu64 " are in use, and %" PRIu64 " more are wanted",
			  mr->memory.who, mr->context->device, vpeer_route_name(route),
			  vpeer_reason_text(VPEER_REASON_MEMLOCK), lock->limit >> 10,
			  lock->pinned >> 10, lock->wanted >> 10);
}

int vpeer_route_fail(const struct vpeer_mr *mr, unsigned int route, int err,
		     unsigned int reason, struct vpeer_error *error)
{
	const struct vpeer_memory_ops *ops = mr->memory.ops;
	char text[VPEER_ERRNO_LEN];
	struct vpeer_memlock lock;
	const char *remark;

	if (!reason)
		reason = reason_of(mr, route, err);
	remark = ops->remark ? ops->remark(&mr->memory, reason) : NULL;
	if (err == ENOMEM && route != VPEER_ROUTE_DMABUF &&
	    vpeer_memlock_exceeded(mr->start, mr->length, &lock))
		return fail_memlock(mr, route, &lock, error);
	vpeer_errno_text(err, text);
	return vpeer_fail(error, err, reason,
			  about_device(reason) ? mr->context->device : mr->memory.who,
			  reason ? vpeer_reason_remedy(reason) : "",
			  "cannot register %s with %s: %s: %s%s%s%s%s", mr->memory.who,
			  mr->context->device, vpeer_route_name(route),
			  reason ? vpeer_reason_text(reason) : "", reason ? ", " : "", text,
			  remark ? ": " : "", remark ?: "");
}

int vpeer_route_prefix(const struct vpeer_mr *mr, unsigned int route, struct vpeer_error *error)
{
	struct vpeer_error said = *error;

	vpeer_fail(error, said.err, said.reason, said.who, said.remedy,
		   "cannot register %s with %s: %s: %s", mr->memory.who, mr->context->device,
		   vpeer_route_name(route), said.message);
	error->mender = said.mender;
	return -said.err;
}

void vpeer_route_append(struct vpeer_error *error, unsigned int route,
			const struct vpeer_error *other)
{
	size_t used = strlen(error->message);
	char text[VPEER_ERRNO_LEN];

	snprintf(error->message + used, sizeof(error->message) - used, "; %s: %s",
		 vpeer_route_name(route),
		 other->reason ? vpeer_reason_text(other->reason) :
				 vpeer_errno_text(other->err, text));
}
