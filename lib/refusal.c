// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Why a registration failed, in words. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "memlock.h"
#include "mr.h"
#include "options.h"
#include "route.h"

/* Of those that not every device has. */
static const struct {
	unsigned int access;
	const char *name;
} extras[] = {
	{ IBV_ACCESS_ON_DEMAND, "on demand" },
	{ IBV_ACCESS_MW_BIND, "memory windows" },
	{ IBV_ACCESS_HUGETLB, "huge pages" },
};

static bool is_host(const struct vpeer_mr *mr, unsigned int route)
{
	return route == VPEER_ROUTE_STAGING || mr->memory.kind == VPEER_MEMORY_HOST ||
	       mr->memory.kind == VPEER_MEMORY_CUDA_HOST;
}

/* Does the device not offer the access? There is nothing else about host memory that it could lack. */
static bool lacks_access(const struct vpeer_mr *mr, unsigned int route, int err)
{
	if (!vpeer_errno_unsupported(err) && err != EINVAL)
		return false;
	return (mr->access & ~VPEER_ACCESS_BASIC) || (err != EINVAL && is_host(mr, route));
}

static int fail_access(const struct vpeer_mr *mr, unsigned int route, int err,
		       struct vpeer_error *error)
{
	char names[64] = "", text[VPEER_ERRNO_LEN];

	for (size_t i = 0; i < sizeof(extras) / sizeof(extras[0]); i++)
		if (mr->access & extras[i].access)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 names[0] ? ", " : " (", extras[i].name);
	return vpeer_fail(error, err, VPEER_REASON_ACCESS, mr->context->device,
			  "ask for less in the member access of the options",
			  "cannot register %s with %s: %s: the device does not offer the access "
			  "%#x%s%s: %s", mr->memory.who, mr->context->device,
			  vpeer_route_name(route), mr->access, names, names[0] ? ")" : "",
			  vpeer_errno_text(err, text));
}

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

	if (!reason && lacks_access(mr, route, err))
		return fail_access(mr, route, err, error);
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
		 other->reason == VPEER_REASON_STAGED ? VPEER_NEVER_STAGED :
		 other->reason ? vpeer_reason_text(other->reason) :
				 vpeer_errno_text(other->err, text));
}

/* Routes of the memory that were not allowed, in words. */
static void add_routes(uint32_t routes, char *text, size_t size)
{
	const char *before = ", or allow the route ";

	for (unsigned int route = VPEER_ROUTE_DMABUF; route < VPEER_ROUTES; route++) {
		if (!(routes & VPEER_ROUTE_BIT(route)))
			continue;
		snprintf(text + strlen(text), size - strlen(text), "%s%s", before,
			 vpeer_route_name(route));
		before = " or ";
	}
}

void vpeer_route_advise(const struct vpeer_mr *mr, uint32_t tried, struct vpeer_error *error)
{
	if (error->reason != VPEER_REASON_NO_DMABUF_IMPORT &&
	    error->reason != VPEER_REASON_NO_DMABUF_EXPORT)
		return;
	if (mr->memory.kind == VPEER_MEMORY_DMABUF && is_of_window(&mr->memory)) {
		snprintf(error->remedy, sizeof(error->remedy),
			 "register the mapping of vpeer_window_map() by vpeer_reg()");
		error->mender = VPEER_MENDER_PROGRAM;
		return;
	}
	if (tried != VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF))
		return;
	add_routes(mr->memory.ops->routes & ~tried, error->remedy, sizeof(error->remedy));
}
