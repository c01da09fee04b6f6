// SPDX-License-Identifier: GPL-2.0-only
/*
 * The eventfds of an open file: the program's own, signalled when windows are
 * revoked, and those that libraries added, signalled when generations change.
 */
#include <linux/eventfd.h>

#include "compat/compat.h"
#include "vpeer.h"

/* The file's aperture's lock is held for writing. */
void vpeer_event_signal(struct vpeer_file *file)
{
	if (file->event)
		vpeer_compat_eventfd_signal(file->event);
}

/**
 * vpeer_event_signal_added - tell libraries to look at generations
 * @file: open file, its aperture's lock held for writing; the generation has
 *	changed already
 */
void vpeer_event_signal_added(struct vpeer_file *file)
{
	unsigned int i;

	for (i = 0; i < file->nr_added; i++)
		vpeer_compat_eventfd_signal(file->added[i]);
}

/* Puts another in its place, or NULL. A gone aperture would never signal it. */
static enum vpeer_reason vpeer_event_set(struct vpeer_file *file,
					 struct eventfd_ctx *event)
{
	enum vpeer_reason why = VPEER_REASON_NONE;

	down_write(&file->ap->lock);
	if (file->ap->gone && event)
		why = VPEER_REASON_GONE;
	else
		swap(file->event, event);
	up_write(&file->ap->lock);
	if (event)
		eventfd_ctx_put(event);
	return why;
}

/* The place of an eventfd that was added, or their number. */
static unsigned int vpeer_event_find(const struct vpeer_file *file,
				     const struct eventfd_ctx *event)
{
	unsigned int i;

	for (i = 0; i < file->nr_added; i++)
		if (file->added[i] == event)
			break;
	return i;
}

static enum vpeer_reason vpeer_event_add_locked(struct vpeer_file *file,
						struct eventfd_ctx *event)
{
	if (file->ap->gone)
		return VPEER_REASON_GONE;
	if (vpeer_event_find(file, event) < file->nr_added)
		return VPEER_REASON_EVENTFD_ADDED;
	if (file->nr_added == VPEER_MAX_EVENTFDS)
		return VPEER_REASON_TOO_MANY_EVENTFDS;
	file->added[file->nr_added++] = event;
	return VPEER_REASON_NONE;
}

/* Takes the caller's reference if it succeeds. */
static enum vpeer_reason vpeer_event_add(struct vpeer_file *file,
					 struct eventfd_ctx *event)
{
	enum vpeer_reason why;

	down_write(&file->ap->lock);
	why = vpeer_event_add_locked(file, event);
	up_write(&file->ap->lock);
	if (why)
		eventfd_ctx_put(event);
	return why;
}

/* Takes the caller's reference. */
static enum vpeer_reason vpeer_event_remove(struct vpeer_file *file,
					    struct eventfd_ctx *event)
{
	enum vpeer_reason why = VPEER_REASON_EVENTFD_NOT_ADDED;
	unsigned int at;

	down_write(&file->ap->lock);
	at = vpeer_event_find(file, event);
	if (at < file->nr_added) {
		file->added[at] = file->added[--file->nr_added];
		why = VPEER_REASON_NONE;
	}
	up_write(&file->ap->lock);
	/* The one that was found here, and the one that was kept. */
	eventfd_ctx_put(event);
	if (!why)
		eventfd_ctx_put(event);
	return why;
}

/* No window of the file is left to signal any. */
void vpeer_event_exit(struct vpeer_file *file)
{
	vpeer_event_set(file, NULL);
	while (file->nr_added)
		eventfd_ctx_put(file->added[--file->nr_added]);
}

static bool vpeer_event_valid(const struct vpeer_event *arg)
{
	switch (arg->flags) {
	case 0:
		return arg->fd >= -1;
	case VPEER_EVENT_ADD:
	case VPEER_EVENT_REMOVE:
		return arg->fd >= 0;
	default:
		return false;
	}
}

int vpeer_ioctl_event(void *context, void *data)
{
	struct vpeer_event *arg = data;
	struct eventfd_ctx *event = NULL;
	enum vpeer_reason why;

	if (!vpeer_event_valid(arg))
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	if (arg->fd >= 0)
		event = eventfd_ctx_fdget(arg->fd);
	if (IS_ERR(event))
		return vpeer_refuse(&arg->reason, VPEER_REASON_NOT_EVENTFD);
	if (arg->flags == VPEER_EVENT_ADD)
		why = vpeer_event_add(context, event);
	else if (arg->flags == VPEER_EVENT_REMOVE)
		why = vpeer_event_remove(context, event);
	else
		why = vpeer_event_set(context, event);
	return why ? vpeer_refuse(&arg->reason, why) : 0;
}
