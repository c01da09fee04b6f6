// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../../lib/sysfs.h"
#include "../util.h"

#define SECTOR	512

bool trace_parse_map(const char *line, uint64_t *iova, uint64_t *address, uint64_t *size)
{
	const char *event = strstr(line, " map: IOMMU: iova=");

	return event && sscanf(event,
			       " map: IOMMU: iova=0x%" SCNx64 " - 0x%*x paddr=0x%" SCNx64
			       " size=%" SCNu64, iova, address, size) == 3;
}

bool trace_parse_bounce(const char *line, char *device, size_t size)
{
	static const char prefix[] = " swiotlb_bounced: dev_name: ";
	const char *event = strstr(line, prefix);

	if (!event)
		return false;
	event += sizeof(prefix) - 1;
	text_format(device, size, "%.*s", (int)strcspn(event, " \n"), event);
	return device[0] != '\0';
}

/* "259,0 R 4096 () 2048 + 8 ": device, kind, bytes, command, sectors. */
bool trace_parse_request(const char *line, struct trace_request *request)
{
	const char *event = strstr(line, " block_rq_issue: ");
	const char *command = event ? strchr(event, ')') : NULL;
	unsigned int high, low;
	uint64_t sector;

	if (!command || sscanf(command, ") %" SCNu64 " + ", &sector) != 1 ||
	    sscanf(event, " block_rq_issue: %u,%u %*s %" SCNu64 " (", &high, &low,
		   &request->size) != 3)
		return false;
	request->number = makedev(high, low);
	request->start = sector * SECTOR;
	return true;
}

bool trace_parse_lost(const char *line)
{
	uint64_t kept, written;

	return sscanf(line, "# entries-in-buffer/entries-written: %" SCNu64 "/%" SCNu64, &kept,
		      &written) == 2 && kept < written;
}

static const char *tracefs(void)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (vpeer_sysfs_exists("%s/instances", places[i]))
			return places[i];
	return NULL;
}

static bool enable(struct trace *trace, const char *event)
{
	int err = vpeer_sysfs_write("1", "%s/events/%s/enable", trace->path, event);

	if (err)
		text_format(trace->problem, sizeof(trace->problem),
			    "cannot enable %s/events/%s: %s", trace->path, event, strerror(-err));
	return !err;
}

/* True for "vpeer-PID" of a process that is gone. */
static bool left_over(const char *name)
{
	static const char prefix[] = "vpeer-";
	uint64_t pid;

	return !strncmp(name, prefix, sizeof(prefix) - 1) &&
	       !vpeer_parse_u64(name + sizeof(prefix) - 1, &pid) && pid && pid <= INT_MAX &&
	       kill((pid_t)pid, 0) && errno == ESRCH;
}

/* One of another PID namespace is held open, so it is busy and stays. */
static void remove_left_over(const char *root)
{
	char path[PATH_MAX];
	struct dirent *item;
	DIR *directory;

	text_format(path, sizeof(path), "%s/instances", root);
	directory = opendir(path);
	if (!directory)
		return;
	while ((item = readdir(directory))) {
		text_format(path, sizeof(path), "%s/instances/%s", root, item->d_name);
		if (left_over(item->d_name))
			rmdir(path);
	}
	closedir(directory);
}

/* The name can be that of a killed process whose number this one got. */
static int make_instance(const char *path)
{
	if (!mkdir(path, 0700))
		return 0;
	if (errno != EEXIST || rmdir(path) || mkdir(path, 0700))
		return -errno;
	return 0;
}

static void hold(struct trace *trace)
{
	char path[PATH_MAX];

	text_format(path, sizeof(path), "%.4000s/tracing_on", trace->path);
	trace->held = open(path, O_RDONLY | O_CLOEXEC);
}

void trace_begin(struct trace *trace, const char *root)
{
	int err;

	*trace = (struct trace){ .held = -1 };
	if (!root)
		root = tracefs();
	if (!root) {
		text_format(trace->problem, sizeof(trace->problem),
			    "tracefs is not readable at /sys/kernel/tracing (not mounted, or not "
			    "root)");
		return;
	}
	remove_left_over(root);
	text_format(trace->path, sizeof(trace->path), "%s/instances/vpeer-%d", root,
		    (int)getpid());
	err = make_instance(trace->path);
	if (err) {
		text_format(trace->problem, sizeof(trace->problem), "cannot create %s: %s",
			    trace->path, strerror(-err));
		trace->path[0] = '\0';
		return;
	}
	hold(trace);
	trace->no_swiotlb = !vpeer_sysfs_exists("%s/events/swiotlb", trace->path);
	trace->bounces = !trace->no_swiotlb && enable(trace, "swiotlb/swiotlb_bounced");
	trace->mappings = enable(trace, "iommu/map");
}

void trace_end(struct trace *trace)
{
	if (trace->held >= 0)
		close(trace->held);
	if (trace->path[0] && rmdir(trace->path))
		fprintf(stderr, "vpeer: %s: cannot remove the tracing instance: %s\n"
				"  remedy: none needed, the next selftest removes it\n",
			trace->path, strerror(errno));
	*trace = (struct trace){ .held = -1 };
}

void trace_watch(const struct trace *trace, uint64_t start, uint64_t size)
{
	char filter[128];

	if (!trace->path[0])
		return;
	/* Without the filter the buffer is only likelier to wrap, which is noticed. */
	text_format(filter, sizeof(filter), "paddr < 0x%" PRIx64 " && paddr >= 0x%" PRIx64,
		    start + size, start);
	if (trace->mappings)
		vpeer_sysfs_write(filter, "%s/events/iommu/map/filter", trace->path);
	vpeer_sysfs_write("", "%s/trace", trace->path);
}

static void collect_line(const char *line, uint64_t start, uint64_t size, const char *device,
			 struct trace_hits *hits)
{
	uint64_t iova, address, length;
	char name[128];

	if (trace_parse_map(line, &iova, &address, &length)) {
		if (address < start || address - start >= size || length > size - (address - start))
			return;
		if (!hits->mappings++) {
			hits->first_iova = iova;
			hits->first_address = address;
		}
	} else if (trace_parse_bounce(line, name, sizeof(name))) {
		if (!strcmp(name, device))
			hits->bounces++;
		else
			hits->other_bounces++;
	} else if (line[0] == '#') {
		hits->lost |= trace_parse_lost(line);
	}
}

int trace_collect(const struct trace *trace, uint64_t start, uint64_t size, const char *device,
		  struct trace_hits *hits)
{
	char path[PATH_MAX], *line = NULL;
	size_t room = 0;
	FILE *file;
	int err = 0;

	*hits = (struct trace_hits){ 0 };
	if (!trace->path[0])
		return -ENOENT;
	text_format(path, sizeof(path), "%.4000s/trace", trace->path);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (getline(&line, &room, file) > 0)
		collect_line(line, start, size, device, hits);
	if (ferror(file))
		err = -EIO;
	free(line);
	fclose(file);
	return err;
}

void swiotlb_read(struct swiotlb_state *state, const char *debugfs, bool reset)
{
	*state = (struct swiotlb_state){ 0 };
	if (reset)
		vpeer_sysfs_write("0", "%s/swiotlb/io_tlb_used_hiwater", debugfs);
	/* The folder is always made, its files only for buffers that exist. */
	state->absent = vpeer_sysfs_exists("%s/swiotlb", debugfs) &&
			!vpeer_sysfs_exists("%s/swiotlb/io_tlb_nslabs", debugfs);
	state->readable = !vpeer_sysfs_u64(&state->used, "%s/swiotlb/io_tlb_used", debugfs);
	state->has_high_water = !vpeer_sysfs_u64(&state->high_water,
						 "%s/swiotlb/io_tlb_used_hiwater", debugfs);
}
