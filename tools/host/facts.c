// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "facts.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "../util.h"

const struct host_place host_here = {
	.sysfs = "/sys",
	.procfs = "/proc",
	.modules = "/lib/modules",
	.read_vf = vf_read,
};

/* Linux 6.19 is the first that does, by dma-buf. */
bool host_iommufd_maps_bars(const struct host *host)
{
	unsigned int major, minor;

	return sscanf(host->release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 19));
}

/* "name\t: value" in the text of /proc/cpuinfo. */
static const char *cpu_field(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	line = line ? strchr(line, ':') : NULL;
	return line ? line + 1 + strspn(line + 1, " ") : NULL;
}

static void read_cpu(struct host *host)
{
	const char *field;
	char text[8192];

	if (vpeer_sysfs_read(text, sizeof(text), "%s/cpuinfo", host->place->procfs))
		return;
	field = cpu_field(text, "vendor_id");
	if (field)
		text_format(host->cpu.vendor, sizeof(host->cpu.vendor), "%.*s",
			    (int)strcspn(field, "\n"), field);
	field = cpu_field(text, "address sizes");
	if (field)
		sscanf(field, "%u bits physical, %u bits virtual", &host->cpu.physical,
		       &host->cpu.virtual);
}

static enum answer read_switch(const struct host *host, const char *module, const char *name)
{
	char text[8];

	if (vpeer_sysfs_read(text, sizeof(text), "%s/module/%s/parameters/%s", host->place->sysfs,
			     module, name))
		return ANSWER_UNKNOWN;
	return text[0] == 'Y' || text[0] == '1' ? ANSWER_YES : ANSWER_NO;
}

/* As modprobe would find it. */
static enum answer list_has(const struct host *host, const char *list, const char *module)
{
	enum answer answer = ANSWER_NO;
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	FILE *file;

	text_format(path, sizeof(path), "%s/%s/%s", host->place->modules, host->release, list);
	file = fopen(path, "re");
	if (!file)
		return ANSWER_UNKNOWN;
	while (answer == ANSWER_NO && getline(&line, &size, file) > 0) {
		line[strcspn(line, ":\n")] = '\0';
		if (strstr(line, module))
			answer = ANSWER_YES;
	}
	free(line);
	fclose(file);
	return answer;
}

static enum answer read_module(const struct host *host, const char *module)
{
	enum answer loadable = list_has(host, "modules.dep", module);
	enum answer builtin = list_has(host, "modules.builtin", module);

	if (loadable == ANSWER_YES || builtin == ANSWER_YES)
		return ANSWER_YES;
	return loadable == ANSWER_UNKNOWN || builtin == ANSWER_UNKNOWN ? ANSWER_UNKNOWN :
									 ANSWER_NO;
}

static void read_vfio(struct host *host)
{
	const char *sysfs = host->place->sysfs;
	struct vfio *vfio = &host->vfio;

	vfio->pci = vpeer_sysfs_exists("%s/bus/pci/drivers/vfio-pci", sysfs);
	vfio->container = vpeer_sysfs_exists("%s/class/misc/vfio", sysfs);
	vfio->type1 = vpeer_sysfs_exists("%s/module/vfio_iommu_type1", sysfs);
	vfio->iommufd = vpeer_sysfs_exists("%s/class/misc/iommu", sysfs);
	vfio->iommufd_module = read_module(host, "/iommufd.ko");
	vfio->unsafe_interrupts = read_switch(host, "vfio_iommu_type1", "allow_unsafe_interrupts");
}

static void read_kvm(struct host *host)
{
	static const char *const modules[] = { "kvm_intel", "kvm_amd" };

	host->kvm.there = vpeer_sysfs_exists("%s/class/misc/kvm", host->place->sysfs);
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		if (!vpeer_sysfs_exists("%s/module/%s", host->place->sysfs, modules[i]))
			continue;
		text_format(host->kvm.module, sizeof(host->kvm.module), "%s", modules[i]);
		host->kvm.nested = read_switch(host, modules[i], "nested");
	}
}

void host_read(struct host *host, const struct host_place *place)
{
	*host = (struct host){ .place = place };
	if (vpeer_sysfs_read(host->release, sizeof(host->release), "%s/sys/kernel/osrelease",
			     place->procfs))
		host->release[0] = '\0';
	host->cmdline_err = vpeer_sysfs_read(host->cmdline, sizeof(host->cmdline), "%s/cmdline",
					     place->procfs);
	if (host->cmdline_err)
		host->cmdline[0] = '\0';
	read_cpu(host);
	host_read_iommu(host);
	read_vfio(host);
	read_kvm(host);
	host_read_pools(host);
	host_read_memory(host);
}

void host_free(struct host *host)
{
	for (size_t i = 0; i < host->function_count; i++)
		function_free(&host->functions[i]);
	for (size_t i = 0; i < host->bridge_count; i++)
		function_free(&host->bridges[i]);
	free(host->functions);
	free(host->bridges);
	free(host->pools);
	free(host->memory);
	*host = (struct host){ 0 };
}

const struct function *host_bridge(const struct host *host, const char *pci)
{
	for (size_t i = 0; i < host->bridge_count; i++)
		if (!strcmp(host->bridges[i].pci, pci))
			return &host->bridges[i];
	return NULL;
}

static int by_address(const void *left, const void *right)
{
	return strcmp(((const struct function *)left)->pci, ((const struct function *)right)->pci);
}

static void add_bridges(struct host *host, const struct function *function)
{
	struct function bridge;

	for (size_t i = 0; i < function->bridge_count; i++) {
		if (host_bridge(host, function->bridges[i]) ||
		    function_load(&bridge, host->place->sysfs, function->bridges[i],
				  host->place->read_vf))
			continue;
		host->bridges = xrealloc(host->bridges, host->bridge_count + 1, sizeof(bridge));
		host->bridges[host->bridge_count++] = bridge;
	}
	if (host->bridge_count)
		qsort(host->bridges, host->bridge_count, sizeof(bridge), by_address);
}

static void append(struct host *host, const struct function *function)
{
	host->functions = xrealloc(host->functions, host->function_count + 1, sizeof(*function));
	host->functions[host->function_count++] = *function;
	add_bridges(host, function);
}

int host_add(struct host *host, const char *pci)
{
	struct function function;
	int err = function_load(&function, host->place->sysfs, pci, host->place->read_vf);

	if (!err)
		append(host, &function);
	return err;
}

/* Memory that is not bound to VFIO is a host's own, such as persistent memory. */
static bool is_default(const struct function *function)
{
	if (function->sriov.physfn[0])
		return true;
	if (!function_is_memory(function))
		return false;
	return function->class >> 16 != 0x05 || function->vfio;
}

void host_add_default(struct host *host)
{
	struct function function;
	struct dirent *item;
	char path[PATH_MAX];
	DIR *directory;

	text_format(path, sizeof(path), "%s/bus/pci/devices", host->place->sysfs);
	directory = opendir(path);
	if (!directory)
		return;
	while ((item = readdir(directory))) {
		if (function_load(&function, host->place->sysfs, item->d_name,
				  host->place->read_vf))
			continue;
		if (is_default(&function))
			append(host, &function);
		else
			function_free(&function);
	}
	closedir(directory);
	if (host->function_count)
		qsort(host->functions, host->function_count, sizeof(function), by_address);
}
