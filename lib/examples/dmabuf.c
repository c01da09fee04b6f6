// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Makes a DMA-buf of a pointer, which another process could be given, and
 * registers it by its descriptor.
 * usage: dmabuf DEVICE APERTURE
 */
#include <unistd.h>

#include "example.h"

int main(int argc, char **argv)
{
	struct vpeer_memory_info info;
	struct vpeer_context *context;
	struct vpeer_export dmabuf;
	struct ibv_context *device;
	struct vpeer_error error;
	struct memory memory;
	struct vpeer_mr *mr;

	if (argc != 3)
		errx(2, "usage: dmabuf DEVICE APERTURE");
	device = open_device(argv[1]);
	memory = window_memory(argv[2], 1UL << 20);
	if (vpeer_query_memory(memory.address, memory.length, &info, &error) ||
	    vpeer_export(memory.address, memory.length, &dmabuf, &error) ||
	    vpeer_context_open(&context, device, NULL, &error))
		die(&error);
	printf("memory of kind %s, %s\n", vpeer_memory_kind_name(info.kind), info.node);

	/* Addresses in work requests count from 0 here: the other process has no pointer. */
	if (vpeer_reg_dmabuf(context, dmabuf.fd, dmabuf.offset, dmabuf.length, 0, NULL, &mr,
			     &error))
		die(&error);
	close(dmabuf.fd);
	show(argv[1], mr);

	vpeer_dereg(mr);
	if (vpeer_context_destroy(context, &error))
		die(&error);
	ibv_close_device(device);
	window_memory_free(&memory);
	return 0;
}
