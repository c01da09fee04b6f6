/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaches that must be refused and change nothing. */
#ifndef REFUSAL_H
#define REFUSAL_H

#include <stdint.h>

struct refusal {
	const char *pci;
	uint8_t bar;
	uint32_t flags;
	uint64_t range_offset;
	uint64_t range_size;
	int error;
	uint32_t reason;
	unsigned int log_lines;	/* of the module itself */
};

void check_refusal(const struct refusal *refusal);

/* "0000:00:1f.3" as sysfs knows it, or skips the case. */
void need_function(const char *pci);

#endif /* REFUSAL_H */
