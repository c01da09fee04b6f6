// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stddef.h>

#include "vpeer.h"

#define NAME_OF(names, number) name_of(names, sizeof(names) / sizeof((names)[0]), number)

static const char *const routes[] = {
	[VPEER_ROUTE_NONE] = "none",
	[VPEER_ROUTE_DMABUF] = "dmabuf",
	[VPEER_ROUTE_PAGES] = "pages",
	[VPEER_ROUTE_PEERMEM] = "peermem",
	[VPEER_ROUTE_STAGING] = "staging",
};

static const char *const kinds[] = {
	[VPEER_MEMORY_UNKNOWN] = "unknown",
	[VPEER_MEMORY_HOST] = "host",
	[VPEER_MEMORY_WINDOW] = "window",
	[VPEER_MEMORY_DMABUF] = "dmabuf",
	[VPEER_MEMORY_CUDA] = "cuda",
	[VPEER_MEMORY_CUDA_HOST] = "cuda-host",
	[VPEER_MEMORY_CUDA_MANAGED] = "cuda-managed",
};

static const char *const distances[] = {
	[VPEER_DISTANCE_UNKNOWN] = "unknown",
	[VPEER_DISTANCE_SAME_FUNCTION] = "same-function",
	[VPEER_DISTANCE_SAME_DEVICE] = "same-device",
	[VPEER_DISTANCE_SAME_SWITCH] = "same-switch",
	[VPEER_DISTANCE_SAME_ROOT_PORT] = "same-root-port",
	[VPEER_DISTANCE_SAME_BRIDGE] = "same-bridge",
	[VPEER_DISTANCE_SAME_NODE] = "same-node",
	[VPEER_DISTANCE_FAR] = "far",
};

static const char *name_of(const char *const *names, size_t count, unsigned int number)
{
	return number < count ? names[number] : "unknown";
}

const char *vpeer_route_name(unsigned int route)
{
	return NAME_OF(routes, route);
}

const char *vpeer_memory_kind_name(unsigned int kind)
{
	return NAME_OF(kinds, kind);
}

const char *vpeer_distance_name(unsigned int distance)
{
	return NAME_OF(distances, distance);
}
