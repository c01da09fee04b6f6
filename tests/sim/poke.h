/* SPDX-License-Identifier: GPL-2.0-only */
/* A write that no driver asked for, as of a device that goes on when it should not. */
#ifndef SIM_POKE_H
#define SIM_POKE_H

/* Of 8 bytes, after what is served now; how it ended is in the log. NULL, or what is wrong. */
const char *poke(const char *name, const char *iova, const char *value);

#endif
