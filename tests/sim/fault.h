/* SPDX-License-Identifier: GPL-2.0-only */
/* Misbehaviours of a function, all off unless switched on by name. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum fault {
	FAULT_DROP,
	FAULT_MIRROR,
	FAULT_READ_FAIL,
	FAULT_ONE_WAY,
	FAULT_LATE,
	FAULT_PAGE_ERROR,
	FAULT_HIGH_FAIL,
	FAULT_BAR_UNMAPPED,
	FAULT_NO_ATS,
	FAULT_ATC_STALE,
	FAULT_BOUNCE,
	FAULT_GONE,
	FAULT_CQE_ERROR,
	FAULT_SLOW,
	FAULT_HANG,
	FAULT_COUNT,
};

struct faults {
	uint32_t on;			/* bit mask */
	uint64_t value[FAULT_COUNT];	/* where a name takes one; see fault.c */
};

static inline bool fault_is_on(const struct faults *faults, enum fault fault)
{
	return faults->on & 1u << fault;
}

/* The name's number, or -1. */
int fault_named(const char *name);
const char *fault_name(enum fault fault);
const char *fault_takes(enum fault fault);	/* which values, in words */

/* Whether it acts by its value: it takes one, and was not left without. */
bool fault_has_value(const struct faults *faults, enum fault fault);

/* value: NULL for the name's own. 0, or -EINVAL if it takes none or that is not one. */
int fault_switch(struct faults *faults, enum fault fault, bool on, const char *value);

#endif
