/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel log since a moment. */
#ifndef KMSG_H
#define KMSG_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the log behind its last line; -1 without permission. */
int kmsg_mark(void);

/*
 * Counts lines since the mark that match an extended regular expression and
 * keeps the first. The mark moves on to the end.
 */
unsigned int kmsg_count(int mark, const char *pattern, char *first, size_t size);

/* Waits for such lines; how many there are then, or 0 after so long. */
unsigned int kmsg_within(int mark, const char *pattern, unsigned int milliseconds);

#define KMSG_TROUBLE							\
	"WARNING: (CPU: |possible |suspicious |bad unlock|inconsistent |.* at )|" \
	"BUG: |kernel BUG at|Oops|general protection fault|Kernel panic|" \
	"refcount_t: |list_(add|del) corruption|blocked for more than|"	\
	"rcu: .* detected stall|Unable to handle kernel"
#define KMSG_FAULT							\
	"DMAR: .*[Ff]ault|AMD-Vi: .*(IO_PAGE_FAULT|Event logged)|"	\
	"virtio_iommu .*fault"

#endif /* KMSG_H */
