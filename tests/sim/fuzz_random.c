// SPDX-License-Identifier: GPL-2.0-only
#include "fuzz.h"

static uint64_t state = 1;

void fuzz_seed(uint64_t seed)
{
	state = seed * 0x9e3779b97f4a7c15ull + 1;
}

/* xorshift64*: the same on every machine for a seed. */
uint64_t fuzz_random(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dull;
}

uint32_t fuzz_below(uint32_t limit)
{
	return (uint32_t)((fuzz_random() >> 32) % limit);
}

bool fuzz_chance(uint32_t percent)
{
	return fuzz_below(100) < percent;
}
