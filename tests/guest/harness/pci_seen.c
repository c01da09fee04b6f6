// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "pci_seen.h"

#define DEVICES	"/sys/bus/pci/devices"

/* What a link of the function's leads to; "" if there is none. */
static void read_link(const char *pci, const char *name, char *text, size_t size)
{
	char path[128], target[PATH_MAX];

	snprintf(path, sizeof(path), DEVICES "/%s/%s", pci, name);
	text[0] = '\0';
	if (realpath(path, target))
		snprintf(text, size, "%s", strrchr(target, '/') + 1);
}

static bool is_address(const char *text)
{
	unsigned int part[4];

	return sscanf(text, "%x:%x:%x.%x", &part[0], &part[1], &part[2], &part[3]) == 4;
}

static void add_bridge(struct pci_seen *seen, const char *pci)
{
	CHECK(seen->bridge_count < PCI_SEEN_BRIDGES);
	memmove(seen->bridges[1], seen->bridges[0],
		sizeof(seen->bridges) - sizeof(seen->bridges[0]));
	snprintf(seen->bridges[0], sizeof(seen->bridges[0]), "%s", pci);
	seen->bridge_count++;
}

/* Directories lie in each other as functions below bridges. */
static void read_place(struct pci_seen *seen)
{
	char path[128], place[PATH_MAX], *rest = place, *part;

	snprintf(path, sizeof(path), DEVICES "/%s", seen->pci);
	CHECK(realpath(path, place));
	while ((part = strsep(&rest, "/"))) {
		if (!strncmp(part, "pci", 3) && strchr(part, ':'))
			snprintf(seen->root, sizeof(seen->root), "%s", part);
		else if (is_address(part) && strcmp(part, seen->pci))
			add_bridge(seen, part);
	}
}

static void read_config(struct pci_seen *seen)
{
	char path[128];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), DEVICES "/%s/config", seen->pci);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(fd);
	size = read(fd, seen->config, sizeof(seen->config));
	CHECK(size >= 256);
	seen->config_size = size;
	close(fd);
}

static void read_iommu(struct pci_seen *seen)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "/%s/iommu_group/type", seen->pci);
	if (sysfs_read(path, seen->iommu, sizeof(seen->iommu)))
		seen->iommu[strcspn(seen->iommu, "\n")] = '\0';
}

void pci_seen_read(struct pci_seen *seen, const char *pci)
{
	unsigned int domain, bus, device, function;

	memset(seen, 0, sizeof(*seen));
	snprintf(seen->pci, sizeof(seen->pci), "%s", pci);
	CHECK_EQ(sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &device, &function), 4);
	seen->domain = domain;
	seen->bus = bus;
	seen->devfn = device << 3 | function;
	read_link(pci, "driver", seen->driver, sizeof(seen->driver));
	read_link(pci, "physfn", seen->pf, sizeof(seen->pf));
	read_place(seen);
	read_iommu(seen);
	read_config(seen);
}

uint64_t pci_seen_u64(const struct pci_seen *seen, const char *attribute)
{
	char dir[128];

	snprintf(dir, sizeof(dir), DEVICES "/%s", seen->pci);
	return sysfs_u64(dir, attribute);
}

uint16_t pci_seen_u16(const struct pci_seen *seen, size_t at)
{
	CHECK(at + 2 <= seen->config_size);
	return seen->config[at] | seen->config[at + 1] << 8;
}

uint32_t pci_seen_u32(const struct pci_seen *seen, size_t at)
{
	return pci_seen_u16(seen, at) | (uint32_t)pci_seen_u16(seen, at + 2) << 16;
}

size_t pci_seen_capability(const struct pci_seen *seen, uint8_t id, size_t after)
{
	size_t at = after ? after + PCI_CAP_LIST_NEXT : PCI_CAPABILITY_LIST;

	if (!(pci_seen_u16(seen, PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return 0;
	for (at = seen->config[at] & ~3; at; at = seen->config[at + PCI_CAP_LIST_NEXT] & ~3)
		if (seen->config[at] == id)
			return at;
	return 0;
}

size_t pci_seen_extended(const struct pci_seen *seen, uint16_t id)
{
	size_t at = PCI_CFG_SPACE_SIZE;
	uint32_t head;

	if (seen->config_size <= at)
		return 0;
	for (; at; at = PCI_EXT_CAP_NEXT(head)) {
		head = pci_seen_u32(seen, at);
		if (head && PCI_EXT_CAP_ID(head) == id)
			return at;
	}
	return 0;
}

bool pci_seen_does_dma(const struct pci_seen *seen)
{
	static const char *const others[] = { "", "pcieport", "vfio-pci", "pci-stub" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(seen->driver, others[i]))
			return false;
	return true;
}

bool pci_seen_translated(const struct pci_seen *seen)
{
	return !strncmp(seen->iommu, "DMA", 3);
}

uint64_t pci_seen_bar(const struct pci_seen *seen, unsigned int bar)
{
	char path[128], text[1024], *line = text;

	snprintf(path, sizeof(path), DEVICES "/%s/resource", seen->pci);
	CHECK(sysfs_read(path, text, sizeof(text)));
	while (bar--) {
		line = strchr(line, '\n');
		CHECK(line);
		line++;
	}
	return strtoull(line, NULL, 16);
}

uint64_t pci_seen_bar_register(const struct pci_seen *seen, unsigned int bar)
{
	size_t at = PCI_BASE_ADDRESS_0 + 4 * bar;
	uint64_t low = pci_seen_u32(seen, at), high = 0;

	if (low & PCI_BASE_ADDRESS_MEM_TYPE_64)
		high = pci_seen_u32(seen, at + 4);
	return high << 32 | (low & (uint32_t)PCI_BASE_ADDRESS_MEM_MASK);
}

void pci_seen_each(void (*visit)(const char *pci, void *context), void *context)
{
	glob_t found;

	CHECK_EQ(glob(DEVICES "/*", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		visit(strrchr(found.gl_pathv[i], '/') + 1, context);
	globfree(&found);
}
