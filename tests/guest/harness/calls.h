/* SPDX-License-Identifier: GPL-2.0-only */
/* Every call of the interface, for checks of what they have in common. */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call {
	const char *name;
	unsigned long cmd;
	size_t size;
	bool control;		/* on /dev/vpeerctl, else on /dev/vpeerN */
	size_t reserved;	/* place of a byte that must be zero, or 0 */
};

extern const struct call calls[];
extern const size_t call_count;

/* What every structure starts with. */
struct call_header {
	uint32_t argsz;
	uint32_t flags;
	uint32_t reason;
};

/* Descriptors for the two nodes. */
struct nodes {
	int control;
	int aperture;
};

struct nodes nodes_open(void);
void nodes_close(struct nodes *nodes);
int call_fd(const struct nodes *nodes, const struct call *call);

#endif /* CALLS_H */
