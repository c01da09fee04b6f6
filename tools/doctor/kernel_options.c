// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Options that the kernel was built with. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "guest.h"

#define MOST_TEXT	(1U << 20)	/* that of a distribution has a quarter of it */

enum wanted_by {
	BY_MODULE,	/* vpeer.ko */
	BY_RDMA,
	BY_MLX5,	/* and drivers of GPUs that export DMA-bufs */
	BY_IN_TREE,	/* exporters that ask pci_p2pdma_distance() */
	BY_AMDGPU,
};

static const struct option {
	const char *name;
	enum wanted_by by;
	const char *meaning;
	const char *until;	/* release from which on it is gone, or NULL */
} options[] = {
	{ "ZONE_DEVICE", BY_MODULE, "vpeer.ko cannot make pages of a BAR", NULL },
	{ "TRANSPARENT_HUGEPAGE", BY_MODULE, "vpeer.ko cannot map windows", NULL },
	{ "INFINIBAND_USER_ACCESS", BY_RDMA, "programs cannot use RDMA devices", NULL },
	{ "INFINIBAND_USER_MEM", BY_RDMA, "programs cannot register memory", NULL },
	{ "DMA_SHARED_BUFFER", BY_RDMA, "there are no DMA-bufs", NULL },
	{ "INFINIBAND_ON_DEMAND_PAGING", BY_MLX5, "mlx5 imports no DMA-bufs", NULL },
	{ "PCI_P2PDMA", BY_IN_TREE,
	  "the GPU's driver takes no peer for reachable and moves what it exports to host memory",
	  NULL },
	{ "DMABUF_MOVE_NOTIFY", BY_AMDGPU,
	  "amdgpu moves what it exports to host memory instead of its own", "7.1" },
};

static bool wanted(const struct site *site, enum wanted_by by)
{
	char pci[VPEER_PCI_LEN];

	/* OFED has an RDMA core of its own. */
	if ((by == BY_RDMA || by == BY_MLX5) && site_has(site, "sys/module/mlx_compat"))
		return false;
	switch (by) {
	case BY_MODULE:
		return site_needs_module(site, pci);
	case BY_RDMA:
		return site_has_rdma(site) && site_has_peers(site);
	case BY_MLX5:
		return site_has_driver(site, "mlx5_core") && site_has_peers(site);
	case BY_IN_TREE:
		return (site_has_driver(site, "amdgpu") || site_has_driver(site, "xe")) &&
		       site_has_peers(site);
	case BY_AMDGPU:
		return site_has_driver(site, "amdgpu") && site_has_peers(site);
	}
	return false;
}

/* The first of them that can be read; -ENOENT when none is there. */
static int read_options(const struct site *site, char *text, char *path, size_t size)
{
	static const char *const places[] = {
		"boot/config-%s",
		"lib/modules/%s/config",
		"usr/lib/modules/%s/config",
		"lib/modules/%s/build/.config",
	};
	int err = -ENOENT, last;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		size_t before = (size_t)(strchr(places[i], '%') - places[i]);

		text_format(path, size, "%.*s%s%s", (int)before, places[i], site->release,
			    places[i] + before + 2);
		last = site_text(site, text, MOST_TEXT, "%s", path);
		if (!last)
			return 0;
		if (last != -ENOENT)
			err = last;
	}
	return err;
}

/* "CONFIG_NAME=y" or "=m", at the start of a line. */
static bool is_set(const char *text, const char *name)
{
	char line[64];

	text_format(line, sizeof(line), "CONFIG_%s=", name);
	for (const char *at = text; (at = strstr(at, line)); at++) {
		char value = at[strlen(line)];

		if ((at == text || at[-1] == '\n') && (value == 'y' || value == 'm'))
			return true;
	}
	return false;
}

static bool is_gone(const struct site *site, const struct option *option)
{
	unsigned int major, minor, last_major, last_minor;

	if (!option->until || sscanf(site->release, "%u.%u", &major, &minor) != 2 ||
	    sscanf(option->until, "%u.%u", &last_major, &last_minor) != 2)
		return false;
	return major > last_major || (major == last_major && minor >= last_minor);
}

static void say_missing(struct findings *all, const struct option *option, const char *path)
{
	finding_add(all, "kernel-options", "machine");
	finding_saw(all, "not set", "CONFIG_%s in /%s", option->name, path);
	finding_says(all, STATE_FAIL, "CONFIG_%s is not set: %s", option->name, option->meaning);
	finding_remedy(all, job_guest, "boot a kernel that was built with CONFIG_%s",
		       option->name);
}

static void say_unread(struct findings *all, const struct site *site, int err)
{
	bool packed = site_has(site, "proc/config.gz");
	char seen[128], pci[VPEER_PCI_LEN];

	finding_add(all, "kernel-options", "machine");
	finding_saw(all, strerror(-err), "/boot/config-%s, /lib/modules/%s/config", site->release,
		    site->release);
	if (!site_has_peers(site)) {
		finding_says(all, STATE_OK, "not readable, and nothing here needs them");
		return;
	}
	if (!site_needs_module(site, pci) && site_has_peermem(site)) {
		finding_saw(all, "there", "/sys/kernel/mm/memory_peers, "
			    "/sys/module/nvidia_peermem or a function's p2p");
		finding_says(all, STATE_OK, "not readable, but there is peer memory");
		return;
	}
	if (!site_needs_module(site, pci) && !site_imports_dmabuf(site, seen, sizeof(seen))) {
		finding_saw(all, seen, "answer to DMA-buf -1");
		finding_says(all, STATE_OK, "not readable, but DMA-bufs are registered");
		return;
	}
	finding_says(all, STATE_UNKNOWN, "no file here tells what this kernel was built with%s",
		     packed ? "; /proc/config.gz does, but is compressed: see zgrep "
			      "'ZONE_DEVICE|DMA_SHARED|ON_DEMAND_PAGING|P2PDMA' /proc/config.gz" :
			      "");
}

void check_kernel_options(struct findings *all, const struct site *site)
{
	char path[PATH_MAX] = "", *text = xrealloc(NULL, MOST_TEXT, 1);
	int err = site->release[0] ? read_options(site, text, path, sizeof(path)) : -ENOENT;
	bool well = true;

	if (err) {
		say_unread(all, site, err);
		free(text);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (!wanted(site, options[i].by) || is_gone(site, &options[i]) ||
		    is_set(text, options[i].name))
			continue;
		say_missing(all, &options[i], path);
		well = false;
	}
	if (well) {
		finding_add(all, "kernel-options", "machine");
		finding_saw(all, "set", "what is needed here, in /%s", path);
		finding_says(all, STATE_OK, "the kernel has what peer DMA on this machine needs");
	}
	free(text);
}
