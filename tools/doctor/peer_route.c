// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * By which route each RDMA device could take GPU memory: DMA-bufs, a peer-memory client, or
 * pages of vpeer.ko.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../util.h"
#include "driver.h"
#include "nvidia.h"
#include "rdma.h"

#define AMD_PEER	"sys/kernel/mm/memory_peers/amdkfd/version"

enum import {
	IMPORT_UNKNOWN,
	IMPORT_NO,
	IMPORT_YES,
};

/* Whose memory is here. */
struct owners {
	struct nvidia nvidia;	/* there: has a GPU */
	bool amd;
	bool other;		/* another driver that exports DMA-bufs */
	bool vpeer;
};

static void owners_read(const struct site *site, struct owners *owners)
{
	*owners = (struct owners){ .vpeer = site->aperture_count };
	nvidia_read(site, &owners->nvidia);
	owners->nvidia.there = false;
	for (size_t i = 0; i < site->function_count; i++) {
		const char *driver = site->functions[i].driver;

		owners->nvidia.there |= !strcmp(driver, "nvidia");
		owners->amd |= !strcmp(driver, "amdgpu") &&
			       site_is_memory(site, &site->functions[i]);
		owners->other |= !strcmp(driver, "habanalabs") || !strcmp(driver, "xe");
	}
}

/* EFA's own driver, of AWS, has its own way to NVIDIA's memory. */
static bool efa_takes(const struct site *site, const struct rdma_device *device)
{
	char text[64];

	return device->kind == RDMA_EFA && device->function &&
	       !site_text(site, text, sizeof(text), "sys/bus/pci/devices/%s/p2p",
			  device->function->pci) && strstr(text, "NVIDIA");
}

/* Memory that the device cannot take, NULL when there is none. */
static const char *unreached(const struct site *site, const struct rdma_device *device,
			     const struct owners *owners, bool imports)
{
	bool open = owners->nvidia.flavour != FLAVOUR_PROPRIETARY;

	if (owners->nvidia.there && !(imports && open) && !efa_takes(site, device) &&
	    nvidia_peermem(site) != PEERMEM_REGISTERED)
		return open ? "NVIDIA's driver" : "NVIDIA's driver, proprietary flavour";
	if (owners->amd && !imports && !site_has(site, AMD_PEER))
		return "amdgpu";
	return owners->other && !imports ? "the accelerator's driver" : NULL;
}

static bool kernel_before(const struct site *site, unsigned int wanted_major,
			  unsigned int wanted_minor)
{
	unsigned int major, minor;

	return sscanf(site->release, "%u.%u", &major, &minor) == 2 &&
	       (major < wanted_major || (major == wanted_major && minor < wanted_minor));
}

/* What would make the device import. */
static const char *import_remedy(const struct site *site, const struct rdma_device *device)
{
	bool first = !strcmp(device->driver, "mlx5_core") || !strcmp(device->driver, "efa");

	if (!first && kernel_before(site, 6, 12))
		return "a kernel whose RDMA driver imports DMA-bufs (6.1: mlx5 and efa only; 6.12: "
		       "irdma and bnxt_re, too)";
	if (!strcmp(device->driver, "mlx5_core"))
		return "a kernel of 5.12 or newer with CONFIG_INFINIBAND_ON_DEMAND_PAGING, and "
		       "firmware that has it";
	return "a newer kernel or driver of the RDMA device, one that imports DMA-bufs";
}

static void say_none(struct findings *all, const struct site *site,
		     const struct rdma_device *device, const struct owners *owners,
		     const char *memory, bool imports)
{
	bool proprietary = owners->nvidia.there && owners->nvidia.flavour == FLAVOUR_PROPRIETARY;
	struct site_module file;

	finding_says(all, STATE_FAIL, "no route to memory of %s: %s, and no peer-memory client is "
		     "registered", memory,
		     imports ? "the device imports DMA-bufs, that driver exports none" :
			       "the device imports no DMA-bufs");
	if (owners->nvidia.there && nvidia_has_ofed(site) &&
	    !site->place->calls->module_file(site->place->data, "nvidia-peermem", &file)) {
		finding_remedy(all, job_guest, "'modprobe nvidia-peermem', also at boot%s",
			       proprietary ? "; or NVIDIA's open kernel modules" : "");
		return;
	}
	finding_remedy(all, job_guest, "%s%s%s%s; memory that vpeer.ko owns goes by its pages",
		       imports ? "" : import_remedy(site, device),
		       proprietary && !imports ? ", and " : "",
		       proprietary ? "NVIDIA's open kernel modules, 515 or newer (Turing GPUs or "
				     "newer)" : "",
		       owners->nvidia.there ? "; or OFED, and nvidia-peermem built after it" : "");
}

static void say_routes(struct findings *all, const struct site *site,
		       const struct rdma_device *device, const struct owners *owners, bool imports)
{
	bool old_way = nvidia_peermem(site) != PEERMEM_ABSENT;

	if (imports)
		finding_says(all, STATE_OK, "imports DMA-bufs; whether DMA arrives is not measured "
			     "(vpeer selftest)");
	else
		finding_says(all, STATE_OK, "imports no DMA-bufs; %s%s: not measured (vpeer "
			     "selftest)",
			     efa_takes(site, device) ? "its driver takes NVIDIA's memory itself" :
			     old_way ? "takes GPU memory by the peer-memory client" :
				       "takes memory only as pages of vpeer.ko",
			     owners->vpeer && old_way ? ", or as pages of vpeer.ko" : "");
}

static void say_unknown(struct findings *all, const struct rdma_device *device, int err)
{
	if (err == -EACCES || err == -EPERM) {
		finding_says(all, STATE_UNKNOWN, "/dev/infiniband/%s cannot be opened: %s; whether "
			     "it imports DMA-bufs is not known", device->uverbs, strerror(-err));
		finding_remedy(all, job_guest, "mode 0666, or a group of the user's, by a udev "
			       "rule (rdma-core has one)");
		return;
	}
	finding_says(all, STATE_UNKNOWN, "whether it imports DMA-bufs cannot be asked: %s%s",
		     err == -ENODEV ? "libibverbs does not list it" : "libibverbs: ",
		     err == -ENODEV ? "" : strerror(-err));
}

/*
 * errno of registering DMA-buf -1: EBADF by a device that looks at it. @import: what that
 * says; 0 or a negative errno of asking.
 */
static int ask(const struct site *site, const struct rdma_device *device, int *answer,
	       enum import *import)
{
	const struct site_place *place = site->place;
	int err = place->calls->probe_dmabuf(place->data, device->name, answer);

	*import = IMPORT_UNKNOWN;
	if (!err && *answer == EBADF)
		*import = IMPORT_YES;
	else if (!err && (*answer == EOPNOTSUPP || *answer == EPROTONOSUPPORT ||
			  *answer == ENOSYS))
		*import = IMPORT_NO;
	return err;
}

/* Of a client that is loaded and not registered another check tells. */
static bool told_elsewhere(const struct site *site, const struct owners *owners)
{
	return owners->nvidia.there && nvidia_peermem(site) == PEERMEM_LOADED;
}

/* @needed receives the device if it has no route to memory of NVIDIA's driver. */
static void judge(struct findings *all, const struct site *site, const struct rdma_device *device,
		  const struct owners *owners, const char **needed)
{
	const char *memory = NULL;
	enum import import;
	int answer = 0, err = ask(site, device, &answer, &import);

	if (import != IMPORT_UNKNOWN)
		memory = unreached(site, device, owners, import == IMPORT_YES);
	if (memory && owners->nvidia.there)
		*needed = device->object;
	if (memory && told_elsewhere(site, owners))
		return;
	finding_add(all, "peer-route", device->object);
	finding_saw(all, strerror(err ? -err : answer), err ? "opening it by libibverbs" :
							      "registering DMA-buf -1 with it");
	if (err)
		say_unknown(all, device, err);
	else if (import == IMPORT_UNKNOWN)
		finding_says(all, STATE_UNKNOWN, "whether it imports DMA-bufs is not known: it "
			     "answers neither as one that does nor as one that does not");
	else if (memory)
		say_none(all, site, device, owners, memory, import == IMPORT_YES);
	else
		say_routes(all, site, device, owners, import == IMPORT_YES);
}

void check_peer_route(struct findings *all, const struct site *site)
{
	const char *needed = NULL;
	struct owners owners;
	bool any = false;

	owners_read(site, &owners);
	for (size_t i = 0; i < site->rdma_count; i++) {
		const struct rdma_device *device = &site->rdma[i];

		if (device->kind == RDMA_SOFT)
			continue;
		any = true;
		/* Without a device node there is nobody to ask: "device-node" tells. */
		if (device->uverbs[0] && site_has(site, "dev/infiniband/%s", device->uverbs))
			judge(all, site, device, &owners, &needed);
	}
	if (any && owners.nvidia.there)
		nvidia_say_peermem(all, site, needed);
}
