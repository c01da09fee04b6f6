// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The files of the machine that is looked at. */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "../finding.h"
#include "../util.h"
#include "site.h"

#define MOST_SHOWN	256

static int compose(char path[PATH_MAX], const char *format, va_list args)
{
	int length = vsnprintf(path, PATH_MAX, format, args);

	return length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int site_text(const struct site *site, char *text, size_t size, const char *path, ...)
{
	char below[PATH_MAX];
	va_list args;
	int err;

	va_start(args, path);
	err = compose(below, path, args);
	va_end(args);
	return err ? err : vpeer_sysfs_read(text, size, "%s/%s", site->place->root, below);
}

int site_number(const struct site *site, uint64_t *value, const char *path, ...)
{
	char below[PATH_MAX];
	va_list args;
	int err;

	va_start(args, path);
	err = compose(below, path, args);
	va_end(args);
	return err ? err : vpeer_sysfs_u64(value, "%s/%s", site->place->root, below);
}

int site_link(const struct site *site, char *name, size_t size, const char *path, ...)
{
	char below[PATH_MAX];
	va_list args;
	int err;

	va_start(args, path);
	err = compose(below, path, args);
	va_end(args);
	return err ? err : vpeer_sysfs_link(name, size, "%s/%s", site->place->root, below);
}

bool site_has(const struct site *site, const char *path, ...)
{
	char below[PATH_MAX];
	va_list args;
	int err;

	va_start(args, path);
	err = compose(below, path, args);
	va_end(args);
	return !err && vpeer_sysfs_exists("%s/%s", site->place->root, below);
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static size_t list(char ***names, const char *path)
{
	struct dirent *item;
	size_t count = 0;
	DIR *directory;

	*names = NULL;
	directory = opendir(path);
	if (!directory)
		return 0;
	while ((item = readdir(directory))) {
		if (item->d_name[0] == '.')
			continue;
		*names = xrealloc(*names, count + 1, sizeof(**names));
		(*names)[count++] = xstrdup(item->d_name);
	}
	closedir(directory);
	if (count)
		qsort(*names, count, sizeof(**names), by_name);
	return count;
}

size_t site_names(const struct site *site, char ***names, const char *path, ...)
{
	char below[PATH_MAX], whole[PATH_MAX];
	va_list args;
	int err;

	va_start(args, path);
	err = compose(below, path, args);
	va_end(args);
	*names = NULL;
	if (err)
		return 0;
	text_format(whole, sizeof(whole), "%s/%s", site->place->root, below);
	return list(names, whole);
}

void site_names_free(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

void site_saw(struct findings *all, const struct site *site, const char *path, ...)
{
	char below[PATH_MAX], text[MOST_SHOWN], why[MOST_SHOWN];
	va_list args;
	int err;

	va_start(args, path);
	err = compose(below, path, args);
	va_end(args);
	if (!err)
		err = vpeer_sysfs_read(text, sizeof(text), "%s/%s", site->place->root, below);
	text_format(why, sizeof(why), "(%s)", strerror(-err));
	text[err ? 0 : strcspn(text, "\n")] = '\0';
	finding_saw(all, err ? why : text, "/%s", below);
}
