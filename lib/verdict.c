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

static bool refusal_of_import(struct vpeer_context *context, struct vpeer_refusal *refusal)
{
	pthread_mutex_lock(&context->lock);
	*refusal = context->no_import;
	pthread_mutex_unlock(&context->lock);
	return refusal->err;
}

void vpeer_verdict_works(struct vpeer_mr *mr)
{
	struct vpeer_context *context = mr->context;
	bool first;

	first = !__atomic_exchange_n(&context->works[mr->memory.kind][mr->route], true,
				     __ATOMIC_RELAXED);
	if (first)
		vpeer_log(context, VPEER_LOG_INFO, "%s: memory of kind %s is registered by %s%s",
			  context->device, vpeer_memory_kind_name(mr->memory.kind),
			  vpeer_route_name(mr->route), mr->relaxed ? ", relaxed ordering" : "");
}

uint32_t vpeer_verdict_routes(struct vpeer_context *context, uint32_t reasons[8])
{
	uint32_t routes = VPEER_ROUTES_DIRECT | VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING);
	struct vpeer_refusal refusal;

	if (refusal_of_import(context, &refusal)) {
		reasons[VPEER_ROUTE_DMABUF] = refusal.reason;
		routes &= ~VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF);
	}
	return routes;
}

static int ask(struct vpeer_context *context)
{
	struct ibv_mr *mr;

	if (!context->verbs.reg_dmabuf_mr)
		return ENOSYS;
	vpeer_count(context, VPEER_COUNT_PROBES);
	errno = 0;
	mr = context->verbs.reg_dmabuf_mr(context->pd, 0, 0, 0, -1, 0);
	if (!mr)
		return errno;
	context->verbs.dereg_mr(mr);
	return 0;
}

/*
 * Without a descriptor: a driver that imports says EBADF, one that does not refuses the
 * call itself. What else it says may pass, and is for the registration to find out.
 */
bool vpeer_probe_import(struct vpeer_context *context, struct vpeer_refusal *refusal)
{
	int err;

	if (refusal_of_import(context, refusal))
		return false;
	if (__atomic_load_n(&context->imports, __ATOMIC_RELAXED))
		return true;
	err = ask(context);
	if (err == EBADF)
		__atomic_store_n(&context->imports, true, __ATOMIC_RELAXED);
	if (!vpeer_errno_unsupported(err))
		return true;
	refusal->err = err;
	refusal->reason = context->verbs.reg_dmabuf_mr ? VPEER_REASON_NO_DMABUF_IMPORT :
							 VPEER_REASON_NO_LIBIBVERBS;
	pthread_mutex_lock(&context->lock);
	context->no_import = *refusal;
	pthread_mutex_unlock(&context->lock);
	return false;
}
