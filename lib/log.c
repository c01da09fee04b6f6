// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "context.h"

#define KERNEL_ENOTSUPP	524

void vpeer_log(const struct vpeer_context *context, int level, const char *format, ...)
{
	char text[768];
	va_list args;

	if (!context->options.log || level > (int)context->options.log_level)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	context->options.log(context->options.log_argument, level, text);
}

const char *vpeer_errno_text(int err, char text[VPEER_ERRNO_LEN])
{
	const char *name = strerrorname_np(err);

	if (err == KERNEL_ENOTSUPP)
		snprintf(text, VPEER_ERRNO_LEN, "ENOTSUPP (524, an error of the kernel's own): "
			 "operation not supported");
	else if (name)
		snprintf(text, VPEER_ERRNO_LEN, "%s: %s", name, strerrordesc_np(err));
	else
		snprintf(text, VPEER_ERRNO_LEN, "error %d", err);
	return text;
}
