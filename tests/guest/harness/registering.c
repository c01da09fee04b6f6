// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "registering.h"

#define TRACING		"/sys/kernel/tracing/"
#define INSTANCE	TRACING "instances/vpeer-registering/"
#define PROBES		TRACING "kprobe_events"

/* struct sg_table: entries that are mapped lie at 8, all of them at 12. */
#define PROBE_SEGMENTS	"r:vpeer_registering/segments dma_buf_map_attachment count=+8($retval):u32"
#define PROBE_RUNS	"p:vpeer_registering/runs dma_map_sgtable count=+12(%si):u32"

static void put(const char *path, const char *text)
{
	if (!sysfs_write(path, text))
		test_fail(__FILE__, __LINE__, "cannot write '%s' to %s: %s", text, path,
			  strerrorname_np(errno));
}

/* sysfs_write() would replace the probes of others, and stdio seeks, which that file refuses. */
static void add_probe(const char *probe)
{
	int fd = open(PROBES, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0 || write(fd, probe, strlen(probe)) != (ssize_t)strlen(probe))
		test_fail(__FILE__, __LINE__, "no probe '%s': %s", probe, strerrorname_np(errno));
	close(fd);
}

/* Also what a case left that was killed. */
void registering_end(void)
{
	rmdir(INSTANCE);
	if (access(PROBES, F_OK))
		return;
	if (!access(TRACING "events/vpeer_registering/segments", F_OK))
		add_probe("-:vpeer_registering/segments");
	if (!access(TRACING "events/vpeer_registering/runs", F_OK))
		add_probe("-:vpeer_registering/runs");
}

void registering_begin(void)
{
	char pid[16];

	if (access(PROBES, W_OK))
		test_skip("no kprobes in %s", TRACING);
	registering_end();
	add_probe(PROBE_SEGMENTS);
	add_probe(PROBE_RUNS);
	CHECK_OK(mkdir(INSTANCE, 0700));
	snprintf(pid, sizeof(pid), "%d", getpid());
	put(INSTANCE "set_event_pid", pid);
	put(INSTANCE "tracing_on", "0");
	put(INSTANCE "events/iommu/map/enable", "1");
	put(INSTANCE "events/swiotlb/swiotlb_bounced/enable", "1");
	put(INSTANCE "events/vpeer_registering/enable", "1");
}

void registering_start(void)
{
	int fd = open(INSTANCE "trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	CHECK_OK(fd);
	close(fd);
	put(INSTANCE "tracing_on", "1");
}

static uint64_t number(const char *line, const char *name)
{
	const char *text = strstr(line, name);

	if (!text)
		test_fail(__FILE__, __LINE__, "no '%s' in: %s", name, line);
	return strtoull(text + strlen(name), NULL, 10);
}

static void count_line(struct registering *r, const char *line)
{
	if (strstr(line, " map: ")) {
		r->maps++;
		r->mapped += number(line, " size=");
	} else if (strstr(line, " swiotlb_bounced: ")) {
		r->bounced += number(line, " size=");
	} else if (strstr(line, " segments: ")) {
		r->segments += number(line, " count=");
	} else if (strstr(line, " runs: ")) {
		r->runs += number(line, " count=");
	} else if (strstr(line, "LOST")) {
		test_fail(__FILE__, __LINE__, "events were lost: %s", line);
	}
}

struct registering registering_stop(void)
{
	struct registering r = { 0 };
	char *line = NULL;
	size_t room = 0;
	FILE *trace;

	put(INSTANCE "tracing_on", "0");
	trace = fopen(INSTANCE "trace", "r");
	CHECK(trace);
	while (getline(&line, &room, trace) > 0)
		if (*line != '#')
			count_line(&r, line);
	free(line);
	fclose(trace);
	return r;
}
