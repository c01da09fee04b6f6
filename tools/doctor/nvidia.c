// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* NVIDIA's driver: flavour, version, vGPU. */
#include "nvidia.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "driver.h"

#define VERSION		"proc/driver/nvidia/version"

/* Before it, teardown could race with the callback of memory that is taken away. */
#define FIRST_SOUND	560

/* The first word of @text that is a version. */
static void take_version(struct nvidia *nvidia, const char *text)
{
	while (*text) {
		size_t length;

		text += strspn(text, " \t");
		length = strcspn(text, " \t\n");
		if (isdigit((unsigned char)*text) && memchr(text, '.', length)) {
			text_format(nvidia->version, sizeof(nvidia->version), "%.*s", (int)length,
				    text);
			nvidia->major = (unsigned int)strtoul(text, NULL, 10);
			return;
		}
		text += length + (text[length] != '\0');
	}
}

static bool has_function(const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (!strcmp(site->functions[i].driver, "nvidia"))
			return true;
	return false;
}

void nvidia_read(const struct site *site, struct nvidia *nvidia)
{
	char text[1024], *module;

	*nvidia = (struct nvidia){
		.there = has_function(site) || site_has(site, "sys/module/nvidia"),
	};
	if (!nvidia->there)
		return;
	if (!site_text(site, text, sizeof(text), VERSION)) {
		module = strstr(text, "Kernel Module");
		if (module)
			take_version(nvidia, module);
		if (module)
			nvidia->flavour = strstr(text, "Open Kernel Module") ? FLAVOUR_OPEN :
									       FLAVOUR_PROPRIETARY;
		return;
	}
	if (!site_text(site, text, sizeof(text), "sys/module/nvidia/version"))
		take_version(nvidia, text);
	if (!site_text(site, text, sizeof(text), "sys/module/nvidia/taint"))
		nvidia->flavour = strchr(text, 'P') ? FLAVOUR_PROPRIETARY : FLAVOUR_OPEN;
}

/* A module that takes pages of nvidia.ko, and is told when they go; NULL for none. */
static const char *page_taker(const struct site *site)
{
	static const char *const modules[] = { "nvidia_peermem", "nv_peer_mem", "gdrdrv",
					       "nvidia_fs" };

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		if (site_has(site, "sys/module/%s", modules[i]))
			return modules[i];
	return NULL;
}

static void say_flavour(struct findings *all, const struct site *site,
			const struct nvidia *nvidia)
{
	const char *taker = page_taker(site);

	if (nvidia->flavour == FLAVOUR_UNKNOWN) {
		finding_says(all, STATE_UNKNOWN, "its flavour and version cannot be read: is /proc "
			     "of the host or the driver's part of it hidden?");
		return;
	}
	if (taker && nvidia->major && nvidia->major < FIRST_SOUND) {
		site_saw(all, site, "sys/module/%s/version", taker);
		finding_says(all, STATE_WARN, "%s, with %s: before %u, memory that is freed while "
			     "it is registered can be unmapped twice ('invalid page_table' in the "
			     "log, then errors of CUDA)", nvidia->version, taker, FIRST_SOUND);
		finding_remedy(all, job_guest, "a driver of %u or newer", FIRST_SOUND);
		return;
	}
	finding_says(all, STATE_OK, "%s, %s", nvidia->version,
		     nvidia->flavour == FLAVOUR_OPEN ?
			     "open flavour: it exports DMA-bufs of GPU memory" :
			     "proprietary flavour: it exports no DMA-bufs, RDMA devices reach GPU "
			     "memory by nvidia-peermem only");
}

/* The rest of the line "NAME: value" of a GPU's information; false if there is none. */
static bool information(const struct site *site, const char *pci, const char *name, char *value,
			size_t size)
{
	char text[2048], *at;

	if (site_text(site, text, sizeof(text), "proc/driver/nvidia/gpus/%s/information", pci))
		return false;
	at = strstr(text, name);
	if (!at || at[strlen(name)] != ':')
		return false;
	at += strlen(name) + 1;
	at += strspn(at, " \t");
	text_format(value, size, "%.*s", (int)strcspn(at, "\n"), at);
	return true;
}

static void saw_firmware(struct findings *all, const struct site *site)
{
	char firmware[64];

	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (strcmp(function->driver, "nvidia") != 0 ||
		    !information(site, function->pci, "GPU Firmware", firmware, sizeof(firmware)))
			continue;
		finding_saw(all, firmware, "/proc/driver/nvidia/gpus/%s/information: GPU Firmware",
			    function->pci);
		return;
	}
}

void check_nvidia_driver(struct findings *all, const struct site *site)
{
	struct nvidia nvidia;

	nvidia_read(site, &nvidia);
	if (!nvidia.there)
		return;
	finding_add(all, "nvidia-driver", "machine");
	site_saw(all, site, VERSION);
	saw_firmware(all, site);
	say_flavour(all, site, &nvidia);
}

/* "NVIDIA A30-8C", "GRID T4-16Q": a part of a GPU. */
static bool is_vgpu(const char *model)
{
	const char *end = strrchr(model, '-');

	if (!end || !isdigit((unsigned char)end[1]))
		return false;
	end += 1 + strspn(end + 1, "0123456789");
	return *end && strchr("ABCQ", *end) && (!end[1] || !strcmp(end + 1, "ME"));
}

void check_nvidia_vgpu(struct findings *all, const struct site *site)
{
	char model[128];

	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (strcmp(function->driver, "nvidia") != 0 ||
		    !information(site, function->pci, "Model", model, sizeof(model)) ||
		    !is_vgpu(model))
			continue;
		finding_add(all, "nvidia-vgpu", function->pci);
		finding_saw(all, model, "/proc/driver/nvidia/gpus/%s/information: Model",
			    function->pci);
		finding_says(all, STATE_WARN, "a vGPU: types for whole GPUs have GPUDirect RDMA on "
			     "some models, the others refuse it");
		finding_remedy(all, job_vm, "give the guest the whole GPU, or a vGPU type that "
			       "NVIDIA lists for GPUDirect RDMA");
	}
}
