// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "aperture.h"
#include "calls.h"
#include "harness.h"

const struct call calls[] = {
	{ "query", VPEER_IOCTL_QUERY, sizeof(struct vpeer_query), true, 0 },
	{ "query", VPEER_IOCTL_QUERY, sizeof(struct vpeer_query), false, 0 },
	{ "attach", VPEER_IOCTL_ATTACH, sizeof(struct vpeer_attach), true,
	  offsetof(struct vpeer_attach, reserved) },
	{ "detach", VPEER_IOCTL_DETACH, sizeof(struct vpeer_detach), true,
	  offsetof(struct vpeer_detach, reserved) + 5 },
	{ "aperture_info", VPEER_IOCTL_APERTURE_INFO,
	  sizeof(struct vpeer_aperture_info), false,
	  offsetof(struct vpeer_aperture_info, reserved) },
	{ "window_alloc", VPEER_IOCTL_WINDOW_ALLOC,
	  sizeof(struct vpeer_window_alloc), false, 0 },
	{ "window_free", VPEER_IOCTL_WINDOW_FREE, sizeof(struct vpeer_window_op),
	  false, 0 },
	{ "window_revoke", VPEER_IOCTL_WINDOW_REVOKE,
	  sizeof(struct vpeer_window_op), false, 0 },
	{ "window_info", VPEER_IOCTL_WINDOW_INFO, sizeof(struct vpeer_window_info),
	  false, offsetof(struct vpeer_window_info, reserved) },
	{ "dmabuf", VPEER_IOCTL_DMABUF, sizeof(struct vpeer_dmabuf), false, 0 },
	{ "event", VPEER_IOCTL_EVENT, sizeof(struct vpeer_event), false, 0 },
	{ "path_report", VPEER_IOCTL_PATH_REPORT, sizeof(struct vpeer_path_report), false,
	  offsetof(struct vpeer_path_report, reserved4) + 63 },
};

const size_t call_count = ARRAY_SIZE(calls);

struct nodes nodes_open(void)
{
	return (struct nodes){ .control = control_open(), .aperture = aperture_open() };
}

void nodes_close(struct nodes *nodes)
{
	close(nodes->control);
	close(nodes->aperture);
}

int call_fd(const struct nodes *nodes, const struct call *call)
{
	return call->control ? nodes->control : nodes->aperture;
}
