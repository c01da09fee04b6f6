// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "vpeer.h"

struct cause {
	const char *name;
	const char *text;
};

#define CAUSE(symbol, name, text) \
	[VPEER_CAUSE_##symbol] = { name, text }

static const struct cause causes[] = {
	CAUSE(NONE, "none", "the window was not revoked"),
	CAUSE(OWNER, "owner", "its owner revoked it"),
	CAUSE(ADMIN, "admin", "an administrator revoked every window of the aperture"),
	CAUSE(DETACHED, "detached",
	      "the aperture was detached, its driver unbound, or the function removed"),
	CAUSE(UNPLUGGED, "unplugged", "the function no longer answers"),
	CAUSE(RESET, "reset", "the function was reset"),
	CAUSE(BUS_ERROR, "bus-error", "the function's bus reported an error"),
	CAUSE(SUSPEND, "suspend", "the machine was suspended"),
};

static const struct cause unknown = {
	"unknown",
	"the module gave a cause that this library does not know",
};

static const struct cause *lookup(unsigned int cause)
{
	if (cause >= sizeof(causes) / sizeof(causes[0]) || !causes[cause].name)
		return &unknown;
	return &causes[cause];
}

const char *vpeer_cause_name(unsigned int cause)
{
	return lookup(cause)->name;
}

const char *vpeer_cause_text(unsigned int cause)
{
	return lookup(cause)->text;
}
