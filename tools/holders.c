// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "holders.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/sysfs.h"
#include "util.h"

bool holder_path_matches(const char *path, const char *node)
{
	size_t length = strlen(node);

	return !strncmp(path, node, length) &&
	       (!path[length] || !strcmp(path + length, " (deleted)"));
}

/* 1 when mapped, 0 when not, a negative errno when it cannot be told. */
static int maps_node(const char *proc, uint64_t pid, const char *node)
{
	char path[PATH_MAX], line[PATH_MAX + 128], *name;
	FILE *file;
	int found = 0;

	text_format(path, sizeof(path), "%s/%llu/maps", proc, (unsigned long long)pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		name = strchr(line, '/');
		found = name && holder_path_matches(name, node);
	}
	if (!found && ferror(file))
		found = -EACCES;
	fclose(file);
	return found;
}

static int opens_node(const char *proc, uint64_t pid, const char *node)
{
	char path[PATH_MAX], link[PATH_MAX], target[PATH_MAX];
	struct dirent *item;
	DIR *directory;
	ssize_t length;
	int found = 0;

	text_format(path, sizeof(path), "%s/%llu/fd", proc, (unsigned long long)pid);
	directory = opendir(path);
	if (!directory)
		return -errno;
	while (!found && (item = readdir(directory))) {
		text_format(link, sizeof(link), "%s/%s", path, item->d_name);
		length = readlink(link, target, sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = '\0';
		found = holder_path_matches(target, node);
	}
	closedir(directory);
	return found;
}

static void add_holder(const char *proc, uint64_t pid, struct holder **holders, size_t *count)
{
	struct holder holder = { .pid = (pid_t)pid };

	if (vpeer_sysfs_read(holder.command, sizeof(holder.command), "%s/%llu/comm", proc,
			     (unsigned long long)pid))
		strcpy(holder.command, "?");
	*holders = xrealloc(*holders, *count + 1, sizeof(holder));
	(*holders)[(*count)++] = holder;
}

int holders_find(const char *proc, const char *node, struct holder **holders, size_t *count,
		 size_t *hidden)
{
	DIR *directory = opendir(proc);
	struct dirent *item;
	int mapped, opened;
	uint64_t pid;

	*holders = NULL;
	*count = 0;
	*hidden = 0;
	if (!directory)
		return -errno;
	while ((item = readdir(directory))) {
		if (vpeer_parse_u64(item->d_name, &pid))
			continue;
		mapped = maps_node(proc, pid, node);
		opened = mapped > 0 ? 0 : opens_node(proc, pid, node);
		if (mapped > 0 || opened > 0)
			add_holder(proc, pid, holders, count);
		else if (mapped == -EACCES || opened == -EACCES)
			(*hidden)++;
	}
	closedir(directory);
	return 0;
}

static size_t print_holders(const char *node, size_t *hidden)
{
	struct holder *holders;
	size_t count;
	int err = holders_find("/proc", node, &holders, &count, hidden);

	if (err) {
		fprintf(stderr, "  holders of %s: unknown (%s)\n", node, strerror(-err));
		return 1;
	}
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "  holder: process %d (%s) has %s open or mapped\n",
			(int)holders[i].pid, holders[i].command, node);
	free(holders);
	return count;
}

void holders_print(const struct vpeer_entry *entries, size_t count)
{
	size_t printed = 0, hidden = 0;

	if (!count)
		fputs("  holders: unknown (nothing in /sys/class/vpeer tells the nodes)\n", stderr);
	for (size_t i = 0; i < count; i++)
		printed += print_holders(entries[i].node, &hidden);
	if (hidden)
		fprintf(stderr, "  %zu processes could not be looked into: run as root\n", hidden);
	else if (count && !printed)
		fprintf(stderr, "  holders: no process has %s%s open or mapped any more; the pins "
				"belong to memory registrations alone\n", entries[0].node,
			count > 1 ? " or the function's other nodes" : "");
	fputs("  remedy: end these processes, or let them deregister the memory; 'vpeer list' "
	      "shows when it is gone\n", stderr);
}
