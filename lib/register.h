/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What vpeer_reg() and its kin share. */
#ifndef VPEER_REGISTER_H
#define VPEER_REGISTER_H

#include "mr.h"
#include "route.h"

#define VPEER_ROUTES_KNOWN	(VPEER_ROUTES_DIRECT | VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING))
#define VPEER_ACCESS_DEFAULT	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
				 IBV_ACCESS_REMOTE_READ)

/* Memory that is taken back again and again, faster than it can be registered, is given up. */
#define VPEER_REGISTER_ATTEMPTS	16

/* What is asked for, checked and with the context's defaults. */
struct vpeer_request {
	struct vpeer_context *context;
	uint64_t start;
	uint64_t length;
	uint32_t access;
	uint32_t ordering;
	uint32_t routes;
	uint32_t flags;
	uint32_t tag;
};

/* Registrations that do not stand for one another, although they are of one range. */
static inline uint32_t vpeer_tag(uint32_t routes, uint32_t ordering, bool whole)
{
	return routes | ordering << 8 | (uint32_t)whole << 16;
}

/* A refusal counts. */
int vpeer_request_init(struct vpeer_request *request, struct vpeer_context *context,
		       uint64_t start, uint64_t length,
		       const struct vpeer_reg_options *options, struct vpeer_error *error);

/* A kept registration that will do, held; or NULL. */
struct vpeer_mr *vpeer_request_find(const struct vpeer_request *request);

/*
 * Registers @memory, which is in no use afterwards; @exported is shared with others that
 * register the same range. @ticket: of the cache, from before @memory was looked at.
 * -ESTALE without more: it was taken back meanwhile.
 */
int vpeer_register_memory(const struct vpeer_request *request, struct vpeer_memory *memory,
			  struct vpeer_exported *exported, uint64_t ticket,
			  struct vpeer_mr **mr, struct vpeer_error *error);

/* Looks at the memory, and again if it was taken back meanwhile. */
int vpeer_register_try(const struct vpeer_request *request, struct vpeer_mr **mr,
		       struct vpeer_error *error);

/* The same for who has nothing else to try: a refusal counts. */
int vpeer_register(const struct vpeer_request *request, struct vpeer_mr **mr,
		   struct vpeer_error *error);

static inline uint64_t vpeer_ticket(const struct vpeer_context *context)
{
	return context->cache ? vpeer_cache_ticket(context->cache) : 0;
}

#endif /* VPEER_REGISTER_H */
