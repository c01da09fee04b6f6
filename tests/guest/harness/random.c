// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <time.h>

#include "random.h"

static uint64_t state;

uint32_t random_seed(void)
{
	const char *text = getenv("VPEER_TEST_SEED");
	struct timespec now;

	if (text && *text)
		return strtoul(text, NULL, 0);
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void pick_seed(uint32_t seed)
{
	state = seed;
}

/* splitmix64 */
uint32_t pick(uint32_t below)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (z ^ z >> 31) % below;
}
