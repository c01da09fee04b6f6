/* SPDX-License-Identifier: GPL-2.0-only */
/* The module built so that its allocations fail when told (tests/fail_alloc). */
#ifndef HARNESS_FAIL_H
#define HARNESS_FAIL_H

#include <stdbool.h>
#include <stddef.h>

/* Puts it in place of the ordinary one, and attaches the aperture. */
void fail_load(void);

/*
 * The nth call from now on that this process has the module make fails, and so
 * does the same one if it is tried again, so many times in all.
 */
void fail_arm(unsigned int nth, unsigned int times);

/* No more. Did that call come? Then which it was, "kzalloc vpeer_window_claim". */
bool fail_disarm(char *what, size_t size);

/* What the module holds, a count for each kind. */
void fail_live(char *text, size_t size);

#endif /* HARNESS_FAIL_H */
