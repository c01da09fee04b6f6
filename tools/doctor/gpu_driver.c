// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which driver has each GPU, and whether all of an AMD GPU's memory is in its BAR. */
#include <string.h>

#include "../util.h"
#include "driver.h"

static const struct {
	const char *vendor, *driver, *install;
} makers[] = {
	{ "0x10de", "nvidia", "NVIDIA's driver (open kernel modules)" },
	{ "0x1002", "amdgpu", "amdgpu and its firmware" },
	{ "0x1da3", "habanalabs", "habanalabs" },
};

static size_t maker_of(const struct site *site, const struct function *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(makers); i++)
		if (!strcmp(makers[i].vendor, function->vendor) && site_is_memory(site, function))
			return i;
	return ARRAY_SIZE(makers);
}

static void say_unbound(struct findings *all, const struct site *site, size_t maker)
{
	const char *driver = makers[maker].driver;

	if (site_has(site, "sys/module/%s", driver)) {
		finding_says(all, STATE_WARN, "%s is loaded and did not take it", driver);
		finding_remedy(all, job_guest, "'dmesg' says why: a BAR without address, firmware "
			       "that is missing, a GPU that the driver is too old for");
		return;
	}
	finding_says(all, STATE_WARN, "no driver has it");
	finding_remedy(all, job_guest, "'modprobe %s', or install %s", driver,
		       makers[maker].install);
}

static void say_vfio(struct findings *all, const struct site *site, const struct function *function)
{
	if (site->hypervisor_err) {
		finding_says(all, STATE_OK, "%s holds it for a guest", function->driver);
		return;
	}
	finding_says(all, STATE_WARN, "%s holds it, in a guest: no GPU driver has it",
		     function->driver);
	finding_remedy(all, job_guest, "'driverctl unset-override %s', and no ids= of it for "
		       "vfio-pci in /etc/modprobe.d", function->pci);
}

static void judge_driver(struct findings *all, const struct site *site,
			 const struct function *function, size_t maker)
{
	finding_add(all, "gpu-driver", function->pci);
	finding_saw(all, function->driver[0] ? function->driver : "none",
		    "/sys/bus/pci/devices/%s/driver", function->pci);
	if (!function->driver[0]) {
		say_unbound(all, site, maker);
	} else if (function->vfio || !strcmp(function->driver, "pci-stub")) {
		say_vfio(all, site, function);
	} else if (!strcmp(function->driver, "nouveau")) {
		finding_says(all, STATE_FAIL, "nouveau has it: CUDA does not work, and no memory "
			     "of it can be exported for RDMA");
		finding_remedy(all, job_guest, "'blacklist nouveau' in /etc/modprobe.d, a new "
			       "initramfs, NVIDIA's driver, and reboot");
	} else {
		finding_says(all, STATE_OK, "driver %s has it", function->driver);
	}
}

void check_gpu_driver(struct findings *all, const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++) {
		size_t maker = maker_of(site, &site->functions[i]);

		if (maker < ARRAY_SIZE(makers))
			judge_driver(all, site, &site->functions[i], maker);
	}
}

static void judge_visible(struct findings *all, const struct site *site, const char *pci)
{
	char some[BYTES_LEN], whole[BYTES_LEN];
	uint64_t visible, total;

	if (site_number(site, &visible, "sys/bus/pci/devices/%s/mem_info_vis_vram_total", pci) ||
	    site_number(site, &total, "sys/bus/pci/devices/%s/mem_info_vram_total", pci))
		return;
	finding_add(all, "amdgpu-memory", pci);
	site_saw(all, site, "sys/bus/pci/devices/%s/mem_info_vis_vram_total", pci);
	site_saw(all, site, "sys/bus/pci/devices/%s/mem_info_vram_total", pci);
	finding_says(all, STATE_OK, "all of its memory is in its BAR");
	if (visible >= total)
		return;
	finding_says(all, STATE_FAIL, "only %s of %s is in its BAR: amdgpu lets no peer reach it",
		     format_bytes(visible, some), format_bytes(total, whole));
	finding_remedy(all, job_setup, "Resizable BAR (or 'Large BAR') and 'Above 4G decoding' in "
		       "the setup of the host; a guest cannot resize it");
}

void check_amdgpu_memory(struct findings *all, const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (!strcmp(site->functions[i].driver, "amdgpu"))
			judge_visible(all, site, site->functions[i].pci);
}
