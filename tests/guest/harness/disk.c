// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdlib.h>

#include "disk.h"
#include "harness.h"

int disk_open(const char *variable)
{
	const char *path = getenv(variable);
	int fd;

	if (!path || !*path)
		test_skip("no disk: %s is not set", variable);
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	CHECK_OK(fd);
	return fd;
}
