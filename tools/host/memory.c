// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory of the host and of each of its NUMA nodes, and how many CPUs there are. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "../util.h"
#include "facts.h"

/* "MemTotal:  65536 kB", of a node with "Node 0" before it. */
static uint64_t total_of(const char *text)
{
	static const char name[] = "MemTotal:";
	unsigned long long kilobytes;
	const char *at = strstr(text, name);

	if (!at || sscanf(at + strlen(name), "%llu kB", &kilobytes) != 1)
		return 0;
	return (uint64_t)kilobytes << 10;
}

static void add(struct host *host, int node, const char *text)
{
	struct memory memory = { .node = node, .total = total_of(text) };

	if (!memory.total)
		return;
	memory.ordinary = memory.total;
	for (size_t i = 0; i < host->pool_count; i++) {
		const struct pool *pool = &host->pools[i];
		uint64_t kept = pool->total * pool->size;

		if (pool->node == node)
			memory.ordinary -= kept < memory.ordinary ? kept : memory.ordinary;
	}
	host->memory = xrealloc(host->memory, host->memory_count + 1, sizeof(memory));
	host->memory[host->memory_count++] = memory;
}

static void add_nodes(struct host *host)
{
	char path[PATH_MAX], text[4096];
	struct dirent *item;
	DIR *directory;
	uint64_t node;

	text_format(path, sizeof(path), "%s/devices/system/node", host->place->sysfs);
	directory = opendir(path);
	if (!directory)
		return;
	while ((item = readdir(directory)))
		if (!strncmp(item->d_name, "node", 4) &&
		    !vpeer_parse_u64(item->d_name + 4, &node) && node <= INT_MAX &&
		    !vpeer_sysfs_read(text, sizeof(text), "%s/%s/meminfo", path, item->d_name))
			add(host, (int)node, text);
	closedir(directory);
}

/* "0-15,32-47" */
static unsigned int count_list(const char *text)
{
	unsigned int count = 0, first, last;
	int length;

	for (;; text += length + 1) {
		if (sscanf(text, "%u%n", &first, &length) != 1)
			return 0;
		last = first;
		if (text[length] == '-') {
			text += length + 1;
			if (sscanf(text, "%u%n", &last, &length) != 1 || last < first)
				return 0;
		}
		count += last - first + 1;
		if (text[length] != ',')
			return text[length] ? 0 : count;
	}
}

void host_read_memory(struct host *host)
{
	char text[4096];

	if (!vpeer_sysfs_read(text, sizeof(text), "%s/meminfo", host->place->procfs))
		add(host, NO_NODE, text);
	add_nodes(host);
	if (!vpeer_sysfs_read(text, sizeof(text), "%s/devices/system/cpu/online",
			      host->place->sysfs))
		host->cpus = count_list(text);
}
