/* SPDX-License-Identifier: GPL-2.0-only */
/* Allocations that fail, in programs that are linked with STARVED of the Makefile. */
#ifndef SIM_TEST_MEMORY_H
#define SIM_TEST_MEMORY_H

/* Of those to come, the one that fails: 1 is the next, 0 none. Counted down. NULL: none ever. */
extern unsigned int *starve_at;

#endif
