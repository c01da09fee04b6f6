// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sampler.h"

static void *sample(void *argument)
{
	struct sampler *sampler = argument;
	uint64_t pinned;

	while (!__atomic_load_n(&sampler->stop, __ATOMIC_RELAXED)) {
		if (!bed_pinned(sampler->bed, &pinned))
			continue;
		sampler->readable = true;
		if (pinned > sampler->most)
			sampler->most = pinned;
	}
	return NULL;
}

void sampler_begin(struct sampler *sampler, const struct bed *bed)
{
	*sampler = (struct sampler){ .bed = bed };
	sampler->running = !pthread_create(&sampler->thread, NULL, sample, sampler);
}

void sampler_end(struct sampler *sampler)
{
	__atomic_store_n(&sampler->stop, true, __ATOMIC_RELAXED);
	if (sampler->running)
		pthread_join(sampler->thread, NULL);
	sampler->running = false;
}
