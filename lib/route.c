// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mr.h"

#define INTERRUPTIONS	100

/* What is handed to libibverbs: a DMA-buf, or an address. */
struct place {
	int fd;			/* -1: none */
	uint64_t offset;
	void *address;
};

static struct ibv_mr *call(const struct vpeer_mr *mr, const struct place *p, unsigned int access)
{
	const struct vpeer_verbs *verbs = &mr->context->verbs;
	struct ibv_mr *ibv;
	int tries = 0;

	do {
		errno = 0;
		if (p->fd >= 0)
			ibv = verbs->reg_dmabuf_mr(mr->context->pd, p->offset, mr->length,
						   mr->start, p->fd, (int)access);
		else
			ibv = verbs->reg_mr(mr->context->pd, p->address, mr->length, mr->start,
					    access);
	} while (!ibv && errno == EINTR && ++tries < INTERRUPTIONS);
	return ibv;
}

static bool wants_relaxed(const struct vpeer_mr *mr, unsigned int route, uint32_t ordering)
{
	if (__atomic_load_n(&mr->context->never_relaxed, __ATOMIC_RELAXED))
		return false;
	return ordering == VPEER_ORDERING_RELAXED ||
	       (ordering == VPEER_ORDERING_DEFAULT && route == VPEER_ROUTE_DMABUF);
}

static void tell_strict(struct vpeer_mr *mr)
{
	if (__atomic_exchange_n(&mr->context->never_relaxed, true, __ATOMIC_RELAXED))
		return;
	vpeer_log(mr->context, VPEER_LOG_WARNING,
		  "%s: the kernel refuses MRs with relaxed ordering; they are strict, and may be "
		  "slower", mr->context->device);
}

/* 0, or -errno of libibverbs. */
static int register_at(struct vpeer_mr *mr, unsigned int route, const struct place *p,
		       uint32_t ordering)
{
	mr->relaxed = wants_relaxed(mr, route, ordering);
	mr->ibv = call(mr, p, mr->access | (mr->relaxed ? IBV_ACCESS_RELAXED_ORDERING : 0));
	if (!mr->ibv && mr->relaxed && errno == EINVAL) {
		mr->relaxed = false;
		mr->ibv = call(mr, p, mr->access);
		if (mr->ibv)
			tell_strict(mr);
	}
	mr->route = route;
	return mr->ibv ? 0 : -(errno ?: EIO);
}

void vpeer_exported_close(struct vpeer_exported *exported)
{
	if (exported->fd >= 0)
		close(exported->fd);
	exported->fd = -1;
}

static int export(struct vpeer_mr *mr, struct vpeer_exported *exported, unsigned int flags,
		  struct vpeer_error *error)
{
	struct vpeer_exported made = {
		.fd = -1,
		.flags = flags,
		.start = mr->start,
		.length = mr->length,
	};
	int err;

	vpeer_count(mr->context, VPEER_COUNT_EXPORTS);
	err = vpeer_memory_export(&mr->memory, mr->start, mr->length, flags, &made.fd,
				  &made.offset, error);
	if (err)
		return err;
	vpeer_exported_close(exported);
	*exported = made;
	return 0;
}

static int register_exported(struct vpeer_mr *mr, uint32_t ordering,
			     const struct vpeer_exported *exported)
{
	struct place p = { .fd = exported->fd, .offset = exported->offset };

	return register_at(mr, VPEER_ROUTE_DMABUF, &p, ordering);
}

/* The GPU's driver may have another kind of mapping, which this device takes. */
static int register_other_mapping(struct vpeer_mr *mr, uint32_t ordering,
				  struct vpeer_exported *exported)
{
	if (mr->memory.kind != VPEER_MEMORY_CUDA || exported->flags)
		return -EOPNOTSUPP;
	if (export(mr, exported, VPEER_EXPORT_PCIE, NULL))
		return -EOPNOTSUPP;
	return register_exported(mr, ordering, exported);
}

static bool may_pass(int err)
{
	return err == ENOMEM || err == EAGAIN || err == EINTR || err == EBUSY || err == ENOSPC ||
	       err == EMFILE;
}

int vpeer_route_dmabuf(struct vpeer_mr *mr, uint32_t ordering, struct vpeer_exported *exported,
		       struct vpeer_error *error)
{
	struct vpeer_verdict verdict;
	int err;

	if (!vpeer_probe_import(mr->context, &verdict))
		return vpeer_route_fail(mr, VPEER_ROUTE_DMABUF, verdict.err, verdict.reason, error);
	if (exported->fd < 0 && export(mr, exported, 0, error))
		return vpeer_route_prefix(mr, VPEER_ROUTE_DMABUF, error);
	err = register_exported(mr, ordering, exported);
	if (!err || (!may_pass(-err) && !register_other_mapping(mr, ordering, exported)))
		return 0;
	return vpeer_route_fail(mr, VPEER_ROUTE_DMABUF, -err, VPEER_REASON_NONE, error);
}

/* Where the CPU reaches the memory: for a DMA-buf by descriptor it is mapped. */
static int map_dmabuf(struct vpeer_mr *mr, void **address)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), in_page;

	/* NOLINTNEXTLINE(performance-no-int-to-ptr): its mapping may start before what was asked for */
	*address = (void *)(uintptr_t)mr->start;
	if (mr->memory.kind != VPEER_MEMORY_DMABUF || mr->memory.dmabuf.fd < 0)
		return 0;
	in_page = mr->memory.dmabuf.offset & (page - 1);
	mr->own_length = in_page + mr->length;
	mr->own = mmap(NULL, mr->own_length, PROT_READ | PROT_WRITE, MAP_SHARED,
		       mr->memory.dmabuf.fd, (off_t)(mr->memory.dmabuf.offset - in_page));
	if (mr->own == MAP_FAILED) {
		mr->own = NULL;
		return -errno;
	}
	*address = (char *)mr->own + in_page;
	return 0;
}

static void unmap(struct vpeer_mr *mr)
{
	if (mr->own)
		munmap(mr->own, mr->own_length);
	mr->own = NULL;
}

int vpeer_route_address(struct vpeer_mr *mr, unsigned int route, uint32_t ordering,
			struct vpeer_error *error)
{
	struct place p = { .fd = -1 };
	int err = map_dmabuf(mr, &p.address);

	if (err)
		return vpeer_route_fail(mr, route, -err, VPEER_REASON_NOT_PINNABLE, error);
	err = register_at(mr, route, &p, ordering);
	if (!err)
		return 0;
	unmap(mr);
	return vpeer_route_fail(mr, route, -err, VPEER_REASON_NONE, error);
}

static int try(struct vpeer_mr *mr, unsigned int route, uint32_t ordering,
	       struct vpeer_exported *exported, struct vpeer_error *error)
{
	switch (route) {
	case VPEER_ROUTE_DMABUF:
		return vpeer_route_dmabuf(mr, ordering, exported, error);
	case VPEER_ROUTE_STAGING:
		return vpeer_route_staging(mr, error);
	default:
		return vpeer_route_address(mr, route, ordering, error);
	}
}

static int fail_forbidden(const struct vpeer_mr *mr, struct vpeer_error *error)
{
	char names[64] = "";

	for (unsigned int route = VPEER_ROUTE_DMABUF; route < VPEER_ROUTES; route++)
		if (mr->memory.ops->routes & VPEER_ROUTE_BIT(route))
			snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s",
				 vpeer_route_name(route));
	return vpeer_fail(error, EPERM, VPEER_REASON_ROUTE_FORBIDDEN, mr->memory.who,
			  vpeer_reason_remedy(VPEER_REASON_ROUTE_FORBIDDEN),
			  "cannot register %s with %s: %s; its routes are:%s", mr->memory.who,
			  mr->context->device, vpeer_reason_text(VPEER_REASON_ROUTE_FORBIDDEN),
			  names);
}

/* The first one leads, unless one says that what was asked for is invalid. */
static unsigned int leading(uint32_t tried, const struct vpeer_error *said)
{
	unsigned int first = VPEER_ROUTE_NONE;

	for (unsigned int route = VPEER_ROUTE_DMABUF; route < VPEER_ROUTES; route++) {
		if (!(tried & VPEER_ROUTE_BIT(route)))
			continue;
		if (said[route].err == EINVAL)
			return route;
		first = first ?: route;
	}
	return first;
}

/* @said: for each of the routes @tried. */
static int fail_tried(const struct vpeer_mr *mr, uint32_t tried, struct vpeer_error *said,
		      struct vpeer_error *error)
{
	unsigned int first = leading(tried, said);

	for (unsigned int route = VPEER_ROUTE_DMABUF; route < VPEER_ROUTES; route++)
		if (route != first && (tried & VPEER_ROUTE_BIT(route)))
			vpeer_route_append(&said[first], route, &said[route]);
	vpeer_route_advise(mr, tried, &said[first]);
	if (error)
		*error = said[first];
	return -said[first].err;
}

static void registered(struct vpeer_mr *mr)
{
	char range[VPEER_RANGE_LEN];

	vpeer_count(mr->context, VPEER_COUNT_REGISTERED);
	vpeer_count(mr->context, VPEER_COUNT_ROUTES + mr->route);
	vpeer_verdict_works(mr);
	vpeer_log(mr->context, VPEER_LOG_DEBUG,
		  "%s: registered %s%s, by %s%s", mr->context->device, mr->memory.who,
		  vpeer_mr_range_text(mr, range), vpeer_route_name(mr->route),
		  mr->relaxed ? ", relaxed ordering" : "");
}

int vpeer_route_register(struct vpeer_mr *mr, uint32_t routes, uint32_t ordering,
			 struct vpeer_exported *exported, struct vpeer_error *error)
{
	struct vpeer_error said[VPEER_ROUTES];
	uint32_t tried = 0;

	for (unsigned int route = VPEER_ROUTE_DMABUF; route < VPEER_ROUTES; route++) {
		if (!(mr->memory.ops->routes & VPEER_ROUTE_BIT(route)) ||
		    !(routes & VPEER_ROUTE_BIT(route)))
			continue;
		if (!try(mr, route, ordering, exported, &said[route])) {
			registered(mr);
			return 0;
		}
		tried |= VPEER_ROUTE_BIT(route);
	}
	return tried ? fail_tried(mr, tried, said, error) : fail_forbidden(mr, error);
}
