// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "pcidev.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/sysfs.h"
#include "util.h"

#define SMALLEST_APERTURE	(2ULL << 20)

/* Resource flags of the kernel, as the "resource" file shows them. */
#define RESOURCE_MEMORY		0x200
#define RESOURCE_PREFETCHABLE	0x2000
#define RESOURCE_MEMORY_64	0x00100000
#define RESOURCE_UNSET		0x20000000

int pci_parse_resource(const char *line, struct pci_bar *bar)
{
	uint64_t start, end, flags;

	if (sscanf(line, "0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64, &start, &end, &flags) != 3 ||
	    end < start)
		return -EINVAL;
	*bar = (struct pci_bar){
		.start = start,
		.size = end ? end - start + 1 : 0,
		.memory = flags & RESOURCE_MEMORY,
		.prefetchable = flags & RESOURCE_PREFETCHABLE,
		.wide = flags & RESOURCE_MEMORY_64,
		.unassigned = end && (!start || flags & RESOURCE_UNSET),
	};
	return 0;
}

int pci_bars(const char *sysfs, const char *address, struct pci_bar bars[PCI_BARS])
{
	char text[4096], *line = text;
	int err = vpeer_sysfs_read(text, sizeof(text), "%s/bus/pci/devices/%s/resource", sysfs,
				   address);

	for (int i = 0; !err && i < PCI_BARS; i++) {
		err = line ? pci_parse_resource(line, &bars[i]) : -EINVAL;
		line = line ? strchr(line, '\n') : NULL;
		if (line)
			line++;
	}
	return err;
}

void pci_driver(const char *sysfs, const char *address, char *driver, size_t size)
{
	if (vpeer_sysfs_link(driver, size, "%s/bus/pci/devices/%s/driver", sysfs, address))
		driver[0] = '\0';
}

static bool best_bar(const struct pci_bar bars[PCI_BARS], struct candidate *candidate)
{
	candidate->size = 0;
	for (unsigned int i = 0; i < PCI_BARS; i++) {
		if (!bars[i].memory || !bars[i].prefetchable || bars[i].size < SMALLEST_APERTURE ||
		    bars[i].size <= candidate->size)
			continue;
		candidate->bar = i;
		candidate->size = bars[i].size;
	}
	return candidate->size != 0;
}

static enum vpeer_reason judge_one(const struct pci_bar *bar, bool force)
{
	if (!bar->size)
		return VPEER_REASON_NO_SUCH_BAR;
	if (!bar->memory)
		return VPEER_REASON_NOT_MEMORY;
	if (bar->unassigned)
		return VPEER_REASON_UNASSIGNED;
	if (!force && !bar->prefetchable)
		return VPEER_REASON_NOT_PREFETCHABLE;
	return (bar->start | bar->size) % SMALLEST_APERTURE ? VPEER_REASON_NO_PAGES :
							      VPEER_REASON_NONE;
}

enum vpeer_reason pci_judge_bar(const char *sysfs, const char *address, unsigned int number,
				bool force)
{
	struct pci_bar bars[PCI_BARS];
	unsigned int best = PCI_BARS;

	if (pci_bars(sysfs, address, bars))
		return VPEER_REASON_NONE;
	if (number < PCI_BARS)
		return judge_one(&bars[number], force);
	for (unsigned int i = 0; i < PCI_BARS; i++)
		if (bars[i].memory && bars[i].prefetchable && bars[i].size &&
		    (best == PCI_BARS || bars[i].size > bars[best].size))
			best = i;
	return best == PCI_BARS ? VPEER_REASON_NO_SUCH_BAR : judge_one(&bars[best], force);
}

static int by_address(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->pci.domain != b->pci.domain)
		return a->pci.domain < b->pci.domain ? -1 : 1;
	return (a->pci.bus << 8 | a->pci.devfn) - (b->pci.bus << 8 | b->pci.devfn);
}

int pci_candidates(const char *sysfs, struct candidate **candidates, size_t *count)
{
	struct pci_bar bars[PCI_BARS];
	struct candidate candidate;
	struct dirent *item;
	char path[PATH_MAX];
	DIR *directory;

	*candidates = NULL;
	*count = 0;
	text_format(path, sizeof(path), "%s/bus/pci/devices", sysfs);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? 0 : -errno;
	while ((item = readdir(directory))) {
		if (vpeer_pci_parse(item->d_name, &candidate.pci) ||
		    pci_bars(sysfs, item->d_name, bars) || !best_bar(bars, &candidate))
			continue;
		pci_driver(sysfs, item->d_name, candidate.driver, sizeof(candidate.driver));
		if (!strcmp(candidate.driver, "vpeer"))
			continue;
		*candidates = xrealloc(*candidates, *count + 1, sizeof(candidate));
		(*candidates)[(*count)++] = candidate;
	}
	closedir(directory);
	if (*count)
		qsort(*candidates, *count, sizeof(candidate), by_address);
	return 0;
}

int pci_of_path(const char *path, char address[VPEER_PCI_LEN])
{
	struct vpeer_pci_address pci;
	int err = vpeer_sysfs_pci(&pci, "%s", path);

	if (!err)
		vpeer_pci_format(&pci, address);
	return err;
}
