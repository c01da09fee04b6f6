// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Stops a thread at random where the cache says that another may come between. */
#include <sched.h>
#include <stdint.h>

void vpeer_pause(void);

void vpeer_pause(void)
{
	static __thread uint64_t state;

	if (!state)
		state = (uintptr_t)&state;
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	if (state >> 59 == 0)
		sched_yield();
}
