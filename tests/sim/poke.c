// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core.h"
#include "dma.h"
#include "loop.h"
#include "poke.h"

static struct {
	struct function *function;	/* NULL: none waits */
	uint64_t iova, value;
} waiting;

static void poke_now(void *arg)
{
	struct function *function = waiting.function;

	(void)arg;
	waiting.function = NULL;
	dma_write(function, waiting.iova, &waiting.value, sizeof(waiting.value));
}

static bool number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

const char *poke(const char *name, const char *iova, const char *value)
{
	struct function *function = function_named(name);

	if (!function)
		return "no such function";
	if (waiting.function)
		return "another poke waits";
	if (!number(iova, &waiting.iova) || !number(value, &waiting.value))
		return "IOVA and VALUE are numbers of 64 bits";
	if (loop_defer(poke_now, NULL))
		return "no memory";
	waiting.function = function;
	return NULL;
}
