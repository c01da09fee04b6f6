// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "site.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/internal.h"
#include "../../lib/sysfs.h"
#include "../util.h"
#include "rdma.h"

#define CLASS_NVME	0x010802

/* Smaller ones are registers, or frame buffers of emulated and management controllers. */
#define LEAST_MEMORY	(64ULL << 20)

static int by_address(const void *left, const void *right)
{
	return strcmp(((const struct function *)left)->pci, ((const struct function *)right)->pci);
}

static int no_settings(const char *netdev, unsigned int vf, struct vf_settings *settings)
{
	(void)netdev;
	(void)vf;
	(void)settings;
	return -ENODATA;
}

static void read_functions(struct site *site)
{
	struct function function;
	struct dirent *item;
	char path[PATH_MAX];
	DIR *directory;

	text_format(path, sizeof(path), "%s/bus/pci/devices", site->sysfs);
	directory = opendir(path);
	if (!directory)
		return;
	while ((item = readdir(directory))) {
		if (function_load(&function, site->sysfs, item->d_name, no_settings))
			continue;
		site->functions = xrealloc(site->functions, site->function_count + 1,
					   sizeof(function));
		site->functions[site->function_count++] = function;
	}
	closedir(directory);
	if (site->function_count)
		qsort(site->functions, site->function_count, sizeof(function), by_address);
}

void site_read(struct site *site, const struct site_place *place)
{
	*site = (struct site){ .place = place };
	text_format(site->sysfs, sizeof(site->sysfs), "%s/sys", place->root);
	if (site_text(site, site->release, sizeof(site->release), "proc/sys/kernel/osrelease"))
		site->release[0] = '\0';
	site->cmdline_err = site_text(site, site->cmdline, sizeof(site->cmdline), "proc/cmdline");
	if (site->cmdline_err)
		site->cmdline[0] = '\0';
	site->hypervisor_err = place->calls->hypervisor(place->data, site->hypervisor);
	if (site->hypervisor_err)
		site->hypervisor[0] = '\0';
	site->vmm = site_vmm(site);
	read_functions(site);
	if (vpeer_list_at(site->sysfs, &site->apertures, &site->aperture_count, NULL))
		site->aperture_count = 0;
	rdma_read(site);
}

void site_free(struct site *site)
{
	rdma_free(site);
	for (size_t i = 0; i < site->function_count; i++)
		function_free(&site->functions[i]);
	free(site->functions);
	if (site->aperture_count)
		vpeer_list_free(site->apertures);
	*site = (struct site){ 0 };
}

const struct function *site_function(const struct site *site, const char *pci)
{
	struct function wanted;

	text_format(wanted.pci, sizeof(wanted.pci), "%s", pci);
	return site->function_count ?
		       bsearch(&wanted, site->functions, site->function_count,
			       sizeof(wanted), by_address) :
		       NULL;
}

static bool has_aperture(const struct site *site, const struct function *function)
{
	char pci[VPEER_PCI_LEN];

	for (size_t i = 0; i < site->aperture_count; i++)
		if (!strcmp(vpeer_pci_format(&site->apertures[i].pci, pci), function->pci))
			return true;
	return false;
}

bool site_is_memory(const struct site *site, const struct function *function)
{
	if (has_aperture(site, function))
		return true;
	if (!function_is_memory(function))
		return false;
	for (size_t i = 0; i < PCI_BARS; i++) {
		const struct pci_bar *bar = &function->bars[i];

		if (bar->memory && bar->prefetchable && bar->wide && bar->size >= LEAST_MEMORY)
			return true;
	}
	return false;
}

bool site_is_initiator(const struct site *site, const struct function *function)
{
	(void)site;
	return function->sriov.physfn[0] || function->class == CLASS_NVME ||
	       function->rdma;
}

const char *site_variable(const struct site *site, const char *name)
{
	size_t length = strlen(name);

	for (char **at = site->place->environment; *at; at++)
		if (!strncmp(*at, name, length) && (*at)[length] == '=')
			return *at + length + 1;
	return NULL;
}

bool site_option(const struct site *site, const char *name, char *value, size_t size)
{
	size_t length = strlen(name), word;
	const char *at = site->cmdline;
	bool found = false;

	value[0] = '\0';
	for (; *at; at += word) {
		at += strspn(at, " \t");
		word = strcspn(at, " \t");
		if (word < length || strncmp(at, name, length))
			continue;
		if (word > length && at[length] != '=')
			continue;
		found = true;
		text_format(value, size, "%.*s", word > length ? (int)(word - length - 1) : 0,
			    at + length + 1);
	}
	return found;
}
