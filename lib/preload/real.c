// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "real.h"

#include <dlfcn.h>
#include <errno.h>

/*
 * A library that was loaded by dlopen() has libibverbs for itself: it is not among
 * those that come next then. The handle is kept for as long as the process lives.
 */
static void *look_up(const char *name, const char *version)
{
	void *found = dlvsym(RTLD_NEXT, name, version), *handle;

	if (found)
		return found;
	handle = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);
	return handle ? dlvsym(handle, name, version) : NULL;
}

static void *find(void **place, const char *name, const char *version)
{
	void *found = __atomic_load_n(place, __ATOMIC_RELAXED);

	if (found)
		return found;
	found = look_up(name, version);
	if (found)
		__atomic_store_n(place, found, __ATOMIC_RELAXED);
	else
		errno = EOPNOTSUPP;
	return found;
}

#define FIND(name, version)							\
	({									\
		static void *place_;						\
										\
		find(&place_, #name, version);					\
	})

struct ibv_mr *real_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	struct ibv_mr *(*call)(struct ibv_pd *pd, void *address, size_t length, int access) =
		FIND(ibv_reg_mr, "IBVERBS_1.1");

	return call ? call(pd, address, length, access) : NULL;
}

struct ibv_mr *real_reg_mr_iova(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				int access)
{
	struct ibv_mr *(*call)(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
			       int access) = FIND(ibv_reg_mr_iova, "IBVERBS_1.7");

	return call ? call(pd, address, length, iova, access) : NULL;
}

struct ibv_mr *real_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				 unsigned int access)
{
	struct ibv_mr *(*call)(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
			       unsigned int access) = FIND(ibv_reg_mr_iova2, "IBVERBS_1.8");

	return call ? call(pd, address, length, iova, access) : NULL;
}

int real_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *address, size_t length,
		  int access)
{
	int (*call)(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *address, size_t length,
		    int access) = FIND(ibv_rereg_mr, "IBVERBS_1.1");

	return call ? call(mr, flags, pd, address, length, access) : IBV_REREG_MR_ERR_INPUT;
}

int real_dereg_mr(struct ibv_mr *mr)
{
	int (*call)(struct ibv_mr *mr) = FIND(ibv_dereg_mr, "IBVERBS_1.1");

	return call ? call(mr) : EOPNOTSUPP;
}

int real_dealloc_pd(struct ibv_pd *pd)
{
	int (*call)(struct ibv_pd *pd) = FIND(ibv_dealloc_pd, "IBVERBS_1.1");

	return call ? call(pd) : EOPNOTSUPP;
}
