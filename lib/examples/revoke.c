// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Is told when memory that it has registered is taken back. Here it takes the
 * window back itself, as an administrator or a reset would.
 * usage: revoke DEVICE APERTURE
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "example.h"

/* On the context's thread: no more than to pass it on. */
static void revoked(void *argument, struct vpeer_mr *mr)
{
	const int *event = argument;
	uint64_t one = 1;

	(void)mr;
	if (write(*event, &one, sizeof(one)) != sizeof(one))
		warn("eventfd");
}

int main(int argc, char **argv)
{
	int event = eventfd(0, EFD_CLOEXEC);
	struct vpeer_context_options options = { .revoked = revoked, .revoked_argument = &event };
	struct pollfd wait = { .fd = event, .events = POLLIN };
	struct vpeer_context *context;
	struct ibv_context *device;
	struct vpeer_error error;
	struct memory memory;
	struct vpeer_mr *mr;

	if (argc != 3)
		errx(2, "usage: revoke DEVICE APERTURE");
	device = open_device(argv[1]);
	memory = window_memory(argv[2], 1UL << 20);
	if (vpeer_context_open(&context, device, &options, &error) ||
	    vpeer_reg(context, memory.address, memory.length, NULL, &mr, &error))
		die(&error);
	show(argv[1], mr);

	/* With an MR whose pages are pinned it says that they are; the event has come all the same. */
	if (vpeer_window_revoke(memory.window, 0, NULL, &error))
		printf("%s: %s\n", error.who, error.message);
	if (poll(&wait, 1, 10000) != 1)
		errx(1, "not told that the window was revoked");
	if (!vpeer_mr_check(mr, &error))
		errx(1, "the MR is said to be good");
	printf("%s: %s\n", error.who, error.message);

	vpeer_dereg(mr);
	if (vpeer_context_destroy(context, &error))
		die(&error);
	ibv_close_device(device);
	window_memory_free(&memory);
	close(event);
	return 0;
}
