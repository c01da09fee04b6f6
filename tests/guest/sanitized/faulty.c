// SPDX-License-Identifier: GPL-2.0-only
/* What sanitizers are to see: two threads that write at once, and memory that is used when it is free. */
#include <pthread.h>
#include <stdlib.h>

static int shared;

static void *write_shared(void *unused)
{
	shared++;
	return unused;
}

int main(void)
{
	volatile char *volatile memory = malloc(16);
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, write_shared, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	free((char *)memory);
	memory[3] = 1;
	return 0;
}
