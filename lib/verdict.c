// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is known of a device's routes. Kind 0 stands for every kind. */
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
	pthread_mutex_lock(&context->lock);
	*verdict = context->verdicts[VPEER_MEMORY_UNKNOWN][route];
	if (!verdict->err)
		*verdict = context->verdicts[kind][route];
	pthread_mutex_unlock(&context->lock);
	return verdict->err || verdict->works;
}

void vpeer_verdict_fails(struct vpeer_context *context, unsigned int kind, unsigned int route,
			 int err, unsigned int reason)
{
	pthread_mutex_lock(&context->lock);
	context->verdicts[kind][route] = (struct vpeer_verdict){ .err = err, .reason = reason };
	pthread_mutex_unlock(&context->lock);
}

void vpeer_verdict_works(struct vpeer_mr *mr)
{
	struct vpeer_context *context = mr->context;
	struct vpeer_verdict *verdict = &context->verdicts[mr->memory.kind][mr->route];
	bool first;

	pthread_mutex_lock(&context->lock);
	first = !verdict->works;
	*verdict = (struct vpeer_verdict){ .works = true };
	pthread_mutex_unlock(&context->lock);
	if (first)
		vpeer_log(context, VPEER_LOG_INFO, "%s: memory of kind %s is registered by %s%s",
			  context->device, vpeer_memory_kind_name(mr->memory.kind),
			  vpeer_route_name(mr->route), mr->relaxed ? ", relaxed ordering" : "");
}

uint32_t vpeer_verdict_routes(struct vpeer_context *context, uint32_t reasons[8])
{
	uint32_t routes = 0;

	pthread_mutex_lock(&context->lock);
	for (unsigned int route = VPEER_ROUTE_DMABUF; route < VPEER_ROUTES; route++) {
		reasons[route] = context->verdicts[VPEER_MEMORY_UNKNOWN][route].reason;
		if (!context->verdicts[VPEER_MEMORY_UNKNOWN][route].err)
			routes |= VPEER_ROUTE_BIT(route);
	}
	pthread_mutex_unlock(&context->lock);
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
bool vpeer_probe_import(struct vpeer_context *context, struct vpeer_verdict *verdict)
{
	unsigned int reason;
	int err;

	if (vpeer_verdict_get(context, VPEER_MEMORY_UNKNOWN, VPEER_ROUTE_DMABUF, verdict))
		return !verdict->err;
	err = ask(context);
	if (err == EBADF) {
		pthread_mutex_lock(&context->lock);
		context->verdicts[VPEER_MEMORY_UNKNOWN][VPEER_ROUTE_DMABUF].works = true;
		pthread_mutex_unlock(&context->lock);
	}
	if (!vpeer_errno_unsupported(err))
		return true;
	reason = context->verbs.reg_dmabuf_mr ? VPEER_REASON_NO_DMABUF_IMPORT :
						VPEER_REASON_NO_LIBIBVERBS;
	vpeer_verdict_fails(context, VPEER_MEMORY_UNKNOWN, VPEER_ROUTE_DMABUF, err, reason);
	*verdict = (struct vpeer_verdict){ .err = err, .reason = reason };
	return false;
}
