// SPDX-License-Identifier: GPL-2.0-only
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "settle.h"

#define SETTLE_MS	6000

void settle_before(void)
{
	const char *pci = getenv("VPEER_AP_PCI");
	uint32_t reason;

	if (!pci || !*pci || access("/dev/vpeerctl", F_OK) || pci_bound(pci))
		return;
	printf("%s is found without a driver: attaching it\n", pci);
	/* Cases that bounced DMA is for attach it themselves. */
	if (control_attach(pci, VPEER_BAR_AUTO, 0, &reason))
		CHECK_EQ(reason, VPEER_REASON_SWIOTLB_FORCE);
}

static bool at_rest(const char *dir, char *reason, size_t size)
{
	uint64_t windows = sysfs_u64(dir, "windows");
	uint64_t mappings = sysfs_u64(dir, "mappings");
	uint64_t pinned = sysfs_u64(dir, "bytes_pinned");
	uint64_t dmabufs = sysfs_u64(dir, "dmabufs");
	uint64_t maps = sysfs_u64(dir, "dmabuf_maps");
	uint64_t held = sysfs_u64(dir, "size") - sysfs_u64(dir, "bytes_free");

	snprintf(reason, size,
		 "%s left with %llu windows, %llu mappings, %llu bytes pinned, %llu bytes held, %llu DMA-bufs mapped %llu times",
		 strrchr(dir, '/') + 1, (unsigned long long)windows,
		 (unsigned long long)mappings, (unsigned long long)pinned,
		 (unsigned long long)held, (unsigned long long)dmabufs,
		 (unsigned long long)maps);
	return !windows && !mappings && !pinned && !held && !dmabufs && !maps;
}

static bool all_at_rest(char *reason, size_t size)
{
	bool rest = true;
	glob_t found;

	if (quarantine_bytes()) {
		snprintf(reason, size, "quarantine not empty");
		return false;
	}
	if (glob("/sys/class/vpeer/vpeer*", 0, NULL, &found))
		return true;
	for (size_t i = 0; i < found.gl_pathc && rest; i++)
		rest = at_rest(found.gl_pathv[i], reason, size);
	globfree(&found);
	return rest;
}

bool settle_after(char *reason, size_t size)
{
	int64_t end = test_now_ms() + SETTLE_MS;
	char why[256];

	while (!all_at_rest(why, sizeof(why))) {
		if (test_now_ms() > end) {
			snprintf(reason, size, "%s", why);
			return false;
		}
		test_sleep_ms(20);
	}
	return true;
}
