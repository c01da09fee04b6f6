/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ways of a registration into the RDMA core: which are tried, and what is known of them. */
#ifndef VPEER_ROUTE_H
#define VPEER_ROUTE_H

#include "context.h"

struct vpeer_mr;

/* A DMA-buf of a range, for as many registrations as want it. */
struct vpeer_exported {
	int fd;			/* -1: none yet */
	unsigned int flags;	/* VPEER_EXPORT_* */
	uint64_t start;		/* of the range */
	uint64_t length;
	uint64_t offset;	/* of start, in it */
};

void vpeer_exported_close(struct vpeer_exported *exported);

/*
 * Registers @mr's memory by the first of @routes that works; @mr has context, memory, start,
 * length and access. @ordering: enum vpeer_ordering. What is exported is left in @exported.
 */
int vpeer_route_register(struct vpeer_mr *mr, uint32_t routes, uint32_t ordering,
			 struct vpeer_exported *exported, struct vpeer_error *error);

/* One registration of it, through @exported. */
int vpeer_route_dmabuf(struct vpeer_mr *mr, uint32_t ordering, struct vpeer_exported *exported,
		       struct vpeer_error *error);
int vpeer_route_address(struct vpeer_mr *mr, unsigned int route, uint32_t ordering,
			struct vpeer_error *error);

/* staging.c */
int vpeer_route_staging(struct vpeer_mr *mr, struct vpeer_error *error);

/* verdict.c */
void vpeer_verdict_works(struct vpeer_mr *mr);

/* False: nothing is known of @route for memory of @kind. */
bool vpeer_verdict_get(struct vpeer_context *context, unsigned int kind, unsigned int route,
		       struct vpeer_verdict *verdict);

/* The driver has no such call: of the device, not of what it was called with. */
bool vpeer_errno_unsupported(int err);

/* Does the device's driver import DMA-bufs? Asks it, unless that is known. */
bool vpeer_probe_import(struct vpeer_context *context, struct vpeer_verdict *verdict);

/* What staging has to say of it. */
#define VPEER_NEVER_STAGED	"a DMA-buf by descriptor cannot be staged"

/* refusal.c: of one registration by @route, with @err of libibverbs; @reason: 0 where errno says it. */
int vpeer_route_fail(const struct vpeer_mr *mr, unsigned int route, int err,
		     unsigned int reason, struct vpeer_error *error);

/* What was registered, and how, before what @error says. */
int vpeer_route_prefix(const struct vpeer_mr *mr, unsigned int route, struct vpeer_error *error);

/* And after it, in short, what another route said. */
void vpeer_route_append(struct vpeer_error *error, unsigned int route,
			const struct vpeer_error *other);

/* Names in @error what else could be done where nothing was tried but @tried. */
void vpeer_route_advise(const struct vpeer_mr *mr, uint32_t tried, struct vpeer_error *error);

#endif /* VPEER_ROUTE_H */
