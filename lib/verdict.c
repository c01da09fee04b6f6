// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is known of a device's routes. Only that its driver imports no DMA-bufs stays
 * as it is: other refusals may be of the memory.
 */
#include <errno.h>

#include "mr.h"
#include "route.h"

#define KERNEL_ENOTSUPP	524

bool vpeer_errno_unsupported(int err)
{
	return err == EOPNOTSUPP || err == EPROTONOSUPPORT || err == ENOSYS ||
	       err == KERNEL_ENOTSUPP;
}

bool vpeer_verdict_get(struct vpeer_context *context, unsigned int kind, unsigned int route,
		       struct vpeer_verdict *verdict)
{
	*verdict = (struct vpeer_verdict){
		.works = __atomic_load_n(&context->works[kind][route], __ATOMIC_RELAXED),
	};
	if (route == VPEER_ROUTE_DMABUF && !verdict->works) {
		pthread_mutex_lock(&context->lock);
		*verdict = context->no_import;
		pthread_mutex_unlock(&context->lock);
	}
	return verdict->works || verdict->err;
}

void vpeer_verdict_works(struct vpeer_mr *mr)
{
	struct vpeer_context *context = mr->context;
	bool first;

	first = !__atomic_exchange_n(&context->works[mr->memory.kind][mr->route], true,
				     __ATOMIC_RELAXED);
	if (!first)
		return;
	if (mr->route == VPEER_ROUTE_STAGING)
		vpeer_log(context, VPEER_LOG_WARNING,
			  "%s: memory of kind %s is reached by copies through host memory only",
			  context->device, vpeer_memory_kind_name(mr->memory.kind));
	else
		vpeer_log(context, VPEER_LOG_INFO, "%s: memory of kind %s is registered by %s%s",
			  context->device, vpeer_memory_kind_name(mr->memory.kind),
			  vpeer_route_name(mr->route), mr->relaxed ? ", relaxed ordering" : "");
}

/* 0 or -errno */
static int ask(struct vpeer_context *context)
{
	struct ibv_mr *mr;

	if (!context->verbs.reg_dmabuf_mr)
		return -ENOSYS;
	vpeer_count(context, VPEER_COUNT_PROBES);
	errno = 0;
	mr = context->verbs.reg_dmabuf_mr(context->pd, 0, 0, 0, -1, 0);
	if (!mr)
		return -errno;
	context->verbs.dereg_mr(mr);
	return 0;
}

/*
 * Without a descriptor: a driver that imports says EBADF, one that does not refuses the
 * call itself. What else it says may pass, and is for the registration to find out.
 */
bool vpeer_probe_import(struct vpeer_context *context, struct vpeer_verdict *verdict)
{
	int err;

	if (vpeer_verdict_get(context, VPEER_MEMORY_UNKNOWN, VPEER_ROUTE_DMABUF, verdict))
		return false;
	if (__atomic_load_n(&context->imports, __ATOMIC_RELAXED))
		return true;
	err = ask(context);
	if (err == -EBADF)
		__atomic_store_n(&context->imports, true, __ATOMIC_RELAXED);
	if (!vpeer_errno_unsupported(-err))
		return true;
	verdict->err = -err;
	verdict->reason = context->verbs.reg_dmabuf_mr ? VPEER_REASON_NO_DMABUF_IMPORT :
							 VPEER_REASON_NO_LIBIBVERBS;
	pthread_mutex_lock(&context->lock);
	context->no_import = *verdict;
	pthread_mutex_unlock(&context->lock);
	return false;
}
