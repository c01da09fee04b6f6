// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "memlock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CAP_IPC_LOCK	14

/* A user namespace of one's own gives capabilities that do not count here. */
static bool in_first_user_namespace(void)
{
	unsigned long long inside = 1, outside = 1, count = 0;
	FILE *map = fopen("/proc/self/uid_map", "re");
	bool first;

	if (!map)
		return true;
	first = fscanf(map, "%llu %llu %llu", &inside, &outside, &count) == 3 && !inside &&
		!outside && count == UINT32_MAX;
	fclose(map);
	return first;
}

static bool read_status(uint64_t *pinned, uint64_t *capabilities)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];

	*pinned = *capabilities = 0;
	if (!status)
		return false;
	while (fgets(line, sizeof(line), status)) {
		sscanf(line, "VmPin: %" SCNu64 " kB", pinned);
		sscanf(line, "CapEff: %" SCNx64, capabilities);
	}
	fclose(status);
	*pinned <<= 10;
	return true;
}

bool vpeer_memlock_exceeded(uint64_t start, uint64_t length, struct vpeer_memlock *lock)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), capabilities;
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    !read_status(&lock->pinned, &capabilities))
		return false;
	if ((capabilities & 1ULL << CAP_IPC_LOCK) && in_first_user_namespace())
		return false;
	lock->limit = limit.rlim_cur;
	lock->wanted = ((start & (page - 1)) + length + page - 1) & ~(page - 1);
	return lock->wanted > lock->limit || lock->pinned > lock->limit - lock->wanted;
}
