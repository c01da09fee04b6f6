// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A protection domain of the context's own. */
#include <errno.h>

#include "context.h"

static int fail_pd(const struct vpeer_verbs *verbs, struct ibv_context *device,
		   struct vpeer_error *error)
{
	char text[VPEER_ERRNO_LEN];
	int err = errno ?: ENOMEM;

	return vpeer_fail(error, err, VPEER_REASON_NONE, verbs->get_device_name(device->device), "",
			  "cannot allocate a protection domain: %s", vpeer_errno_text(err, text));
}

/* Behind why there is no context. */
static void add_lost_pd(struct vpeer_error *error, int err)
{
	char text[VPEER_ERRNO_LEN];
	struct vpeer_error said;

	if (!err || !error)
		return;
	said = *error;
	vpeer_fail(error, said.err, said.reason, said.who, said.remedy,
		   "%s; its protection domain is lost: ibv_dealloc_pd(): %s", said.message,
		   vpeer_errno_text(err, text));
	error->mender = said.mender;
}

int vpeer_context_open(struct vpeer_context **context, struct ibv_context *device,
		       const struct vpeer_context_options *options, struct vpeer_error *error)
{
	struct vpeer_verbs verbs;
	struct ibv_pd *pd = NULL;
	int err;

	*context = NULL;
	if (!device)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, "RDMA device",
				  "see what ibv_open_device() said",
				  "cannot make a context: the device is NULL");
	err = vpeer_verbs_load(&verbs, error);
	if (err)
		return err;
	pd = verbs.alloc_pd(device);
	err = pd ? vpeer_context_begin(context, pd, options, &verbs, error) :
		   fail_pd(&verbs, device, error);
	if (*context) {
		(*context)->own_pd = true;
		return 0;
	}
	if (pd)
		add_lost_pd(error, verbs.dealloc_pd(pd));
	vpeer_verbs_unload(&verbs);
	return err;
}

static int fail_pd_in_use(struct vpeer_context *context, struct vpeer_error *error)
{
	return vpeer_fail(error, EBUSY, VPEER_REASON_NONE, context->device,
			  "destroy what was made in the context's protection domain first: queue "
			  "pairs, memory windows, flushes",
			  "cannot end the context: its protection domain is in use");
}

static int lose_pd(struct vpeer_context *context, int err, struct vpeer_error *error)
{
	char text[VPEER_ERRNO_LEN];

	vpeer_errno_text(err, text);
	vpeer_log(context, VPEER_LOG_WARNING,
		  "%s: the context's protection domain is lost: ibv_dealloc_pd(): %s: it ends when "
		  "the device is closed", context->device, text);
	return vpeer_fail(error, err, VPEER_REASON_NONE, context->device,
			  "close the device: the protection domain ends with it",
			  "the context has ended, its protection domain is lost: "
			  "ibv_dealloc_pd(): %s", text);
}

int vpeer_pd_end(struct vpeer_context *context, struct vpeer_error *error)
{
	int err = context->own_pd ? context->verbs.dealloc_pd(context->pd) : 0;

	/* Not every provider returns an errno. */
	if (err < 0)
		err = errno ?: EIO;
	if (err == EBUSY)
		return fail_pd_in_use(context, error);
	return err ? lose_pd(context, err, error) : 0;
}
