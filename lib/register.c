// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "register.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "options.h"

/* Flags under which a kept registration may be found; what else there is takes the long way. */
#define FLAGS	(VPEER_REG_WHOLE | VPEER_REG_KEEP | VPEER_REG_STAGING)
#define WRITES	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/* Others may be good, too: vpeer_reg_options_check() tells. */
static bool options_plain(const struct vpeer_reg_options *o)
{
	return !(o->flags & ~FLAGS) &&
	       !(o->access & (VPEER_ACCESS_NEVER | ~VPEER_ACCESS_KNOWN)) &&
	       !vpeer_access_lacks_local(o->access) &&
	       o->relaxed_ordering <= VPEER_ORDERING_STRICT &&
	       !(o->routes & ~VPEER_ROUTES_KNOWN) &&
	       !(o->reserved[0] | o->reserved[1] | o->reserved[2] | o->reserved[3]);
}

static int check_range(const struct vpeer_request *r, struct vpeer_error *error)
{
	bool empty = !r->length;

	if (!empty && r->start + (r->length - 1) >= r->start)
		return 0;
	return vpeer_fail(error, empty ? EINVAL : EOVERFLOW, VPEER_REASON_BAD_ARGUMENT,
			  r->context->device,
			  empty ? "give at least 1 byte" : "check address and length",
			  "cannot register %llu bytes at %#llx: %s",
			  (unsigned long long)r->length, (unsigned long long)r->start,
			  empty ? "the range is empty" : "the range leaves the address space");
}

int vpeer_request_init(struct vpeer_request *r, struct vpeer_context *context, uint64_t start,
		       uint64_t length, const struct vpeer_reg_options *options,
		       struct vpeer_error *error)
{
	static const struct vpeer_reg_options none;
	const struct vpeer_reg_options *o = options ?: &none;
	int err;

	*r = (struct vpeer_request){
		.context = context,
		.start = start,
		.length = length,
		.access = o->access ?: VPEER_ACCESS_DEFAULT,
		.ordering = o->relaxed_ordering ?: context->options.relaxed_ordering,
		.routes = o->routes ?: context->options.routes,
		.flags = o->flags,
	};
	err = check_range(r, error);
	if (!err)
		err = vpeer_reg_options_check(o, context->device, error);
	if (err) {
		vpeer_count(context, VPEER_COUNT_FAILED);
		return err;
	}
	if (o->flags & VPEER_REG_STAGING)
		r->routes |= VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING);
	r->tag = vpeer_tag(r->routes, r->ordering, o->flags & VPEER_REG_WHOLE);
	return 0;
}

static struct vpeer_mr *find_tag(const struct vpeer_request *r, uint32_t tag)
{
	struct vpeer_cache_entry *entry;

	entry = vpeer_cache_get(r->context->cache, r->start, r->length, r->access, tag);
	return entry ? vpeer_mr_found(entry) : NULL;
}

/* One that reaches further, or takes a better route than it might, will do as well. */
struct vpeer_mr *vpeer_request_find(const struct vpeer_request *r)
{
	uint32_t direct = r->routes & ~VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING);
	bool whole = r->flags & VPEER_REG_WHOLE;
	struct vpeer_mr *mr;

	if (!r->context->cache || (r->flags & VPEER_REG_NO_CACHE))
		return NULL;
	mr = find_tag(r, r->tag);
	if (!mr && !whole)
		mr = find_tag(r, vpeer_tag(r->routes, r->ordering, true));
	if (!mr && direct && direct != r->routes)
		mr = find_tag(r, vpeer_tag(direct, r->ordering, whole));
	return mr;
}

/* What costs each registration of such memory is told once. */
static void tell_uncached(struct vpeer_context *context, const struct vpeer_memory *memory)
{
	if (__atomic_exchange_n(&context->told_uncached, true, __ATOMIC_RELAXED))
		return;
	vpeer_log(context, VPEER_LOG_WARNING, "%s: registrations of %s are not kept: %s",
		  context->device, memory->who, memory->uncached);
}

static bool to_be_kept(const struct vpeer_request *r, const struct vpeer_memory *memory)
{
	if (!r->context->cache || (r->flags & VPEER_REG_NO_CACHE))
		return false;
	if (memory->kind == VPEER_MEMORY_HOST || memory->kind == VPEER_MEMORY_CUDA_HOST)
		return r->flags & VPEER_REG_KEEP;
	if (!memory->cacheable && memory->uncached)
		tell_uncached(r->context, memory);
	return memory->cacheable;
}

static struct vpeer_mr *make(const struct vpeer_request *r, struct vpeer_memory *memory)
{
	struct vpeer_mr *mr = calloc(1, sizeof(*mr));
	bool whole = r->flags & VPEER_REG_WHOLE;

	if (!mr)
		return NULL;
	mr->context = r->context;
	mr->memory = *memory;
	memory->ops = NULL;
	mr->start = whole ? memory->base : r->start;
	mr->length = whole ? memory->base_length : r->length;
	mr->access = r->access;
	mr->tag = r->tag;
	mr->holders = 1;
	mr->refs = 1;
	return mr;
}

static int fail_read_only(const struct vpeer_mr *mr, struct vpeer_error *error)
{
	return vpeer_fail(error, EACCES, VPEER_REASON_ACCESS, mr->memory.who,
			  vpeer_reason_remedy(VPEER_REASON_ACCESS),
			  "cannot register %s with %s for writing: it is mapped for reading only",
			  mr->memory.who, mr->context->device);
}

static int try_routes(const struct vpeer_request *r, struct vpeer_mr *mr,
		      struct vpeer_exported *exported, struct vpeer_error *error)
{
	int err;

	if ((mr->access & WRITES) && !mr->memory.writable)
		return fail_read_only(mr, error);
	if (mr->memory.ops->prepare) {
		err = mr->memory.ops->prepare(&mr->memory, error);
		if (err)
			return err;
	}
	return vpeer_route_register(mr, r->routes, r->ordering, exported, error);
}

/* The MR holds the DMA-buf; descriptors are few. */
static void close_dmabuf(struct vpeer_memory *memory)
{
	if (memory->kind != VPEER_MEMORY_DMABUF || memory->dmabuf.fd < 0)
		return;
	close(memory->dmabuf.fd);
	memory->dmabuf.fd = -1;
}

int vpeer_register_memory(const struct vpeer_request *r, struct vpeer_memory *memory,
			  struct vpeer_exported *exported, uint64_t ticket,
			  struct vpeer_mr **result, struct vpeer_error *error)
{
	struct vpeer_mr *mr = make(r, memory), *other = NULL;
	int err;

	if (!mr) {
		vpeer_memory_release(memory);
		return vpeer_fail_memory(error, r->context->device, "cannot register");
	}
	err = try_routes(r, mr, exported, error);
	if (err) {
		if (vpeer_mr_moved(mr))
			err = -ESTALE;
		vpeer_memory_release(&mr->memory);
		free(mr);
		return err;
	}
	close_dmabuf(&mr->memory);
	err = vpeer_mr_publish(mr, to_be_kept(r, &mr->memory), ticket, &other);
	if (err == -ESTALE)
		return err;
	*result = err == -EEXIST ? other : mr;
	return 0;
}

int vpeer_register_try(const struct vpeer_request *r, struct vpeer_mr **mr,
		       struct vpeer_error *error)
{
	int err = -ESTALE;

	for (int i = 0; err == -ESTALE && i < VPEER_REGISTER_ATTEMPTS; i++) {
		struct vpeer_exported exported = { .fd = -1 };
		uint64_t ticket = vpeer_ticket(r->context);
		struct vpeer_memory memory;

		err = vpeer_memory_identify(r->context->finder, r->start, r->length, &memory,
					    error);
		if (err)
			break;
		err = vpeer_register_memory(r, &memory, &exported, ticket, mr, error);
		vpeer_exported_close(&exported);
	}
	if (err == -ESTALE)
		return vpeer_fail_reason(error, ENODEV, VPEER_REASON_REVOKED, r->context->device,
					 "cannot register");
	return err;
}

int vpeer_register(const struct vpeer_request *r, struct vpeer_mr **mr, struct vpeer_error *error)
{
	int err = vpeer_register_try(r, mr, error);

	if (err)
		vpeer_count(r->context, VPEER_COUNT_FAILED);
	return err;
}

static int register_anew(struct vpeer_context *context, void *address, size_t length,
			 const struct vpeer_reg_options *options, struct vpeer_mr **mr,
			 struct vpeer_error *error)
{
	struct vpeer_request request;
	int err;

	*mr = NULL;
	if (!vpeer_context_alive(context))
		return vpeer_context_fail_forked(context, error);
	err = vpeer_request_init(&request, context, (uintptr_t)address, length, options, error);
	if (err)
		return err;
	*mr = vpeer_request_find(&request);
	if (!*mr) {
		vpeer_count(context, VPEER_COUNT_MISSES);
		err = vpeer_register(&request, mr, error);
	}
	if (!err)
		vpeer_error_clear(error);
	return err;
}

/* Whether a registration with these options may be looked for; others go the long way. */
static inline bool tag_of(const struct vpeer_context *context,
			  const struct vpeer_reg_options *options, uint32_t *access, uint32_t *tag)
{
	uint32_t routes, ordering;

	*access = VPEER_ACCESS_DEFAULT;
	*tag = context->tag;
	if (!options)
		return true;
	if (!options_plain(options))
		return false;
	routes = options->routes ?: context->options.routes;
	if (options->flags & VPEER_REG_STAGING)
		routes |= VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING);
	ordering = options->relaxed_ordering ?: context->options.relaxed_ordering;
	*access = options->access ?: VPEER_ACCESS_DEFAULT;
	*tag = vpeer_tag(routes, ordering, options->flags & VPEER_REG_WHOLE);
	return true;
}

int vpeer_reg(struct vpeer_context *context, void *address, size_t length,
	      const struct vpeer_reg_options *options, struct vpeer_mr **mr,
	      struct vpeer_error *error)
{
	struct vpeer_cache_entry *entry;
	uint32_t access, tag;

	if (!context->cache || !length || !tag_of(context, options, &access, &tag))
		return register_anew(context, address, length, options, mr, error);
	entry = vpeer_cache_get(context->cache, (uintptr_t)address, length, access, tag);
	if (!entry)
		return register_anew(context, address, length, options, mr, error);
	*mr = vpeer_mr_found(entry);
	if (error) {
		error->err = 0;
		error->reason = VPEER_REASON_NONE;
	}
	return 0;
}

static int fail_whole(const struct vpeer_request *r, struct vpeer_error *error)
{
	vpeer_count(r->context, VPEER_COUNT_FAILED);
	return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, r->context->device,
			  "leave VPEER_REG_WHOLE out, and give offset and length of what is wanted",
			  "cannot register a DMA-buf with VPEER_REG_WHOLE: only memory at an "
			  "address is registered as a whole");
}

static int fail_offset(const struct vpeer_request *r, struct vpeer_error *error)
{
	vpeer_count(r->context, VPEER_COUNT_FAILED);
	return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ALIGNMENT, r->context->device,
			  "choose an iova with the offset's place in its page",
			  "cannot register a DMA-buf: iova and offset differ within a page");
}

int vpeer_reg_dmabuf(struct vpeer_context *context, int fd, uint64_t offset, size_t length,
		     uint64_t iova, const struct vpeer_reg_options *options, struct vpeer_mr **mr,
		     struct vpeer_error *error)
{
	struct vpeer_exported exported = { .fd = -1 };
	struct vpeer_memory memory;
	struct vpeer_request r;
	int err;

	*mr = NULL;
	if (!vpeer_context_alive(context))
		return vpeer_context_fail_forked(context, error);
	err = vpeer_request_init(&r, context, iova, length, options, error);
	if (err)
		return err;
	if (r.flags & VPEER_REG_WHOLE)
		return fail_whole(&r, error);
	if ((iova ^ offset) & ((uint64_t)sysconf(_SC_PAGESIZE) - 1))
		return fail_offset(&r, error);
	err = vpeer_memory_from_dmabuf(fd, offset, length, iova, &memory, error);
	if (!err) {
		r.flags |= VPEER_REG_NO_CACHE;
		err = vpeer_register_memory(&r, &memory, &exported, 0, mr, error);
		vpeer_exported_close(&exported);
	}
	if (err)
		vpeer_count(context, VPEER_COUNT_FAILED);
	else
		vpeer_error_clear(error);
	return err;
}
