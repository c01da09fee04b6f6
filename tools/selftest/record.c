// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "record.h"

const char *op_name(enum op op)
{
	static const char *const names[OP_COUNT] = { "write", "read", "send", "atomic" };

	return names[op];
}

const char *direction_name(enum direction direction)
{
	return direction == TO_WINDOW ? "to window" : "from window";
}

const char *outcome_name(enum outcome outcome)
{
	static const char *const names[] = { "pass", "fail", "not tested" };

	return names[outcome];
}

const char *fact_name(enum fact fact)
{
	static const char *const names[] = { "unknown", "yes", "no" };

	return names[fact];
}
