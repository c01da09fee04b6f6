// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The host's IOMMU as a whole. */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "../util.h"
#include "facts.h"

/* VT-d's capability register: guest address width less one. */
#define INTEL_CAP_MGAW(cap)	(((cap) >> 16 & 0x3f) + 1)

static void name_driver(struct iommu *iommu, const char *sysfs)
{
	static const char *const drivers[] = { "intel-iommu", "amd-iommu" };

	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (vpeer_sysfs_exists("%s/class/iommu/%s/%s", sysfs, iommu->unit, drivers[i]))
			text_format(iommu->driver, sizeof(iommu->driver), "%s", drivers[i]);
	if (!iommu->driver[0])
		text_format(iommu->driver, sizeof(iommu->driver), "%.*s",
			    (int)strcspn(iommu->unit, "0123456789"), iommu->unit);
}

static void narrow(struct iommu *iommu, const char *sysfs, const char *unit)
{
	unsigned long long cap;
	unsigned int width;
	char text[32], *end;

	if (vpeer_sysfs_read(text, sizeof(text), "%s/class/iommu/%s/intel-iommu/cap", sysfs, unit))
		return;
	cap = strtoull(text, &end, 16);
	if (*end || !cap)
		return;
	width = (unsigned int)INTEL_CAP_MGAW(cap);
	if (!iommu->width || width < iommu->width)
		iommu->width = width;
}

static void read_units(struct iommu *iommu, const char *sysfs)
{
	struct dirent *item;
	char path[PATH_MAX];
	DIR *directory;

	text_format(path, sizeof(path), "%s/class/iommu", sysfs);
	directory = opendir(path);
	if (!directory)
		return;
	while ((item = readdir(directory))) {
		if (item->d_name[0] == '.')
			continue;
		iommu->units++;
		if (!iommu->unit[0] || strcmp(item->d_name, iommu->unit) < 0)
			text_format(iommu->unit, sizeof(iommu->unit), "%s", item->d_name);
		narrow(iommu, sysfs, item->d_name);
	}
	closedir(directory);
}

static size_t count_groups(const char *sysfs)
{
	struct dirent *item;
	char path[PATH_MAX];
	size_t count = 0;
	DIR *directory;

	text_format(path, sizeof(path), "%s/kernel/iommu_groups", sysfs);
	directory = opendir(path);
	if (!directory)
		return 0;
	while ((item = readdir(directory)))
		count += item->d_name[0] != '.';
	closedir(directory);
	return count;
}

/* The kernel names remapped interrupt controllers IR-IO-APIC, IR-PCI-MSI... */
static enum answer read_remapping(const char *procfs)
{
	enum answer answer = ANSWER_UNKNOWN;
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	FILE *file;

	text_format(path, sizeof(path), "%s/interrupts", procfs);
	file = fopen(path, "re");
	if (!file)
		return ANSWER_UNKNOWN;
	while (answer != ANSWER_YES && getline(&line, &size, file) > 0) {
		if (strstr(line, " IR-"))
			answer = ANSWER_YES;
		else if (strstr(line, "IO-APIC") || strstr(line, "PCI-MSI"))
			answer = ANSWER_NO;
	}
	free(line);
	fclose(file);
	return answer;
}

void host_read_iommu(struct host *host)
{
	struct iommu *iommu = &host->iommu;

	read_units(iommu, host->place->sysfs);
	if (iommu->units)
		name_driver(iommu, host->place->sysfs);
	iommu->groups = count_groups(host->place->sysfs);
	iommu->remapping = read_remapping(host->place->procfs);
}
