// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory that was taken back: what is kept of it ends, who holds some of it is told. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mr.h"

#define STACK	(256 << 10)
#define AT_ONCE	32

static void swallow(int event)
{
	eventfd_t count;

	while (eventfd_read(event, &count) && errno == EINTR)
		;
}

/* Those not told yet whose memory was taken back, so that they stay. */
static unsigned int pin_some(struct vpeer_context *context, struct vpeer_mr *pinned[AT_ONCE])
{
	unsigned int count = 0;
	struct vpeer_mr *mr;

	pthread_mutex_lock(&context->lock);
	LIST_FOREACH(mr, &context->mrs, link) {
		if (count == AT_ONCE)
			break;
		if (mr->told || !vpeer_mr_cut_off(mr))
			continue;
		mr->told = true;
		vpeer_mr_pin(mr);
		pinned[count++] = mr;
	}
	pthread_mutex_unlock(&context->lock);
	return count;
}

static void mark_doubtful(struct vpeer_mr *mr)
{
	pthread_mutex_lock(&mr->context->lock);
	mr->doubtful = true;
	pthread_mutex_unlock(&mr->context->lock);
}

static void tell(struct vpeer_mr *mr)
{
	struct vpeer_context *context = mr->context;
	int held = context->options.revoked ? vpeer_mr_held(mr) : 0;

	if (held > 0) {
		vpeer_count(context, VPEER_COUNT_REVOKED);
		context->options.revoked(context->options.revoked_argument, mr);
	} else if (held < 0) {
		mark_doubtful(mr);
	}
	vpeer_mr_unpin(mr);
}

/* The cache calls passed() once more is known. */
static void leave_for_later(struct vpeer_context *context)
{
	struct vpeer_mr *mr;

	pthread_mutex_lock(&context->lock);
	LIST_FOREACH(mr, &context->mrs, link) {
		if (mr->doubtful)
			mr->told = false;
		mr->doubtful = false;
	}
	pthread_mutex_unlock(&context->lock);
}

/* What no one holds has ended when the first is told. */
static int reclaim(struct vpeer_context *context)
{
	struct vpeer_mr *pinned[AT_ONCE];
	unsigned int count;
	int total = 0;

	swallow(context->event);
	do {
		count = pin_some(context, pinned);
		if (context->cache)
			vpeer_cache_reclaim(context->cache);
		for (unsigned int i = 0; i < count; i++)
			tell(pinned[i]);
		total += (int)count;
	} while (count == AT_ONCE);
	leave_for_later(context);
	vpeer_finder_trim(context->finder);
	return total;
}

int vpeer_context_reclaim(struct vpeer_context *context)
{
	if (!vpeer_context_alive(context))
		return -ECHILD;
	return reclaim(context);
}

void vpeer_reclaim_enter(struct vpeer_context *context)
{
	pthread_mutex_lock(&context->lock);
	while (context->reclaiming)
		pthread_cond_wait(&context->reclaimed, &context->lock);
	context->reclaiming = true;
	pthread_mutex_unlock(&context->lock);
}

void vpeer_reclaim_leave(struct vpeer_context *context)
{
	pthread_mutex_lock(&context->lock);
	context->reclaiming = false;
	pthread_cond_signal(&context->reclaimed);
	pthread_mutex_unlock(&context->lock);
}

static void *run(void *argument)
{
	struct vpeer_context *context = argument;
	struct pollfd fds[] = {
		{ .fd = context->stop, .events = POLLIN },
		{ .fd = context->event, .events = POLLIN },
	};

	while (!fds[0].revents) {
		if (poll(fds, 2, -1) <= 0 || !fds[1].revents)
			continue;
		vpeer_reclaim_enter(context);
		reclaim(context);
		vpeer_reclaim_leave(context);
	}
	return NULL;
}

/* The thread inherits the mask: no signal of the program's is handled on it. */
static int start(struct vpeer_context *context, const pthread_attr_t *attributes)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&context->thread, attributes, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

static size_t stack_size(void)
{
	long least = sysconf(_SC_THREAD_STACK_MIN);

	return least > STACK ? (size_t)least : STACK;
}

static int start_small(struct vpeer_context *context)
{
	pthread_attr_t attributes;
	int err;

	context->stop = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (context->stop < 0)
		return errno;
	err = pthread_attr_init(&attributes);
	if (err)
		return err;
	pthread_attr_setstacksize(&attributes, stack_size());
	err = start(context, &attributes);
	pthread_attr_destroy(&attributes);
	return err;
}

int vpeer_reclaim_start(struct vpeer_context *context, struct vpeer_error *error)
{
	char text[VPEER_ERRNO_LEN];
	int err = start_small(context);

	if (err)
		return vpeer_fail(error, err, err == EMFILE || err == ENFILE ?
				  VPEER_REASON_TOO_MANY_FILES : VPEER_REASON_NONE, context->device,
				  "raise 'ulimit -u' or 'ulimit -n', or poll vpeer_context_fd() "
				  "and set VPEER_CONTEXT_NO_THREAD",
				  "cannot make a context: no thread: %s",
				  vpeer_errno_text(err, text));
	pthread_setname_np(context->thread, "vpeer-reclaim");
	context->threaded = true;
	return 0;
}

void vpeer_reclaim_stop(struct vpeer_context *context)
{
	if (context->threaded) {
		eventfd_write(context->stop, 1);
		pthread_join(context->thread, NULL);
	}
	context->threaded = false;
	if (context->stop >= 0)
		close(context->stop);
	context->stop = -1;
}
