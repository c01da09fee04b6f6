// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "aperture.h"
#include "cell.h"
#include "harness.h"
#include "vgpu.h"
#include "vrnic.h"

static const char *asked(const char *variable)
{
	const char *value = getenv(variable);

	if (!value)
		test_fail(__FILE__, __LINE__, "the lab does not set %s", variable);
	return value;
}

/* "intel", "amd" or "virtio", by how the kernel calls what translates for a function; NULL for none. */
static const char *kind_of(const char *pci)
{
	char path[128], target[256];
	const char *name;
	ssize_t length;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu", pci);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return NULL;
	target[length] = '\0';
	name = strrchr(target, '/') + 1;
	return !strncmp(name, "dmar", 4) ? "intel" : !strncmp(name, "ivhd", 4) ? "amd" : "virtio";
}

static const char *suffix_of(struct cell *cell, const char *pci)
{
	char path[128], type[32];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group/type", pci);
	CHECK(sysfs_read(path, type, sizeof(type)));
	type[strcspn(type, "\n")] = '\0';
	cell->lazy = !strcmp(type, "DMA-FQ");
	cell->translated = cell->lazy || !strcmp(type, "DMA");
	if (!cell->translated && strcmp(type, "identity"))
		test_fail(__FILE__, __LINE__, "%s: type '%s'", path, type);
	return cell->lazy ? "lazy" : cell->translated ? "strict" : "pt";
}

static void find_iommu(struct cell *cell, const char *pci)
{
	const char *kind = kind_of(pci);

	cell->translated = false;
	cell->lazy = false;
	if (kind)
		snprintf(cell->iommu, sizeof(cell->iommu), "%s-%s", kind, suffix_of(cell, pci));
	else
		strcpy(cell->iommu, "none");
}

/* Where strict or lazy was not asked for, the kernel chose. */
static void check_iommu(const struct cell *cell, const char *pci)
{
	const char *iommu = asked("VPEER_LAB_IOMMU"), *flush = asked("VPEER_LAB_FLUSH");
	char expected[32];

	if (!*flush && cell->translated)
		flush = cell->lazy ? "lazy" : "strict";
	if (!strcmp(iommu, "none") || strstr(iommu, "-pt"))
		snprintf(expected, sizeof(expected), "%s", iommu);
	else
		snprintf(expected, sizeof(expected), "%s-%s", iommu, flush);
	if (strcmp(cell->iommu, expected))
		test_fail(__FILE__, __LINE__, "%s is behind %s, not %s", pci, cell->iommu,
			  expected);
}

static void check_kernel(const char *series)
{
	struct utsname name;
	size_t length = strlen(series);

	CHECK_OK(uname(&name));
	if (strncmp(name.release, series, length) || name.release[length] != '.')
		test_fail(__FILE__, __LINE__, "kernel %s, not %s", name.release, series);
}

void cell_find(struct cell *cell)
{
	char pci[32];

	cell->kernel = asked("VPEER_LAB_KERNEL");
	check_kernel(cell->kernel);
	cell->level = asked("VPEER_LAB_LEVEL");
	for (unsigned int i = 0; i < 3; i++) {
		snprintf(pci, sizeof(pci), "%s", i ? vrnic_pci(i - 1) : vgpu_pci(0));
		find_iommu(cell, pci);
		check_iommu(cell, pci);
	}
}

void cell_tell(const struct cell *cell, const char *format, ...)
{
	va_list arguments;

	printf("cell %s %s %s %s %s ", cell->kernel, cell->iommu, cell->mode, cell->route,
	       cell->level);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}
