/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that grows and neither moves nor goes away before its end. */
#ifndef VPEER_RESERVE_H
#define VPEER_RESERVE_H

#include <stddef.h>

/* No processor's pages are larger, unless they are huge ones. */
#define VPEER_LARGEST_PAGE	65536

struct vpeer_reserve {
	char *base;
	size_t size;		/* address space */
	size_t committed;	/* of it, memory from the base on */
};

/* Takes address space for @size bytes, which are zero when it has grown so far. -errno */
int vpeer_reserve_begin(struct vpeer_reserve *reserve, size_t size);

/* At least @size bytes can be used then. -ENOMEM, as also beyond what was reserved. */
int vpeer_reserve_grow(struct vpeer_reserve *reserve, size_t size);

/* Also of one that was never begun but is all zero. */
void vpeer_reserve_end(struct vpeer_reserve *reserve);

#endif /* VPEER_RESERVE_H */
