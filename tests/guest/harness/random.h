/* SPDX-License-Identifier: GPL-2.0-only */
/* Choices that a seed repeats. Each process has its own sequence. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

/* $VPEER_TEST_SEED, else one of the clock's. */
uint32_t random_seed(void);

void pick_seed(uint32_t seed);

/* A number below @below. */
uint32_t pick(uint32_t below);

#endif /* RANDOM_H */
