// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Orders what an RDMA device wrote to device memory before reads of that memory
 * by its own processor.
 * usage: flush DEVICE PORT APERTURE
 */
#include "example.h"

int main(int argc, char **argv)
{
	struct vpeer_context *context;
	struct vpeer_flush *flush;
	struct ibv_context *device;
	struct vpeer_error error;
	struct memory memory;
	struct vpeer_mr *mr;

	if (argc != 4)
		errx(2, "usage: flush DEVICE PORT APERTURE");
	device = open_device(argv[1]);
	memory = window_memory(argv[3], 1UL << 20);
	if (vpeer_context_open(&context, device, NULL, &error) ||
	    vpeer_reg(context, memory.address, memory.length, NULL, &mr, &error) ||
	    vpeer_flush_create(&flush, context, (uint8_t)atoi(argv[2]), &error))
		die(&error);
	show(argv[1], mr);

	/* After the completion of a receive, or a flag that the peer wrote, and before the kernel runs. */
	if (vpeer_flush(flush, mr, 1000, &error))
		die(&error);
	puts("flushed");

	vpeer_flush_destroy(flush);
	vpeer_dereg(mr);
	if (vpeer_context_destroy(context, &error))
		die(&error);
	ibv_close_device(device);
	window_memory_free(&memory);
	return 0;
}
