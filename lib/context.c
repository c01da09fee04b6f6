// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mr.h"
#include "options.h"
#include "register.h"

#define DEFAULT_ENTRIES		65536
#define DEFAULT_PERCENT		50

/* Thread sanitizers do not know of membarrier(). */
#ifdef __SANITIZE_THREAD__
#define FENCES	true
#else
#define FENCES	false
#endif

int vpeer_context_fail_forked(const struct vpeer_context *context, struct vpeer_error *error)
{
	return vpeer_fail_reason(error, ECHILD, VPEER_REASON_FORKED, context->device,
				 "cannot use the context");
}

static int take_options(struct vpeer_context *context, const struct vpeer_context_options *options,
			struct vpeer_error *error)
{
	struct vpeer_context_options *o = &context->options;

	int err;

	if (options)
		*o = *options;
	err = vpeer_context_options_check(o, context->device, error);
	if (err)
		return err;
	if (!o->routes)
		o->routes = VPEER_ROUTES_DIRECT;
	if (!o->max_entries)
		o->max_entries = DEFAULT_ENTRIES;
	if (!o->aperture_percent)
		o->aperture_percent = DEFAULT_PERCENT;
	context->tag = vpeer_tag(o->routes, o->relaxed_ordering, false);
	return 0;
}

static int fail_call(const struct vpeer_context *context, int err, const char *what,
		     struct vpeer_error *error)
{
	bool files = err == EMFILE || err == ENFILE;
	unsigned int reason = files ? VPEER_REASON_TOO_MANY_FILES : VPEER_REASON_NONE;
	char text[VPEER_ERRNO_LEN];

	return vpeer_fail(error, err, reason, context->device, vpeer_reason_remedy(reason),
			  "cannot make a context: %s: %s", what, vpeer_errno_text(err, text));
}

/* A page that fork() gives the child as zeroes. */
static int make_alive(struct vpeer_context *context, struct vpeer_error *error)
{
	uint32_t *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return fail_call(context, errno, "no memory", error);
	*page = 1;
	context->alive = page;
	if (madvise(page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK))
		return fail_call(context, errno, "madvise(MADV_WIPEONFORK)", error);
	return 0;
}

static void dropped(void *user, void *value)
{
	(void)user;
	vpeer_mr_end(value);
}

/* Another thread may be allowed what this one is not: the context's own tries it at once. */
static void fence_refused(void *user, int err)
{
	struct vpeer_context *context = user;
	char text[VPEER_ERRNO_LEN];

	vpeer_log(context, VPEER_LOG_WARNING,
		  "%s: the kernel refuses membarrier(): %s: registrations that are kept are found "
		  "more slowly, and may end late: allow it in the seccomp filter",
		  context->device, vpeer_errno_text(err, text));
	eventfd_write(context->event, 1);
}

static void thread_passed(void *user)
{
	eventfd_write(((struct vpeer_context *)user)->event, 1);
}

static int make_cache(struct vpeer_context *context, struct vpeer_error *error)
{
	struct vpeer_cache_config config = {
		.max_entries = (uint32_t)context->options.max_entries,
		.max_bytes = context->options.max_bytes,
		.drop = dropped,
		.user = context,
		.fences = FENCES,
		.refused = fence_refused,
		.passed = thread_passed,
	};
	int err;

	if (context->options.flags & VPEER_CONTEXT_NO_CACHE)
		return 0;
	err = vpeer_cache_begin(&context->cache, &config);
	return err ? fail_call(context, -err, "no cache", error) : 0;
}

/*
 * Else there is nothing to reclaim, and open files of windows, which stay for as long as
 * someone is told of them, end with their last MR.
 */
static bool to_be_told(const struct vpeer_context *context)
{
	return !(context->options.flags & VPEER_CONTEXT_NO_CACHE) || context->options.revoked;
}

static int make_parts(struct vpeer_context *context, struct vpeer_error *error)
{
	int err = make_alive(context, error);

	if (err)
		return err;
	context->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (context->event < 0)
		return fail_call(context, errno, "eventfd()", error);
	err = vpeer_finder_create(&context->finder, to_be_told(context) ? context->event : -1,
				  error);
	if (err)
		return err;
	err = make_cache(context, error);
	if (err || (context->options.flags & VPEER_CONTEXT_NO_THREAD))
		return err;
	return vpeer_reclaim_start(context, error);
}

/* What is not there was not made. */
static void free_parts(struct vpeer_context *context)
{
	bool child = context->alive && !vpeer_context_alive(context);
	struct vpeer_share *share;

	vpeer_reclaim_stop(context);
	vpeer_cache_end(context->cache);
	vpeer_finder_destroy(context->finder);
	if (context->event >= 0)
		close(context->event);
	if (context->alive)
		munmap((void *)context->alive, (size_t)sysconf(_SC_PAGESIZE));
	while ((share = SLIST_FIRST(&context->shares))) {
		SLIST_REMOVE_HEAD(&context->shares, next);
		free(share);
	}
	/* In a child it would wait for who waited in the parent. */
	if (!child)
		pthread_cond_destroy(&context->reclaimed);
	pthread_mutex_destroy(&context->lock);
	free(context);
}

int vpeer_context_begin(struct vpeer_context **result, struct ibv_pd *pd,
			const struct vpeer_context_options *options,
			const struct vpeer_verbs *verbs, struct vpeer_error *error)
{
	struct vpeer_context *context = calloc(1, sizeof(*context));
	int err;

	*result = NULL;
	if (!context)
		return vpeer_fail_memory(error, verbs->get_device_name(pd->context->device),
					 "cannot make a context");
	context->pd = pd;
	context->verbs = *verbs;
	context->event = -1;
	context->stop = -1;
	pthread_mutex_init(&context->lock, NULL);
	pthread_cond_init(&context->reclaimed, NULL);
	snprintf(context->device, sizeof(context->device), "%s",
		 verbs->get_device_name(pd->context->device));
	err = take_options(context, options, error) ?: make_parts(context, error);
	if (err) {
		free_parts(context);
		return err;
	}
	vpeer_error_clear(error);
	*result = context;
	return 0;
}

int vpeer_context_create(struct vpeer_context **context, struct ibv_pd *pd,
			 const struct vpeer_context_options *options, struct vpeer_error *error)
{
	struct vpeer_verbs verbs;
	int err;

	*context = NULL;
	if (!pd)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, "protection domain",
				  "see what ibv_alloc_pd() said",
				  "cannot make a context: the protection domain is NULL");
	err = vpeer_verbs_load(&verbs, error);
	if (err)
		return err;
	err = vpeer_context_begin(context, pd, options, &verbs, error);
	if (err)
		vpeer_verbs_unload(&verbs);
	return err;
}

/*
 * In a child: what the parent registered is the parent's. A lock that another thread
 * held at the fork is held for ever, and what it guards may be half changed.
 */
static void abandon(struct vpeer_context *context)
{
	struct vpeer_mr *mr;

	vpeer_cache_end(context->cache);
	context->cache = NULL;
	if (!pthread_mutex_trylock(&context->lock)) {
		while ((mr = LIST_FIRST(&context->mrs))) {
			LIST_REMOVE(mr, link);
			free(mr);
		}
		pthread_mutex_unlock(&context->lock);
	} else {
		SLIST_INIT(&context->shares);
	}
	vpeer_finder_abandon(context->finder);
	context->finder = NULL;
	context->threaded = false;
	/* Descriptors stay: the child may have closed them all, and have others by their numbers. */
	context->event = -1;
	context->stop = -1;
	free_parts(context);
}

struct remaining {
	size_t mrs;
	size_t at_work;		/* of them */
};

static int fail_in_use(struct vpeer_context *context, const struct remaining *remaining,
		       struct vpeer_error *error)
{
	return vpeer_fail(error, EBUSY, VPEER_REASON_MR_IN_USE, context->device,
			  vpeer_reason_remedy(VPEER_REASON_MR_IN_USE),
			  "cannot end the context: %s: MRs: %zu, with work in flight: %zu of them",
			  vpeer_reason_text(VPEER_REASON_MR_IN_USE), remaining->mrs,
			  remaining->at_work);
}

/* What the context's thread is about to end does not count. */
static struct remaining count_mrs(struct vpeer_context *context)
{
	struct remaining remaining = { 0 };
	struct vpeer_mr *mr;

	vpeer_reclaim_enter(context);
	if (context->cache)
		vpeer_cache_clear(context->cache);
	pthread_mutex_lock(&context->lock);
	LIST_FOREACH(mr, &context->mrs, link) {
		remaining.mrs++;
		remaining.at_work += (uint32_t)__atomic_load_n(&mr->work, __ATOMIC_RELAXED) != 0;
	}
	pthread_mutex_unlock(&context->lock);
	vpeer_reclaim_leave(context);
	return remaining;
}

int vpeer_context_destroy(struct vpeer_context *context, struct vpeer_error *error)
{
	struct remaining remaining;
	struct vpeer_verbs verbs;
	int err;

	vpeer_error_clear(error);
	if (!context)
		return 0;
	if (!vpeer_context_alive(context)) {
		abandon(context);
		return 0;
	}
	remaining = count_mrs(context);
	if (remaining.mrs)
		return fail_in_use(context, &remaining, error);
	err = vpeer_pd_end(context, error);
	if (err == -EBUSY)
		return err;
	verbs = context->verbs;
	free_parts(context);
	vpeer_verbs_unload(&verbs);
	return err;
}

struct ibv_pd *vpeer_context_pd(const struct vpeer_context *context)
{
	return context->pd;
}

int vpeer_context_fd(const struct vpeer_context *context)
{
	return context->event;
}

int vpeer_context_trim(struct vpeer_context *context, uint64_t keep)
{
	if (!vpeer_context_alive(context))
		return -ECHILD;
	return context->cache ? (int)vpeer_cache_trim(context->cache, keep) : 0;
}

int vpeer_invalidate(struct vpeer_context *context, const void *address, size_t length)
{
	if (!vpeer_context_alive(context))
		return -ECHILD;
	return context->cache && length ?
	       (int)vpeer_cache_invalidate(context->cache, (uintptr_t)address, length) : 0;
}
