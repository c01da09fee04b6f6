// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Where communication libraries take their variables from. */
#include <limits.h>
#include <string.h>

#include "../util.h"
#include "guest.h"

/* In the order in which they win. %: the value of this variable of the environment. */
static const struct source {
	const char *prefix;	/* of the variables that it may have */
	const char *variable;	/* that has the start of the path, or NULL */
	const char *path;
} sources[] = {
	{ "NCCL_", "NCCL_CONF_FILE", "" },
	{ "NCCL_", "HOME", "/.nccl.conf" },
	{ "NCCL_", NULL, "etc/nccl.conf" },
	{ "UCX_", "UCX_CONFIG_DIR", "/ucx.conf" },
	{ "UCX_", "HOME", "/ucx.conf" },
	{ "UCX_", NULL, "etc/ucx/ucx.conf" },
};

static bool path_of(const struct site *site, const struct source *source, char *path, size_t size)
{
	const char *start = "";

	if (source->variable) {
		start = site_variable(site, source->variable);
		if (!start || !*start)
			return false;
		start += strspn(start, "/");
	}
	text_format(path, size, "%s%s", start, source->path);
	return true;
}

bool site_setting(const struct site *site, const char *name, char *value, size_t size,
		  char *where, size_t where_size)
{
	const char *set = site_variable(site, name);
	char path[PATH_MAX];

	if (set && *set) {
		text_format(value, size, "%s", set);
		text_format(where, where_size, "the environment");
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (strncmp(name, sources[i].prefix, strlen(sources[i].prefix)) ||
		    !path_of(site, &sources[i], path, sizeof(path)) ||
		    !site_line(site, value, size, name, path) || !value[0])
			continue;
		text_format(where, where_size, "/%s", path);
		return true;
	}
	return false;
}
