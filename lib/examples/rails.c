// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Registers one window with several RDMA devices, all or none.
 * usage: rails APERTURE DEVICE...
 */
#include "example.h"

#define LENGTH	(4UL << 20)
#define MOST	16

int main(int argc, char **argv)
{
	struct vpeer_context *contexts[MOST];
	struct ibv_context *devices[MOST];
	struct vpeer_mr *mrs[MOST];
	int count = argc - 2;
	struct vpeer_error error;
	struct memory memory;

	if (count < 1 || count > MOST)
		errx(2, "usage: rails APERTURE DEVICE... (up to %d)", MOST);
	memory = window_memory(argv[1], LENGTH);
	for (int i = 0; i < count; i++) {
		devices[i] = open_device(argv[2 + i]);
		if (vpeer_context_open(&contexts[i], devices[i], NULL, &error))
			die(&error);
	}

	if (vpeer_reg_rails(contexts, (size_t)count, memory.address, memory.length, NULL, mrs,
			    &error))
		die(&error);
	for (int i = 0; i < count; i++)
		show(argv[2 + i], mrs[i]);

	for (int i = 0; i < count; i++) {
		vpeer_dereg(mrs[i]);
		if (vpeer_context_destroy(contexts[i], &error))
			die(&error);
		ibv_close_device(devices[i]);
	}
	window_memory_free(&memory);
	return 0;
}
