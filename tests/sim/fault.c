// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

enum value_kind {
	NO_VALUE,
	NUMBER,
	ADDRESS,	/* or "bits=N": 1 << N */
};

static const struct {
	const char *name;
	enum value_kind kind;
	uint64_t own, most;
	const char *takes;
} kinds[FAULT_COUNT] = {
	[FAULT_DROP] = { "drop", NO_VALUE, 0, 0 },
	[FAULT_MIRROR] = { "mirror", NO_VALUE, 0, 0 },
	[FAULT_READ_FAIL] = { "read-fail", NO_VALUE, 0, 0 },
	[FAULT_ONE_WAY] = { "one-way", NO_VALUE, 0, 0 },
	[FAULT_LATE] = { "late", NUMBER, 50, 60000, "0 to 60000 ms" },
	[FAULT_PAGE_ERROR] = { "page-error", ADDRESS, UINT64_MAX, UINT64_MAX - 1,
			       "an IOVA or bits=1 to 63" },
	[FAULT_HIGH_FAIL] = { "high-fail", ADDRESS, 1ull << 32, UINT64_MAX,
			      "an IOVA or bits=1 to 63" },
	[FAULT_BAR_UNMAPPED] = { "bar-unmapped", NO_VALUE, 0, 0 },
	[FAULT_NO_ATS] = { "no-ats", NO_VALUE, 0, 0 },
	[FAULT_ATC_STALE] = { "atc-stale", NO_VALUE, 0, 0 },
	[FAULT_BOUNCE] = { "bounce", NO_VALUE, 0, 0 },
	[FAULT_GONE] = { "gone", NO_VALUE, 0, 0 },
	[FAULT_CQE_ERROR] = { "cqe-error", NO_VALUE, 0, 0 },
	[FAULT_SLOW] = { "slow", NUMBER, 200, 50000, "0 to 50000 us" },
	/* Commands wait, and the register that resets is ignored, until it is off. */
	[FAULT_HANG] = { "hang", NO_VALUE, 0, 0 },
};

int fault_named(const char *name)
{
	for (int i = 0; i < FAULT_COUNT; i++)
		if (!strcmp(kinds[i].name, name))
			return i;
	return -1;
}

const char *fault_name(enum fault fault)
{
	return kinds[fault].name;
}

const char *fault_takes(enum fault fault)
{
	return kinds[fault].takes ? kinds[fault].takes : "no value";
}

bool fault_has_value(const struct faults *faults, enum fault fault)
{
	return kinds[fault].kind != NO_VALUE &&
	       (faults->value[fault] != UINT64_MAX || kinds[fault].own != UINT64_MAX);
}

static int parse_number(const char *text, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 0);
	return errno || *end ? -EINVAL : 0;
}

static int parse_value(enum fault fault, const char *text, uint64_t *value)
{
	if (kinds[fault].kind == ADDRESS && !strncmp(text, "bits=", 5)) {
		if (parse_number(text + 5, value) || !*value || *value > 63)
			return -EINVAL;
		*value = 1ull << *value;
		return 0;
	}
	if (kinds[fault].kind == NO_VALUE || parse_number(text, value) ||
	    *value > kinds[fault].most)
		return -EINVAL;
	return 0;
}

int fault_switch(struct faults *faults, enum fault fault, bool on, const char *value)
{
	uint64_t parsed = kinds[fault].own;

	if (value && (!on || parse_value(fault, value, &parsed)))
		return -EINVAL;
	faults->value[fault] = parsed;
	if (on)
		faults->on |= 1u << fault;
	else
		faults->on &= ~(1u << fault);
	return 0;
}
