// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Registers memory, whatever it is: of an aperture's window, or from malloc().
 * usage: register DEVICE [APERTURE]
 */
#include "example.h"

#define LENGTH	(1UL << 20)

int main(int argc, char **argv)
{
	struct vpeer_context *context;
	struct ibv_context *device;
	struct vpeer_error error;
	struct vpeer_stats stats;
	struct memory memory;
	struct vpeer_mr *mr;

	if (argc < 2 || argc > 3)
		errx(2, "usage: register DEVICE [APERTURE]");
	device = open_device(argv[1]);
	if (argc == 3)
		memory = window_memory(argv[2], LENGTH);
	else
		memory = (struct memory){ .address = malloc(LENGTH), .length = LENGTH };
	if (vpeer_context_open(&context, device, NULL, &error))
		die(&error);

	/* The second time a window is not registered again: the first one was kept. */
	for (int i = 0; i < 2; i++) {
		if (vpeer_reg(context, memory.address, memory.length, NULL, &mr, &error))
			die(&error);
		show(argv[1], mr);
		/* Here work would be posted, and its completions waited for. */
		vpeer_dereg(mr);
	}
	vpeer_context_stats(context, &stats);
	printf("%" PRIu64 " found, %" PRIu64 " registered\n", stats.hits, stats.registered);

	if (vpeer_context_destroy(context, &error))
		die(&error);
	ibv_close_device(device);
	if (argc == 3)
		window_memory_free(&memory);
	else
		free(memory.address);
	return 0;
}
