// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "maps_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Longer lines, which paths make, are cut. */
#define BUFFER_SIZE	((size_t)32 << 10)

struct lines {
	int fd;
	char *buffer;
	size_t used;	/* bytes read */
	size_t next;	/* start of the next line */
	bool cut;	/* the rest of a line is to be skipped */
	bool end;
};

static int fill(struct lines *lines)
{
	ssize_t got;

	memmove(lines->buffer, lines->buffer + lines->next, lines->used - lines->next);
	lines->used -= lines->next;
	lines->next = 0;
	do {
		got = read(lines->fd, lines->buffer + lines->used, BUFFER_SIZE - 1 - lines->used);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	lines->end = got == 0;
	lines->used += (size_t)got;
	return 0;
}

/* A line without its newline; NULL at the end, or with @err set. */
static char *next_line(struct lines *lines, int *err)
{
	char *line, *newline;
	bool skip;

	*err = 0;
	for (;;) {
		line = lines->buffer + lines->next;
		newline = memchr(line, '\n', lines->used - lines->next);
		skip = lines->cut;
		if (newline) {
			lines->cut = false;
			*newline = '\0';
			lines->next = (size_t)(newline + 1 - lines->buffer);
		} else if (lines->used - lines->next == BUFFER_SIZE - 1 ||
			   (lines->end && lines->used > lines->next)) {
			lines->cut = !lines->end;
			lines->buffer[lines->used] = '\0';
			lines->next = lines->used;
		} else {
			if (lines->end)
				return NULL;
			*err = fill(lines);
			if (*err)
				return NULL;
			continue;
		}
		if (!skip)
			return line;
	}
}

/* Neither white space nor a sign, which strtoull() takes. */
static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool hex_until(const char **cursor, char end, uint64_t *value)
{
	char *stop;

	if (!is_hex(**cursor))
		return false;
	errno = 0;
	*value = strtoull(*cursor, &stop, 16);
	if (errno || *stop != end)
		return false;
	*cursor = stop + 1;
	return true;
}

/* Path: what follows the spaces behind the inode. */
static bool parse_line(const char *line, struct vpeer_mapping *mapping, const char **path)
{
	uint64_t major, minor;
	const char *perms;
	char *stop;

	if (!hex_until(&line, '-', &mapping->start) || !hex_until(&line, ' ', &mapping->end))
		return false;
	perms = line;
	if (strnlen(perms, 5) < 5 || perms[4] != ' ')
		return false;
	line += 5;
	if (!hex_until(&line, ' ', &mapping->offset) || !hex_until(&line, ':', &major) ||
	    !hex_until(&line, ' ', &minor))
		return false;
	errno = 0;
	mapping->inode = strtoull(line, &stop, 10);
	if (errno || stop == line)
		return false;
	mapping->device = makedev((unsigned int)major, (unsigned int)minor);
	mapping->readable = perms[0] == 'r';
	mapping->writable = perms[1] == 'w';
	mapping->shared = perms[3] == 's';
	*path = stop + strspn(stop, " ");
	return mapping->start < mapping->end;
}

bool vpeer_mapping_follows(const struct vpeer_mapping *before, const struct vpeer_mapping *after)
{
	return before->inode && before->end == after->start && before->device == after->device &&
	       before->inode == after->inode &&
	       before->offset + (before->end - before->start) == after->offset;
}

static void forget(struct vpeer_maps *maps)
{
	while (maps->count)
		free(maps->mappings[--maps->count].path);
}

static int keep(struct vpeer_maps *maps, const struct vpeer_mapping *mapping, const char *path)
{
	struct vpeer_mapping *grown;

	if (maps->count == maps->room) {
		maps->room = maps->room ? 2 * maps->room : 4;
		grown = realloc(maps->mappings, maps->room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		maps->mappings = grown;
	}
	maps->mappings[maps->count] = *mapping;
	maps->mappings[maps->count].path = strdup(path);
	if (!maps->mappings[maps->count].path)
		return -ENOMEM;
	maps->count++;
	return 0;
}

struct vpeer_maps_scan vpeer_maps_begin(uint64_t start, uint64_t length, struct vpeer_maps *maps)
{
	*maps = (struct vpeer_maps){ 0 };
	return (struct vpeer_maps_scan){
		.start = start,
		.last = start + length - 1,
		.covered = start,
		.maps = maps,
	};
}

int vpeer_maps_take(struct vpeer_maps_scan *scan, const struct vpeer_mapping *mapping,
		    const char *path)
{
	struct vpeer_maps *maps = scan->maps;
	bool follows = maps->count &&
		       vpeer_mapping_follows(&maps->mappings[maps->count - 1], mapping);
	int err;

	if (scan->done && !follows)
		return 0;
	if (!follows && mapping->start <= scan->start)
		forget(maps);
	/* Nothing goes on behind memory without a file. */
	if (mapping->end <= scan->start && !mapping->inode)
		return 1;
	if (!scan->done && mapping->start > scan->covered)
		return -EFAULT;
	/* Text that goes backwards is no list of mappings. */
	if (!scan->done && scan->covered > scan->start && mapping->start != scan->covered)
		return -EIO;
	err = keep(maps, mapping, path);
	if (err || scan->done || mapping->end <= scan->start)
		return err ? err : 1;
	if (scan->covered == scan->start)
		maps->first = maps->count - 1;
	maps->last = maps->count - 1;
	scan->covered = mapping->end;
	scan->done = mapping->end - 1 >= scan->last;
	return 1;
}

static int scan_lines(struct lines *lines, struct vpeer_maps_scan *scan)
{
	struct vpeer_mapping mapping = { 0 };
	const char *path;
	char *line;
	int err = 1;

	while (err > 0) {
		line = next_line(lines, &err);
		if (err)
			return err;
		if (!line)
			break;
		if (!parse_line(line, &mapping, &path))
			return -EIO;
		err = vpeer_maps_take(scan, &mapping, path);
	}
	if (err < 0)
		return err;
	return scan->done ? 0 : -EFAULT;
}

int vpeer_maps_scan(int fd, uint64_t start, uint64_t length, struct vpeer_maps *maps,
		    uint64_t *hole)
{
	struct vpeer_maps_scan scan = vpeer_maps_begin(start, length, maps);
	struct lines lines = { .fd = fd };
	int err;

	lines.buffer = calloc(1, BUFFER_SIZE);
	if (!lines.buffer)
		return -ENOMEM;
	err = scan_lines(&lines, &scan);
	free(lines.buffer);
	if (err == -EFAULT)
		*hole = scan.covered;
	if (err)
		vpeer_maps_free(maps);
	return err;
}

int vpeer_maps_read(uint64_t start, uint64_t length, struct vpeer_maps *maps, uint64_t *hole)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0) {
		*maps = (struct vpeer_maps){ 0 };
		return -errno;
	}
	/* What it does not tell, or not in this kernel, the text does. */
	err = vpeer_maps_query(fd, start, length, maps);
	if (err)
		err = vpeer_maps_scan(fd, start, length, maps, hole);
	close(fd);
	return err;
}

void vpeer_maps_free(struct vpeer_maps *maps)
{
	forget(maps);
	free(maps->mappings);
	*maps = (struct vpeer_maps){ 0 };
}
