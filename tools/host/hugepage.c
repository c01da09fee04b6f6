// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Huge pages of the host and of each of its NUMA nodes. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "../util.h"
#include "facts.h"

static void add_pool(struct host *host, int node, const char *directory, const char *name)
{
	struct pool pool = { .node = node };
	unsigned long long kilobytes;

	if (sscanf(name, "hugepages-%llukB", &kilobytes) != 1 ||
	    vpeer_sysfs_u64(&pool.total, "%s/%s/nr_hugepages", directory, name) ||
	    vpeer_sysfs_u64(&pool.free, "%s/%s/free_hugepages", directory, name))
		return;
	pool.size = kilobytes << 10;
	host->pools = xrealloc(host->pools, host->pool_count + 1, sizeof(pool));
	host->pools[host->pool_count++] = pool;
}

static void add_pools(struct host *host, int node, const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *item;

	if (!directory)
		return;
	while ((item = readdir(directory)))
		add_pool(host, node, path, item->d_name);
	closedir(directory);
}

static void add_nodes(struct host *host)
{
	struct dirent *item;
	char path[PATH_MAX];
	DIR *directory;
	uint64_t node;

	text_format(path, sizeof(path), "%s/devices/system/node", host->place->sysfs);
	directory = opendir(path);
	if (!directory)
		return;
	while ((item = readdir(directory))) {
		if (strncmp(item->d_name, "node", 4) || vpeer_parse_u64(item->d_name + 4, &node))
			continue;
		host->node_count++;
		text_format(path, sizeof(path), "%s/devices/system/node/%s/hugepages",
			    host->place->sysfs, item->d_name);
		add_pools(host, (int)node, path);
	}
	closedir(directory);
}

static int by_node_and_size(const void *left, const void *right)
{
	const struct pool *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

/* "always [madvise] never" */
static void read_thp(struct host *host)
{
	char text[128], *open, *close;

	if (vpeer_sysfs_read(text, sizeof(text), "%s/kernel/mm/transparent_hugepage/enabled",
			     host->place->sysfs))
		return;
	open = strchr(text, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		text_format(host->thp, sizeof(host->thp), "%.*s", (int)(close - open - 1),
			    open + 1);
}

void host_read_pools(struct host *host)
{
	char path[PATH_MAX];

	text_format(path, sizeof(path), "%s/kernel/mm/hugepages", host->place->sysfs);
	add_pools(host, NO_NODE, path);
	add_nodes(host);
	if (host->pool_count)
		qsort(host->pools, host->pool_count, sizeof(*host->pools), by_node_and_size);
	read_thp(host);
}
