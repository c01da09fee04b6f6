// SPDX-License-Identifier: GPL-2.0-only
/* The eventfd of an open file, signalled when its windows are revoked. */
#include <linux/eventfd.h>

#include "compat/compat.h"
#include "vpeer.h"

/* The file's aperture's lock is held for writing. */
void vpeer_event_signal(struct vpeer_file *file)
{
	if (file->event)
		vpeer_compat_eventfd_signal(file->event);
}

/* Puts another in its place, or NULL. A gone aperture would never signal it. */
static int vpeer_event_set(struct vpeer_file *file, struct eventfd_ctx *event)
{
	int ret = 0;

	down_write(&file->ap->lock);
	if (file->ap->gone && event)
		ret = -ENODEV;
	else
		swap(file->event, event);
	up_write(&file->ap->lock);
	if (event)
		eventfd_ctx_put(event);
	return ret;
}

void vpeer_event_exit(struct vpeer_file *file)
{
	vpeer_event_set(file, NULL);
}

int vpeer_ioctl_event(void *context, void *data)
{
	struct vpeer_event *arg = data;
	struct eventfd_ctx *event = NULL;

	if (arg->flags || arg->fd < -1)
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	if (arg->fd >= 0)
		event = eventfd_ctx_fdget(arg->fd);
	if (IS_ERR(event))
		return vpeer_refuse(&arg->reason, VPEER_REASON_NOT_EVENTFD);
	if (vpeer_event_set(context, event))
		return vpeer_refuse(&arg->reason, VPEER_REASON_GONE);
	return 0;
}
