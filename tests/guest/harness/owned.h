/* SPDX-License-Identifier: GPL-2.0-only */
/* Windows that a reset or a sleep took away, and new ones. */
#ifndef OWNED_H
#define OWNED_H

#include <stdint.h>

/* vpeer is the function's driver, whoever was before; the second attaches anew. */
void own(void);
void own_with(uint32_t flags);

/* The generation page of an open file. */
const volatile uint64_t *window_generations(int fd);

/* Claims a granule, which must read zero, uses it, and frees it. */
void check_new_window(int fd, uint64_t offset);

/* The revoked window at 0: new ones elsewhere and, once it is freed, in its place. */
void check_replaced(int fd);

/* The freed window at 0, whose pins end within a while: a new one in its place. */
void check_drained(int fd);

/* "ok" or "asleep", as sysfs tells it. */
void check_status(const char *expected);

#endif /* OWNED_H */
