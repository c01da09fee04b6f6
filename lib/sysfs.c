// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sysfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vpeer.h"

static int build_path(char path[PATH_MAX], const char *format, va_list args)
{
	int length = vsnprintf(path, PATH_MAX, format, args);

	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int read_path(char *text, size_t size, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;
	int err = 0;

	if (fd < 0)
		return -errno;
	while (used < size - 1) {
		got = read(fd, text + used, size - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			err = -errno;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	close(fd);
	while (used && isspace((unsigned char)text[used - 1]))
		used--;
	text[used] = '\0';
	return err;
}

int vpeer_sysfs_read(char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int err;

	va_start(args, format);
	err = build_path(path, format, args);
	va_end(args);
	return err ? err : read_path(text, size, path);
}

int vpeer_parse_u64(const char *text, uint64_t *value)
{
	char *end;
	unsigned long long number;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, text[0] == '0' && text[1] == 'x' ? 16 : 10);
	if (errno || *end)
		return errno ? -errno : -EINVAL;
	*value = number;
	return 0;
}

int vpeer_sysfs_u64(uint64_t *value, const char *format, ...)
{
	char path[PATH_MAX], text[64];
	va_list args;
	int err;

	va_start(args, format);
	err = build_path(path, format, args);
	va_end(args);
	if (!err)
		err = read_path(text, sizeof(text), path);
	return err ? err : vpeer_parse_u64(text, value);
}

int vpeer_sysfs_link(char *name, size_t size, const char *format, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *last;
	va_list args;
	ssize_t length;
	int err;

	va_start(args, format);
	err = build_path(path, format, args);
	va_end(args);
	if (err)
		return err;
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return -errno;
	target[length] = '\0';
	last = strrchr(target, '/');
	last = last ? last + 1 : target;
	if (strlen(last) >= size)
		return -ENAMETOOLONG;
	strcpy(name, last);
	return 0;
}

bool vpeer_sysfs_is_pci(const char *name, struct vpeer_pci_address *pci)
{
	return strlen(name) >= strlen("0000:00:00.0") && !vpeer_pci_parse(name, pci);
}

static int last_pci(struct vpeer_pci_address *pci, const char *path)
{
	char resolved[PATH_MAX], *part, *rest = resolved;
	struct vpeer_pci_address found;
	int err = -ENOENT;

	if (!realpath(path, resolved))
		return -errno;
	while ((part = strsep(&rest, "/"))) {
		if (!vpeer_sysfs_is_pci(part, &found))
			continue;
		*pci = found;
		err = 0;
	}
	return err;
}

int vpeer_sysfs_pci(struct vpeer_pci_address *pci, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int err;

	va_start(args, format);
	err = build_path(path, format, args);
	va_end(args);
	return err ? err : last_pci(pci, path);
}

int vpeer_sysfs_write(const char *text, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int fd, err;

	va_start(args, format);
	err = build_path(path, format, args);
	va_end(args);
	if (err)
		return err;
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		err = errno ? -errno : -EIO;
	close(fd);
	return err;
}

bool vpeer_sysfs_exists(const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int err;

	va_start(args, format);
	err = build_path(path, format, args);
	va_end(args);
	return !err && !access(path, F_OK);
}
