// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What kinds of machines there are, as the checks of the guest tell them apart. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "guest.h"

#define VENDOR_AMD	"0x1002"
#define VENDOR_INTEL	"0x8086"
#define VENDOR_NVIDIA	"0x10de"
#define CLASS_DISPLAY	0x03
#define CLASS_ACCELERATOR	0x12

/* Memory whose drivers export it as DMA-bufs, or by a client of peer memory. */
static const char *const exporters[] = {
	"nvidia", "amdgpu", "xe", "i915", "nouveau", "habanalabs", "vfio-pci", "tenstorrent",
};

bool site_has_driver(const struct site *site, const char *driver)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (!strcmp(site->functions[i].driver, driver))
			return true;
	return false;
}

static bool is_display(const struct function *function)
{
	return function->class >> 16 == CLASS_DISPLAY;
}

bool site_has_nvidia(const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (is_display(&site->functions[i]) &&
		    !strcmp(site->functions[i].vendor, VENDOR_NVIDIA))
			return true;
	return false;
}

static bool has_initiator(const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (site_is_initiator(site, &site->functions[i]))
			return true;
	return false;
}

bool site_has_peers(const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (site_is_memory(site, &site->functions[i]))
			return has_initiator(site);
	return false;
}

bool site_has_rdma(const struct site *site)
{
	char **names;
	size_t count = site_names(site, &names, "sys/class/infiniband");

	site_names_free(names, count);
	return count;
}

/* The driver of EFA that AWS has takes NVIDIA's memory itself. */
static bool has_efa_of_aws(const struct site *site)
{
	char text[64];

	for (size_t i = 0; i < site->function_count; i++)
		if (!site_text(site, text, sizeof(text), "sys/bus/pci/devices/%s/p2p",
			       site->functions[i].pci) &&
		    strstr(text, "NVIDIA"))
			return true;
	return false;
}

bool site_has_peermem(const struct site *site)
{
	return has_efa_of_aws(site) || site_has(site, "sys/kernel/mm/memory_peers") ||
	       site_has(site, "sys/module/nvidia_peermem") ||
	       site_has(site, "sys/module/nv_peer_mem");
}

static bool is_gpu(const struct function *function)
{
	return is_display(function) || function->class >> 16 == CLASS_ACCELERATOR;
}

/* A GPU that lacks its driver wants that, not vpeer. */
static bool has_own_driver(const struct function *function)
{
	static const char *const vendors[] = { VENDOR_AMD, VENDOR_INTEL, VENDOR_NVIDIA };

	for (size_t i = 0; i < ARRAY_SIZE(exporters); i++)
		if (!strcmp(function->driver, exporters[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(vendors); i++)
		if (is_gpu(function) && !function->driver[0] &&
		    !strcmp(function->vendor, vendors[i]))
			return true;
	return false;
}

bool site_needs_module(const struct site *site, char pci[VPEER_PCI_LEN])
{
	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (!site_is_memory(site, function) || has_own_driver(function))
			continue;
		text_format(pci, VPEER_PCI_LEN, "%s", function->pci);
		return has_initiator(site);
	}
	return false;
}

int site_imports_dmabuf(const struct site *site, char *seen, size_t size)
{
	const struct site_place *place = site->place;
	char **names;
	size_t count = site_names(site, &names, "sys/class/infiniband");
	int result = -ENODEV;

	text_format(seen, size, "no RDMA device");
	for (size_t i = 0; i < count && result; i++) {
		int answer = 0, err = place->calls->probe_dmabuf(place->data, names[i], &answer);

		text_format(seen, size, "%s: %s", names[i], strerror(err ? -err : answer));
		if (!err && (answer == EBADF || !answer))
			result = 0;
		else if (!err)
			result = -EOPNOTSUPP;
		else if (result != -EOPNOTSUPP)
			result = err;
	}
	site_names_free(names, count);
	return result;
}

/* Of process 1, or of this one where it has a name space of its own. */
static bool is_containers_group(const struct site *site, const char *file)
{
	static const char *const words[] = { "docker", "kubepods", "containerd", "libpod", "lxc",
					     "crio" };
	char text[4096];

	if (site_text(site, text, sizeof(text), "%s", file + 1))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

bool site_in_container(const struct site *site, const char **by)
{
	static const char *const files[] = { "/.dockerenv", "/run/.containerenv",
					     "/run/systemd/container",
					     "/run/secrets/kubernetes.io" };
	static const char *const variables[] = { "container", "KUBERNETES_SERVICE_HOST" };
	static const char *const groups[] = { "/proc/1/cgroup", "/proc/self/cgroup" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		*by = files[i];
		if (site_has(site, "%s", files[i] + 1))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		*by = variables[i];
		if (site_variable(site, variables[i]))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		*by = groups[i];
		if (is_containers_group(site, groups[i]))
			return true;
	}
	return false;
}

bool site_line(const struct site *site, char *value, size_t size, const char *name,
	       const char *path)
{
	char text[16384], *rest = text, *line;
	size_t length = strlen(name);

	value[0] = '\0';
	if (site_text(site, text, sizeof(text), "%s", path))
		return false;
	while ((line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t");
		if (strncmp(line, name, length))
			continue;
		line += length;
		line += strspn(line, " \t");
		if (*line != ':' && *line != '=')
			continue;
		line++;
		text_format(value, size, "%s", line + strspn(line, " \t"));
		value[strcspn(value, "\r")] = '\0';
		return true;
	}
	return false;
}

/* Root of a user namespace of its own has capabilities that do not count in the kernel. */
static bool in_user_namespace(const struct site *site)
{
	unsigned long long inside, outside, count;
	char map[256];

	return !site_text(site, map, sizeof(map), "proc/self/uid_map") &&
	       sscanf(map, "%llu %llu %llu", &inside, &outside, &count) == 3 &&
	       (inside || outside || count < UINT32_MAX);
}

bool site_capable(const struct site *site, unsigned int capability)
{
	char text[32];

	return !in_user_namespace(site) &&
	       site_line(site, text, sizeof(text), "CapEff", "proc/self/status") &&
	       strtoull(text, NULL, 16) >> capability & 1;
}
