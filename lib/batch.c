// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Many ranges at once: those that touch, and lie in one allocation, share an MR. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "register.h"

struct item {
	struct vpeer_request request;
	size_t place;		/* in the caller's order */
};

/* What is to be registered; the context's figures are of ranges, not of attempts. */
struct batch {
	struct item *items;
	size_t count;
	size_t found;		/* registered by somebody else meanwhile, or together with others */
	struct vpeer_mr **mrs;
};

static void name_range(const struct item *item, struct vpeer_error *error)
{
	struct vpeer_error said;

	if (!error)
		return;
	said = *error;
	vpeer_fail(error, said.err, said.reason, said.who, said.remedy,
		   "range %zu, %llu bytes at %#llx: %s", item->place,
		   (unsigned long long)item->request.length,
		   (unsigned long long)item->request.start, said.message);
	error->mender = said.mender;
}

static int by_address(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->request.start != y->request.start)
		return x->request.start < y->request.start ? -1 : 1;
	if (x->request.length != y->request.length)
		return x->request.length > y->request.length ? -1 : 1;
	return 0;
}

static uint64_t last_of(const struct vpeer_request *r)
{
	return r->start + (r->length - 1);
}

/* How many from the first on lie together without a gap; @all: what they are together. */
static size_t run_of(const struct item *items, size_t count, struct vpeer_request *all)
{
	size_t i;

	*all = items[0].request;
	for (i = 1; i < count; i++) {
		const struct vpeer_request *r = &items[i].request;

		if (r->start > last_of(all) && r->start - last_of(all) > 1)
			break;
		if (last_of(r) > last_of(all))
			all->length = last_of(r) - all->start + 1;
	}
	return i;
}

static int register_one(struct batch *batch, const struct item *item, struct vpeer_error *error)
{
	struct vpeer_mr **mr = &batch->mrs[item->place];
	int err;

	*mr = vpeer_request_find(&item->request);
	if (*mr) {
		batch->found++;
		return 0;
	}
	err = vpeer_register_try(&item->request, mr, error);
	if (!err)
		return 0;
	*mr = NULL;
	name_range(item, error);
	return err;
}

static int register_each(struct batch *batch, const struct item *items, size_t count,
			 struct vpeer_error *error)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = register_one(batch, &items[i], error);
	return err;
}

/* One for all of them; NULL if they cannot have one, as those that lie in several allocations. */
static struct vpeer_mr *register_joint(struct batch *batch, const struct vpeer_request *all,
				       size_t count)
{
	struct vpeer_mr *mr = vpeer_request_find(all);

	if (mr) {
		batch->found += count;
		vpeer_count_many(all->context, VPEER_COUNT_SHARED_HITS, count - 1);
		return mr;
	}
	return vpeer_register_try(all, &mr, NULL) ? NULL : mr;
}

static int register_run(struct batch *batch, const struct item *items, size_t count,
			const struct vpeer_request *all, struct vpeer_error *error)
{
	struct vpeer_mr *mr = count > 1 ? register_joint(batch, all, count) : NULL;

	if (!mr)
		return register_each(batch, items, count, error);
	for (size_t i = 0; i < count; i++) {
		if (i)
			vpeer_mr_hold(mr);
		batch->mrs[items[i].place] = mr;
	}
	return 0;
}

static int register_runs(struct batch *batch, struct vpeer_error *error)
{
	size_t first, run;
	int err = 0;

	for (first = 0; first < batch->count && !err; first += run) {
		const struct item *items = &batch->items[first];
		struct vpeer_request all;

		run = run_of(items, batch->count - first, &all);
		err = register_run(batch, items, run, &all, error);
	}
	return err;
}

/* Those of which none is kept already, in the order of addresses; returns how many. */
static size_t find_kept(struct item *items, size_t count, struct vpeer_mr **mrs)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		mrs[items[i].place] = vpeer_request_find(&items[i].request);
		if (!mrs[items[i].place])
			items[left++] = items[i];
	}
	qsort(items, left, sizeof(*items), by_address);
	return left;
}

static int prepare(struct item *items, struct vpeer_context *context,
		   const struct vpeer_range *ranges, size_t count,
		   const struct vpeer_reg_options *options, struct vpeer_error *error)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t start = (uintptr_t)ranges[i].address;
		int err = vpeer_request_init(&items[i].request, context, start, ranges[i].length,
					     options, error);

		items[i].place = i;
		if (err) {
			/* The range itself is counted. */
			vpeer_count_many(context, VPEER_COUNT_FAILED, count - 1);
			name_range(&items[i], error);
			return err;
		}
	}
	return 0;
}

static void give_back(struct vpeer_mr **mrs, size_t count)
{
	while (count--) {
		vpeer_dereg(mrs[count]);
		mrs[count] = NULL;
	}
}

static int register_all(struct vpeer_context *context, struct item *items, size_t count,
			struct vpeer_mr **mrs, struct vpeer_error *error)
{
	struct batch batch = { .items = items, .mrs = mrs };
	int err;

	batch.count = find_kept(items, count, mrs);
	err = register_runs(&batch, error);
	vpeer_count_many(context, VPEER_COUNT_MISSES, batch.count - batch.found);
	if (!err) {
		vpeer_error_clear(error);
		return 0;
	}
	vpeer_count_many(context, VPEER_COUNT_FAILED, count);
	give_back(mrs, count);
	return err;
}

static int fail_memory(struct vpeer_context *context, size_t count, struct vpeer_error *error)
{
	vpeer_count_many(context, VPEER_COUNT_FAILED, count);
	return vpeer_fail_memory(error, context->device, "cannot register");
}

int vpeer_reg_batch(struct vpeer_context *context, const struct vpeer_range *ranges, size_t count,
		    const struct vpeer_reg_options *options, struct vpeer_mr **mrs,
		    struct vpeer_error *error)
{
	struct item *items;
	int err;

	if (!vpeer_context_alive(context))
		return vpeer_context_fail_forked(context, error);
	if (!count)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, context->device,
				  "give at least 1 range",
				  "cannot register: the number of ranges is 0");
	memset(mrs, 0, count * sizeof(*mrs));
	items = calloc(count, sizeof(*items));
	if (!items)
		return fail_memory(context, count, error);
	err = prepare(items, context, ranges, count, options, error);
	if (!err)
		err = register_all(context, items, count, mrs, error);
	free(items);
	return err;
}
