/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Watches pins that last only as long as an I/O. */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <pthread.h>

#include "bed.h"

struct sampler {
	const struct bed *bed;
	pthread_t thread;
	bool running;
	bool stop;
	bool readable;
	uint64_t most;	/* bytes */
};

void sampler_begin(struct sampler *sampler, const struct bed *bed);
void sampler_end(struct sampler *sampler);

#endif /* SAMPLER_H */
