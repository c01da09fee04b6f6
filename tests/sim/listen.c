// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listen.h"
#include "loop.h"

#define PAUSE	100000	/* microseconds */

static bool told;

static void *arg_of(int listener)
{
	return (void *)(intptr_t)listener;
}

static void go_on(void *arg)
{
	loop_change((int)(intptr_t)arg, POLLIN);
}

static bool is_passing(int error)
{
	return error == EAGAIN || error == EINTR || error == ECONNABORTED;
}

/* Else poll() would tell of the same connection again and again. */
static void pause_it(int listener, int error)
{
	if (!told)
		fprintf(stderr, "sim: no connection is accepted: %s; they wait for room\n",
			strerror(error));
	told = true;
	if (loop_timer(PAUSE, go_on, arg_of(listener)))
		loop_change(listener, 0);
}

int listen_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		told = false;
	else if (!is_passing(errno))
		pause_it(listener, errno);
	return fd;
}

void listen_end(int listener)
{
	loop_forget(arg_of(listener));
	loop_remove(listener);
	close(listener);
}
