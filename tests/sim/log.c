// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "function.h"
#include "log.h"
#include "loop.h"

#define LONGEST	(64u << 20)

static char path[4096];
static int file = -1;
static uint64_t written;

static int open_file(void)
{
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	written = 0;
	return file < 0 ? -errno : 0;
}

int log_open(const char *directory)
{
	if ((size_t)snprintf(path, sizeof(path), "%s/access.log", directory) >= sizeof(path))
		return -ENAMETOOLONG;
	return open_file();
}

void log_close(void)
{
	if (file >= 0)
		close(file);
	file = -1;
}

static void rotate(void)
{
	char old[sizeof(path) + 2];

	snprintf(old, sizeof(old), "%s.1", path);
	if (rename(path, old))
		fprintf(stderr, "sim: %s: %s; its lines are lost\n", old, strerror(errno));
	log_close();
	if (open_file())
		fprintf(stderr, "sim: %s: %s; accesses are not logged any more\n", path,
			strerror(errno));
}

void log_access(const struct function *function, uint64_t iova, size_t length, const char *op,
		const char *outcome, const char *route)
{
	char line[160];
	int chars = snprintf(line, sizeof(line), "%" PRIu64 " %s 0x%" PRIx64 " %zu %s %s %s\n",
			     loop_now(), function->name, iova, length, op, outcome, route);

	if (file < 0)
		return;
	if (write(file, line, (size_t)chars) != chars)
		fprintf(stderr, "sim: %s: %s; lost: %s", path, strerror(errno), line);
	written += (uint64_t)chars;
	if (written >= LONGEST)
		rotate();
}

int log_clear(void)
{
	written = 0;
	return ftruncate(file, 0) ? -errno : 0;
}

int log_read_only(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}
