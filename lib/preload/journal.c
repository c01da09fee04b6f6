// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long counts[JOURNAL_COUNTS];
static bool forked;

static const char *path(void)
{
	const char *value = secure_getenv("VPEER_PRELOAD_LOG");

	return value && *value ? value : NULL;
}

bool journal_wanted(void)
{
	return path() != NULL;
}

/* A journal that stays empty would look as if there had been nothing to say. */
static void tell_no_file(const char *where)
{
	static bool told;

	if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		dprintf(STDERR_FILENO, "vpeer-preload[%d]: cannot open VPEER_PRELOAD_LOG=%s: %m\n",
			(int)getpid(), where);
}

/* A descriptor that stays open might be closed by the program, and then be another file's. */
static void write_line(const char *where, const char *line, size_t length)
{
	int fd = STDERR_FILENO;
	ssize_t written;

	if (strcmp(where, "stderr") != 0)
		fd = open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0) {
		tell_no_file(where);
		return;
	}
	written = write(fd, line, length);
	(void)written;
	if (fd != STDERR_FILENO)
		close(fd);
}

void journal_say(const char *format, ...)
{
	const char *where = path();
	int kept = errno, start, rest;
	char line[1536];
	va_list args;

	if (!where)
		return;
	start = snprintf(line, sizeof(line), "vpeer-preload[%d]: ", (int)getpid());
	va_start(args, format);
	rest = vsnprintf(line + start, sizeof(line) - (size_t)start - 1, format, args);
	va_end(args);
	if (rest > 0) {
		size_t length = strlen(line);

		line[length] = '\n';
		write_line(where, line, length + 1);
	}
	errno = kept;
}

void journal_count(enum journal_count what)
{
	__atomic_fetch_add(&counts[what], 1, __ATOMIC_RELAXED);
}

void journal_forget(void)
{
	memset(counts, 0, sizeof(counts));
	forked = true;
}

/* Of a program that registered nothing, too: it was this library that looked. */
__attribute__((destructor)) static void tell_counts(void)
{
	if (!forked || counts[JOURNAL_LIBRARY] || counts[JOURNAL_STRAIGHT] ||
	    counts[JOURNAL_REFUSED])
		journal_say("in all: %lu through libvpeer, %lu straight, %lu refused",
			    counts[JOURNAL_LIBRARY], counts[JOURNAL_STRAIGHT],
			    counts[JOURNAL_REFUSED]);
}
