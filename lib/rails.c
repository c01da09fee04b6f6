// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One range in several contexts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "register.h"

/* A registration that is to be made. */
struct rail {
	struct vpeer_request request;
	bool looked;		/* for a kept registration: a miss is counted once */
	uint64_t ticket;
	struct vpeer_memory memory;	/* without ops: a kept registration was found */
};

static void give_back(struct vpeer_mr **mrs, size_t count)
{
	while (count--) {
		vpeer_dereg(mrs[count]);
		mrs[count] = NULL;
	}
}

static void release_memory(struct rail *rails, size_t count)
{
	while (count--)
		vpeer_memory_release(&rails[count].memory);
}

/* Which has counted it. */
static void fail_others(struct vpeer_context *const *contexts, size_t count, size_t one)
{
	for (size_t i = 0; i < count; i++)
		if (i != one)
			vpeer_count(contexts[i], VPEER_COUNT_FAILED);
}

static int prepare(struct rail *rails, struct vpeer_context *const *contexts, size_t count,
		   const struct vpeer_range *range, const struct vpeer_reg_options *options,
		   struct vpeer_error *error)
{
	int err;

	for (size_t i = 0; i < count; i++) {
		if (!vpeer_context_alive(contexts[i])) {
			vpeer_context_fail_forked(contexts[i], error);
			return -ECHILD;
		}
		err = vpeer_request_init(&rails[i].request, contexts[i],
					 (uintptr_t)range->address, range->length, options, error);
		if (err) {
			fail_others(contexts, count, i);
			return err;
		}
	}
	return 0;
}

/* Each context by its own finder: it is its descriptor that is told when the memory goes. */
static int look(struct rail *rails, size_t count, struct vpeer_mr **mrs, struct vpeer_error *error)
{
	for (size_t i = 0; i < count; i++) {
		struct vpeer_request *r = &rails[i].request;
		int err;

		mrs[i] = vpeer_request_find(r);
		if (!mrs[i] && !rails[i].looked)
			vpeer_count(r->context, VPEER_COUNT_MISSES);
		rails[i].looked = true;
		if (mrs[i])
			continue;
		rails[i].ticket = vpeer_ticket(r->context);
		err = vpeer_memory_identify(r->context->finder, r->start, r->length,
					    &rails[i].memory, error);
		if (err)
			return err;
	}
	return 0;
}

/* What it is was looked at for each: not the same, if it went and other memory came. */
static bool alike(const struct vpeer_memory *a, const struct vpeer_memory *b)
{
	return a->ops == b->ops && a->base == b->base && a->base_length == b->base_length &&
	       a->seen == b->seen && a->aperture_id == b->aperture_id;
}

static int register_all(struct rail *rails, size_t count, struct vpeer_mr **mrs,
			struct vpeer_error *error)
{
	struct vpeer_exported exported = { .fd = -1 };
	struct vpeer_memory first = { 0 };
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		struct rail *rail = &rails[i];

		if (mrs[i])
			continue;
		if (!first.ops)
			first = rail->memory;
		if (!alike(&first, &rail->memory))
			err = -ESTALE;
		else
			err = vpeer_register_memory(&rail->request, &rail->memory, &exported,
						    rail->ticket, &mrs[i], error);
	}
	vpeer_exported_close(&exported);
	return err;
}

static int try_all(struct rail *rails, size_t count, struct vpeer_mr **mrs,
		   struct vpeer_error *error)
{
	int err = look(rails, count, mrs, error) ?: register_all(rails, count, mrs, error);

	release_memory(rails, count);
	if (err)
		give_back(mrs, count);
	return err;
}

static int fail(const struct rail *rails, size_t count, int err, struct vpeer_error *error)
{
	for (size_t i = 0; i < count; i++) {
		vpeer_count(rails[i].request.context, VPEER_COUNT_FAILED);
		if (!rails[i].looked)
			vpeer_count(rails[i].request.context, VPEER_COUNT_MISSES);
	}
	if (err != -ESTALE)
		return err;
	return vpeer_fail_reason(error, ENODEV, VPEER_REASON_REVOKED,
				 rails[0].request.context->device, "cannot register");
}

static int check_contexts(struct vpeer_context *const *contexts, size_t count,
			  struct vpeer_error *error)
{
	for (size_t i = 0; i < count; i++) {
		char who[32];

		if (contexts[i])
			continue;
		snprintf(who, sizeof(who), "context %zu", i);
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, who,
				  "see what vpeer_context_create() said",
				  "cannot register: context %zu of %zu is NULL", i, count);
	}
	return 0;
}

int vpeer_reg_rails(struct vpeer_context *const *contexts, size_t count, void *address,
		    size_t length, const struct vpeer_reg_options *options, struct vpeer_mr **mrs,
		    struct vpeer_error *error)
{
	const struct vpeer_range range = { address, length };
	struct rail *rails;
	int err;

	if (!count)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, "contexts",
				  "give at least 1 context",
				  "cannot register: the number of contexts is 0");
	err = check_contexts(contexts, count, error);
	if (err)
		return err;
	rails = calloc(count, sizeof(*rails));
	if (!rails)
		return vpeer_fail_memory(error, contexts[0]->device, "cannot register");
	memset(mrs, 0, count * sizeof(*mrs));
	err = prepare(rails, contexts, count, &range, options, error);
	if (!err) {
		err = -ESTALE;
		for (int i = 0; err == -ESTALE && i < VPEER_REGISTER_ATTEMPTS; i++)
			err = try_all(rails, count, mrs, error);
		if (err)
			err = fail(rails, count, err, error);
	}
	free(rails);
	if (!err)
		vpeer_error_clear(error);
	return err;
}
