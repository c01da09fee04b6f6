// SPDX-License-Identifier: GPL-2.0-only
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "kmsg.h"
#include "refusal.h"

/* Named after the function's driver, where it has one. */
#define REFUSAL_LINE	"^(vpeer|pci|neighbour) .*: (BAR [0-9] )?refused: "

/* What a refused attach might have changed. */
struct state {
	char override[64];
	char enable[16];
	char driver[256];
	size_t nodes;
	unsigned int regions;
};

static unsigned int claimed_regions(void)
{
	FILE *iomem = fopen("/proc/iomem", "r");
	unsigned int count = 0;
	char line[256];

	CHECK(iomem);
	while (fgets(line, sizeof(line), iomem))
		count += !!strstr(line, " : vpeer");
	fclose(iomem);
	return count;
}

static size_t count_nodes(void)
{
	size_t count = 0;
	glob_t found;

	if (!glob("/sys/class/vpeer/*", 0, NULL, &found)) {
		count = found.gl_pathc;
		globfree(&found);
	}
	return count;
}

static void take_state(const char *pci, struct state *state)
{
	char path[128];

	memset(state, 0, sizeof(*state));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver_override", pci);
	sysfs_read(path, state->override, sizeof(state->override));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/enable", pci);
	sysfs_read(path, state->enable, sizeof(state->enable));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", pci);
	if (readlink(path, state->driver, sizeof(state->driver) - 1) < 0)
		state->driver[0] = '\0';
	state->nodes = count_nodes();
	state->regions = claimed_regions();
}

void check_refusal(const struct refusal *refusal)
{
	struct state before, after;
	char line[256];
	uint32_t reason;
	int mark;

	take_state(refusal->pci, &before);
	mark = kmsg_mark();
	CHECK(mark >= 0);
	CHECK_ERRNO(control_attach_range(refusal->pci, refusal->bar, refusal->flags,
					 refusal->range_offset, refusal->range_size,
					 &reason), refusal->error);
	CHECK_EQ(reason, refusal->reason);
	CHECK_EQ(kmsg_count(mark, REFUSAL_LINE, line, sizeof(line)), refusal->log_lines);
	close(mark);
	printf("%s\n", line);
	take_state(refusal->pci, &after);
	CHECK(!strcmp(before.override, after.override));
	CHECK(!strcmp(before.enable, after.enable));
	CHECK(!strcmp(before.driver, after.driver));
	CHECK_EQ(after.nodes, before.nodes);
	CHECK_EQ(after.regions, before.regions);
}

void need_function(const char *pci)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", pci ?: "");
	if (!pci || !*pci || access(path, F_OK))
		test_skip("no function %s in this guest", pci && *pci ? pci : "(unset)");
}
