// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backing.h"

/* By this name the lab's guests get their RAM; other files are apertures of emulated devices. */
#define MEMORY_NAME	"/memfd:memory-backend-memfd"

static struct backing *backings;

static bool is_memory(int fd)
{
	char path[64], name[sizeof(MEMORY_NAME)];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, name, sizeof(name) - 1);
	if (length < 0)
		return false;
	name[length] = 0;
	return !strcmp(name, MEMORY_NAME);
}

static struct backing *backing_known(const struct stat *file)
{
	for (struct backing *backing = backings; backing; backing = backing->next)
		if (backing->device == file->st_dev && backing->inode == file->st_ino &&
		    backing->size == (uint64_t)file->st_size)
			return backing;
	return NULL;
}

static int map_file(struct backing *backing, int fd)
{
	backing->bytes = mmap(NULL, backing->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	backing->writable = backing->bytes != MAP_FAILED;
	if (!backing->writable)
		backing->bytes = mmap(NULL, backing->size, PROT_READ, MAP_SHARED, fd, 0);
	return backing->bytes == MAP_FAILED ? -1 : 0;
}

static struct backing *backing_new(int fd, const struct stat *file)
{
	struct backing *backing = calloc(1, sizeof(*backing));

	if (!backing)
		return NULL;
	backing->size = (uint64_t)file->st_size;
	backing->device = file->st_dev;
	backing->inode = file->st_ino;
	if (map_file(backing, fd)) {
		free(backing);
		return NULL;
	}
	backing->is_memory = is_memory(fd);
	backing->users = 1;
	backing->next = backings;
	backings = backing;
	return backing;
}

struct backing *backing_get(int fd)
{
	struct backing *backing;
	struct stat file;

	if (fstat(fd, &file))
		return NULL;
	if (!S_ISREG(file.st_mode) || file.st_size <= 0) {
		errno = EINVAL;
		return NULL;
	}
	backing = backing_known(&file);
	if (!backing)
		return backing_new(fd, &file);
	backing_hold(backing);
	return backing;
}

void backing_hold(struct backing *backing)
{
	backing->users++;
}

void backing_put(struct backing *backing)
{
	struct backing **at = &backings;

	if (!backing || --backing->users)
		return;
	while (*at != backing)
		at = &(*at)->next;
	*at = backing->next;
	munmap(backing->bytes, backing->size);
	free(backing);
}
