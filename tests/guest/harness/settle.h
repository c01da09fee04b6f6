/* SPDX-License-Identifier: GPL-2.0-only */
/* What holds before and after every case. */
#ifndef SETTLE_H
#define SETTLE_H

#include <stdbool.h>
#include <stddef.h>

/* An earlier case may have failed with the aperture detached. */
void settle_before(void);

/*
 * Every aperture at rest and no quarantine: waits a while for the module to
 * clean up behind processes that ended. False with the reason otherwise.
 */
bool settle_after(char *reason, size_t size);

#endif /* SETTLE_H */
