// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

static void free_mr(struct vpeer_mr *mr)
{
	struct vpeer_finder *finder = vpeer_mr_moved(mr) ? mr->context->finder : NULL;

	vpeer_memory_release(&mr->memory);
	free(mr);
	if (finder)
		vpeer_finder_trim(finder);
}

/* The cache looks at the memory's word no more. */
static void released(void *arg)
{
	struct vpeer_mr *mr = arg;

	if (mr->kept)
		free_mr(mr);
}

const char *vpeer_mr_range_text(const struct vpeer_mr *mr, char text[VPEER_RANGE_LEN])
{
	text[0] = '\0';
	if (mr->memory.kind != VPEER_MEMORY_HOST || mr->start != mr->memory.start ||
	    mr->length != mr->memory.length)
		snprintf(text, VPEER_RANGE_LEN, ", %llu bytes at %#llx",
			 (unsigned long long)mr->length, (unsigned long long)mr->start);
	return text;
}

/* Who gave it back may have got his answer already. */
static void tell_lost(const struct vpeer_mr *mr, int err)
{
	char text[VPEER_ERRNO_LEN], range[VPEER_RANGE_LEN];

	vpeer_count(mr->context, VPEER_COUNT_LOST);
	vpeer_log(mr->context, VPEER_LOG_WARNING,
		  "%s: an MR of %s%s could not be deregistered and is lost: "
		  "ibv_dereg_mr(): %s: deallocate memory windows that are bound to an MR before it "
		  "is given back; what is lost ends when the device is closed",
		  mr->context->device, mr->memory.who, vpeer_mr_range_text(mr, range),
		  vpeer_errno_text(err, text));
}

static int deregister(struct vpeer_mr *mr)
{
	int err = mr->context->verbs.dereg_mr(mr->ibv);

	vpeer_count(mr->context, VPEER_COUNT_DEREGISTERED);
	if (err)
		tell_lost(mr, err);
	if (mr->own)
		munmap(mr->own, mr->own_length);
	if (mr->kept)
		vpeer_cache_source_end(mr->source);
	else
		free_mr(mr);
	return -err;
}

void vpeer_mr_pin(struct vpeer_mr *mr)
{
	__atomic_fetch_add(&mr->refs, 1, __ATOMIC_RELAXED);
}

int vpeer_mr_unpin(struct vpeer_mr *mr)
{
	if (__atomic_sub_fetch(&mr->refs, 1, __ATOMIC_ACQ_REL))
		return 0;
	return deregister(mr);
}

static void unlist(struct vpeer_mr *mr)
{
	struct vpeer_context *context = mr->context;

	pthread_mutex_lock(&context->lock);
	mr->ended = true;
	LIST_REMOVE(mr, link);
	if (!mr->kept) {
		__atomic_fetch_sub(&context->loose, 1, __ATOMIC_RELAXED);
		__atomic_fetch_sub(&context->loose_bytes, mr->length, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&context->lock);
}

int vpeer_mr_end(struct vpeer_mr *mr)
{
	unlist(mr);
	return vpeer_mr_unpin(mr);
}

static void list(struct vpeer_mr *mr)
{
	struct vpeer_context *context = mr->context;

	pthread_mutex_lock(&context->lock);
	mr->told = true;
	LIST_INSERT_HEAD(&context->mrs, mr, link);
	if (!mr->kept) {
		__atomic_fetch_add(&context->loose, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&context->loose_bytes, mr->length, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&context->lock);
}

struct vpeer_mr *vpeer_mr_found(struct vpeer_cache_entry *entry)
{
	struct vpeer_mr *mr = entry->value;

	/* Who inserted it may not have come to this yet. */
	if (!__atomic_load_n(&mr->entry, __ATOMIC_RELAXED))
		__atomic_store_n(&mr->entry, entry, __ATOMIC_RELAXED);
	return mr;
}

static bool still_valid(void *arg, const void *value, uint64_t start, uint64_t size,
			uint64_t generation)
{
	(void)value;
	(void)start;
	(void)size;
	(void)generation;
	return vpeer_mr_valid(arg);
}

static int make_source(struct vpeer_mr *mr)
{
	bool ask = mr->memory.ops->valid &&
		   mr->context->options.cuda_check == VPEER_CUDA_CHECK_ID;
	struct vpeer_cache_source_config config = {
		.word = mr->memory.word,
		.check = !mr->memory.word && ask ? still_valid : NULL,
		.release = released,
		.arg = mr,
	};

	return vpeer_cache_source_begin(mr->context->cache, &config, &mr->source);
}

static int insert(struct vpeer_mr *mr, uint64_t ticket, struct vpeer_cache_entry **entry)
{
	struct vpeer_cache_insert insert = {
		.start = mr->start,
		.size = mr->length,
		.access = mr->access,
		.kind = mr->tag,
		.generation = mr->memory.seen,
		.ticket = ticket,
		.source = mr->source,
		.budget = vpeer_context_budget(mr->context, &mr->memory),
		.value = mr,
	};

	return vpeer_cache_insert(mr->context->cache, &insert, entry);
}

/* With @mr->kept before anyone can find it. */
static int keep_it(struct vpeer_mr *mr, uint64_t ticket, struct vpeer_cache_entry **entry)
{
	int err = make_source(mr);

	if (err)
		return err;
	mr->kept = true;
	err = insert(mr, ticket, entry);
	if (!err) {
		__atomic_store_n(&mr->entry, *entry, __ATOMIC_RELAXED);
		return 0;
	}
	mr->kept = false;
	vpeer_cache_source_end(mr->source);
	mr->source = NULL;
	return err;
}

/* Neither listed nor in the cache. */
static int discard(struct vpeer_mr *mr, int err)
{
	vpeer_mr_unpin(mr);
	return err;
}

/*
 * From now on who holds it is told. What was taken back since it was looked at last is
 * looked at once more.
 */
static void reveal(struct vpeer_mr *mr)
{
	struct vpeer_context *context = mr->context;

	pthread_mutex_lock(&context->lock);
	mr->told = false;
	pthread_mutex_unlock(&context->lock);
	if (vpeer_mr_moved(mr))
		eventfd_write(context->event, 1);
}

/* Of no use to who made it; but others may have found it in the cache already. */
static int withdraw(struct vpeer_mr *mr)
{
	vpeer_mr_pin(mr);
	vpeer_mr_put(mr);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it is pinned */
	reveal(mr);
	vpeer_mr_unpin(mr);
	return -ESTALE;
}

int vpeer_mr_publish(struct vpeer_mr *mr, bool keep, uint64_t ticket, struct vpeer_mr **other)
{
	struct vpeer_cache_entry *entry = NULL;
	int err = keep ? keep_it(mr, ticket, &entry) : 0;

	if (err == -ESTALE)
		return discard(mr, err);
	if (err == -EEXIST && entry) {
		*other = vpeer_mr_found(entry);
		return discard(mr, err);
	}
	if (err)
		vpeer_count(mr->context, VPEER_COUNT_UNCACHED);
	list(mr);
	if (vpeer_mr_moved(mr) || !vpeer_mr_valid(mr))
		return withdraw(mr);
	reveal(mr);
	return 0;
}

void vpeer_mr_hold(struct vpeer_mr *mr)
{
	struct vpeer_cache_entry *entry = __atomic_load_n(&mr->entry, __ATOMIC_RELAXED);

	if (entry)
		vpeer_cache_hold(mr->context->cache, entry);
	else
		__atomic_fetch_add(&mr->holders, 1, __ATOMIC_RELAXED);
}

int vpeer_mr_put(struct vpeer_mr *mr)
{
	struct vpeer_cache_entry *entry = __atomic_load_n(&mr->entry, __ATOMIC_RELAXED);

	if (entry) {
		vpeer_cache_put(mr->context->cache, entry);
		return 0;
	}
	if (__atomic_sub_fetch(&mr->holders, 1, __ATOMIC_ACQ_REL))
		return 0;
	return vpeer_mr_end(mr);
}

/* What the cache has dropped is listed until it comes to its end. */
int vpeer_mr_held(struct vpeer_mr *mr)
{
	struct vpeer_cache_entry *entry = __atomic_load_n(&mr->entry, __ATOMIC_RELAXED);
	bool ended;

	pthread_mutex_lock(&mr->context->lock);
	ended = mr->ended;
	pthread_mutex_unlock(&mr->context->lock);
	if (ended)
		return 0;
	if (entry)
		return vpeer_cache_held(mr->context->cache, entry, mr);
	return __atomic_load_n(&mr->holders, __ATOMIC_RELAXED) > 0;
}

bool vpeer_mr_valid(const struct vpeer_mr *mr)
{
	if (mr->memory.word)
		return !vpeer_mr_cut_off(mr);
	return mr->context->options.cuda_check == VPEER_CUDA_CHECK_FREES ||
	       vpeer_memory_valid(&mr->memory);
}
