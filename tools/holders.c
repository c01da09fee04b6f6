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

#define PROC		"/proc"
#define DEBUGFS		"/sys/kernel/debug"
#define MAX_FIELDS	16

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

/* 1 if @matches is true of a file in the process's directory, 0 if not, or a negative errno. */
static int any_file(const char *proc, uint64_t pid, const char *name,
		    bool (*matches)(const char *path, const char *what), const char *what)
{
	char directory_path[PATH_MAX], path[PATH_MAX];
	struct dirent *item;
	DIR *directory;
	int found = 0;

	text_format(directory_path, sizeof(directory_path), "%s/%llu/%s", proc,
		    (unsigned long long)pid, name);
	directory = opendir(directory_path);
	if (!directory)
		return -errno;
	while (!found && (item = readdir(directory))) {
		text_format(path, sizeof(path), "%s/%s", directory_path, item->d_name);
		found = matches(path, what);
	}
	closedir(directory);
	return found;
}

static bool leads_to_node(const char *link, const char *node)
{
	char target[PATH_MAX];
	ssize_t length = readlink(link, target, sizeof(target) - 1);

	if (length < 0)
		return false;
	target[length] = '\0';
	return holder_path_matches(target, node);
}

static int opens_node(const char *proc, uint64_t pid, const char *node)
{
	return any_file(proc, pid, "fd", leads_to_node, node);
}

/* A process that has ended meanwhile is left out. */
static void add_holder(struct holders *found, const char *proc, uint64_t pid,
		       const struct holder *like)
{
	struct holder holder = *like;

	holder.pid = (pid_t)pid;
	for (size_t i = 0; i < found->count; i++)
		if (found->items[i].pid == holder.pid)
			return;
	if (vpeer_sysfs_read(holder.command, sizeof(holder.command), "%s/%llu/comm", proc,
			     (unsigned long long)pid))
		return;
	found->items = xrealloc(found->items, found->count + 1, sizeof(holder));
	found->items[found->count++] = holder;
}

void holders_free(struct holders *found)
{
	free(found->items);
	*found = (struct holders){ 0 };
}

/* @look: 1 when it holds, 0 when not, a negative errno when it cannot be told. */
static int each_process(struct holders *found, const char *proc, const struct holder *like,
			int (*look)(const char *proc, uint64_t pid, const char *what),
			const char *what)
{
	DIR *directory = opendir(proc);
	struct dirent *item;
	uint64_t pid;
	int ret;

	if (!directory)
		return -errno;
	found->hidden = 0;
	while ((item = readdir(directory))) {
		if (vpeer_parse_u64(item->d_name, &pid))
			continue;
		ret = look(proc, pid, what);
		if (ret > 0)
			add_holder(found, proc, pid, like);
		else if (ret == -EACCES)
			found->hidden++;
	}
	closedir(directory);
	return 0;
}

static int uses_node(const char *proc, uint64_t pid, const char *node)
{
	int mapped = maps_node(proc, pid, node);
	int opened = mapped > 0 ? 0 : opens_node(proc, pid, node);

	if (mapped > 0 || opened > 0)
		return 1;
	return mapped == -EACCES ? mapped : opened;
}

int holders_of_node(struct holders *found, const char *proc, const char *node)
{
	struct holder like = { 0 };

	text_format(like.use, sizeof(like.use), "has %s open or mapped", node);
	return each_process(found, proc, &like, uses_node, node);
}

static bool has_line(const char *path, const char *line)
{
	char text[256];
	FILE *file = fopen(path, "re");
	bool found = false;

	while (file && !found && fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = '\0';
		found = !strcmp(text, line);
	}
	if (file)
		fclose(file);
	return found;
}

/* Whatever name it was given, a DMA-buf tells who exported it. */
static int opens_dmabuf(const char *proc, uint64_t pid, const char *line)
{
	return any_file(proc, pid, "fdinfo", has_line, line);
}

int holders_of_dmabufs(struct holders *found, const char *proc)
{
	const struct holder like = { .use = "has a DMA-buf of vpeer open" };

	return each_process(found, proc, &like, opens_dmabuf, "exp_name:\tvpeer");
}

/* "12,0,345" or "-" */
static void add_pids(struct holders *found, const char *proc, char *pids,
		     const struct holder *like)
{
	char *state, *word;
	uint64_t pid;

	for (word = strtok_r(pids, ",", &state); word; word = strtok_r(NULL, ",", &state)) {
		if (vpeer_parse_u64(word, &pid))
			continue;
		if (pid)
			add_holder(found, proc, pid, like);
		else
			found->outside = true;
	}
}

static size_t split(char *line, char *fields[MAX_FIELDS])
{
	char *state, *word;
	size_t count = 0;

	for (word = strtok_r(line, " \n", &state); word && count < MAX_FIELDS;
	     word = strtok_r(NULL, " \n", &state))
		fields[count++] = word;
	return count;
}

/* offset size pinned mappings uid state kind dmabufs mapped pids */
static bool is_held_window(char *const fields[], const char *unused)
{
	(void)unused;
	return strcmp(fields[5], "active") && strcmp(fields[2], "0");
}

/* function bar start size pinned pids */
static bool is_of_function(char *const fields[], const char *pci)
{
	return !strcmp(fields[0], pci);
}

struct list {
	char path[PATH_MAX];
	size_t width;		/* fields of a line, the last of which names processes */
	bool (*wants)(char *const fields[], const char *what);
	const char *what;
};

static int read_list(struct holders *found, const char *proc, const struct list *list,
		     const struct holder *like)
{
	FILE *file = fopen(list->path, "re");
	char *line = NULL, *fields[MAX_FIELDS];
	size_t size = 0;
	int err = 0;

	if (!file)
		return -errno;
	if (getline(&line, &size, file) < 0 || split(line, fields) < list->width)
		err = -EPROTO; /* of another release */
	while (!err && getline(&line, &size, file) > 0)
		if (split(line, fields) >= list->width && list->wants(fields, list->what))
			add_pids(found, proc, fields[list->width - 1], like);
	free(line);
	fclose(file);
	return err;
}

int holders_of_windows(struct holders *found, const char *proc, const char *debugfs,
		       const struct vpeer_entry *entry)
{
	struct list list = { .width = 10, .wants = is_held_window };
	struct holder like = { .sure = true };

	text_format(list.path, sizeof(list.path), "%s/vpeer/vpeer%u/windows", debugfs,
		    entry->index);
	text_format(like.use, sizeof(like.use), "mapped or registered memory of %s that is held",
		    entry->node);
	return read_list(found, proc, &list, &like);
}

int holders_of_quarantine(struct holders *found, const char *proc, const char *debugfs,
			  const struct vpeer_pci_address *address)
{
	char pci[VPEER_PCI_LEN];
	struct list list = {
		.width = 6,
		.wants = is_of_function,
		.what = vpeer_pci_format(address, pci),
	};
	struct holder like = { .sure = true };

	text_format(list.path, sizeof(list.path), "%s/vpeer/quarantine", debugfs);
	text_format(like.use, sizeof(like.use), "mapped or registered memory of %s that is held",
		    pci);
	return read_list(found, proc, &list, &like);
}

static void tell_unreadable(int err)
{
	fprintf(stderr, "  holders: only those that have a node or DMA-buf open can be looked for: "
			DEBUGFS "/vpeer cannot be read (%s)\n",
		err == -EPROTO ? "the module is of another release" : strerror(-err));
}

static void tell(const struct holders *found)
{
	for (size_t i = 0; i < found->count; i++)
		fprintf(stderr, "  %s: process %d (%s) %s\n",
			found->items[i].sure ? "holder" : "perhaps", (int)found->items[i].pid,
			found->items[i].command, found->items[i].use);
	if (found->outside)
		fputs("  holders: some are outside this PID name space; the machine's own tells "
		      "them\n", stderr);
	if (found->hidden)
		fprintf(stderr, "  %zu processes could not be looked into: run as root\n",
			found->hidden);
	if (found->count || found->outside || found->hidden)
		fputs("  remedy: end these processes, or let them deregister the memory; 'vpeer "
		      "list' shows when it is gone\n", stderr);
	else
		fputs("  holders: no process is left that mapped or registered the memory, or that "
		      "has its node open\n"
		      "  remedy: end the one that inherited, or was passed, the open RDMA device "
		      "that it was registered with: find /proc/[0-9]*/fd -lname '*uverbs*'; "
		      "'vpeer list' shows when it is gone\n", stderr);
}

/* After what the module knows, those that may hold some: @err tells why it knew less. */
static void tell_others(struct holders *found, const struct vpeer_entry *entries, size_t count,
			int err)
{
	for (size_t i = 0; i < count; i++)
		holders_of_node(found, PROC, entries[i].node);
	if (err) {
		tell_unreadable(err);
		holders_of_dmabufs(found, PROC);
	}
	tell(found);
	holders_free(found);
}

void holders_print(const struct vpeer_entry *entries, size_t count)
{
	struct holders found = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = holders_of_windows(&found, PROC, DEBUGFS, &entries[i]);
	tell_others(&found, entries, count, err);
}

void holders_print_quarantined(const struct vpeer_pci_address *pci,
			       const struct vpeer_entry *entries, size_t count)
{
	struct holders found = { 0 };
	int err = holders_of_quarantine(&found, PROC, DEBUGFS, pci);

	tell_others(&found, entries, count, err);
}
