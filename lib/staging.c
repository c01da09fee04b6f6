// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Host memory in the place of memory that no device reaches. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mr.h"
#include "route.h"

static int fail_dmabuf(const struct vpeer_mr *mr, struct vpeer_error *error)
{
	return vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_STAGED, mr->memory.who,
			  "map it with mmap(), register memory of your own, and copy",
			  "cannot register %s with %s: %s: %s", mr->memory.who, mr->context->device,
			  vpeer_route_name(VPEER_ROUTE_STAGING), VPEER_NEVER_STAGED);
}

/* Addresses in work requests are the memory's. */
int vpeer_route_staging(struct vpeer_mr *mr, struct vpeer_error *error)
{
	uint64_t in_page = mr->start & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	int err;

	if (mr->memory.kind == VPEER_MEMORY_DMABUF && mr->memory.dmabuf.fd >= 0)
		return fail_dmabuf(mr, error);
	mr->own_length = in_page + mr->length;
	mr->own = mmap(NULL, mr->own_length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (mr->own == MAP_FAILED) {
		mr->own = NULL;
		return vpeer_route_fail(mr, VPEER_ROUTE_STAGING, errno, VPEER_REASON_NONE, error);
	}
	mr->route = VPEER_ROUTE_STAGING;
	mr->relaxed = false;
	errno = 0;
	mr->ibv = mr->context->verbs.reg_mr(mr->context->pd, (char *)mr->own + in_page, mr->length,
					    mr->start, mr->access);
	if (mr->ibv)
		return 0;
	err = errno ?: EIO;
	munmap(mr->own, mr->own_length);
	mr->own = NULL;
	return vpeer_route_fail(mr, VPEER_ROUTE_STAGING, err, VPEER_REASON_NONE, error);
}

static int copy(struct vpeer_mr *mr, bool to_host, void *address, void *host, size_t length,
		struct vpeer_error *error)
{
	if (mr->memory.ops->copy)
		return mr->memory.ops->copy(&mr->memory, (uintptr_t)address, host, length,
					     to_host, error);
	if (to_host)
		memcpy(host, address, length);
	else
		memcpy(address, host, length);
	return 0;
}

static int fail_range(const struct vpeer_mr *mr, const void *address, size_t length,
		      struct vpeer_error *error)
{
	return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, mr->memory.who,
			  "copy what vpeer_mr_range() tells, or part of it",
			  "cannot copy: %zu bytes at %#llx leave the registration of %llu bytes at "
			  "%#llx", length, (unsigned long long)(uintptr_t)address,
			  (unsigned long long)mr->length, (unsigned long long)mr->start);
}

static int fail_way(const struct vpeer_mr *mr, unsigned int way, struct vpeer_error *error)
{
	return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, mr->memory.who,
			  "give one of enum vpeer_copy", "cannot copy: there is no way %u", way);
}

static int fail_direct(const struct vpeer_mr *mr, struct vpeer_error *error)
{
	return vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_STAGED, mr->memory.who,
			  "copy only where vpeer_mr_route() is VPEER_ROUTE_STAGING",
			  "cannot copy: the MR is not staged, by %s the device reaches the memory "
			  "itself", vpeer_route_name(mr->route));
}

static int fail_read_only(const struct vpeer_mr *mr, struct vpeer_error *error)
{
	return vpeer_fail(error, EACCES, VPEER_REASON_ACCESS, mr->memory.who,
			  vpeer_reason_remedy(VPEER_REASON_ACCESS),
			  "cannot copy: %s is mapped for reading only", mr->memory.who);
}

int vpeer_mr_copy(struct vpeer_mr *mr, unsigned int way, void *address, size_t length,
		  struct vpeer_error *error)
{
	uint64_t at = (uintptr_t)address - mr->start;
	uint64_t in_page = mr->start & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	int err;

	if (mr->route != VPEER_ROUTE_STAGING)
		return fail_direct(mr, error);
	if (at > mr->length || length > mr->length - at)
		return fail_range(mr, address, length, error);
	if (way != VPEER_COPY_TO_STAGE && way != VPEER_COPY_FROM_STAGE)
		return fail_way(mr, way, error);
	if (way == VPEER_COPY_FROM_STAGE && !mr->memory.writable)
		return fail_read_only(mr, error);
	err = vpeer_mr_check(mr, error);
	if (err || !length)
		return err;
	if (vpeer_mr_moved(mr))
		return vpeer_fail_reason(error, ESTALE, VPEER_REASON_MR_STALE, mr->memory.who,
					 "cannot copy");
	err = copy(mr, way == VPEER_COPY_TO_STAGE, address, (char *)mr->own + in_page + at,
		   length, error);
	if (!err)
		vpeer_error_clear(error);
	return err;
}
