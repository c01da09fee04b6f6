// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The capability by which a VMM tells NVIDIA's driver which GPUs may reach each other by PCI
 * Express. It means nothing to a NIC.
 */
#include <string.h>

#include "../util.h"
#include "device.h"

#define CLASS_DISPLAY	0x03
#define CLASS_NVSWITCH	0x0680
#define VENDOR_NVIDIA	"0x10de"

static bool is_gpu(const struct site *site, const struct function *function)
{
	(void)site;
	return function->class >> 16 == CLASS_DISPLAY && !strcmp(function->vendor, VENDOR_NVIDIA);
}

/* By NVLink GPUs reach each other without it. */
static bool is_switch(const struct site *site, const struct function *function)
{
	(void)site;
	return function->class >> 8 == CLASS_NVSWITCH && !strcmp(function->vendor, VENDOR_NVIDIA);
}

static bool is_alone(const struct site *site, const struct function *function, unsigned int id)
{
	struct clique other;

	for (size_t i = 0; i < site->function_count; i++) {
		if (&site->functions[i] == function || !is_gpu(site, &site->functions[i]))
			continue;
		config_clique(&site->functions[i].config, &other);
		if (other.presence == NOT_READ || (other.presence == PRESENT && other.id == id))
			return false;
	}
	return true;
}

static void remedy(struct findings *all, const char *what)
{
	finding_remedy(all, job_vm, "%s (QEMU: '-device vfio-pci,...,x-nv-gpudirect-clique=N'; "
		       "Cloud Hypervisor: x_nv_gpudirect_clique=N), and do not hide the "
		       "hypervisor; then compare bytes: a peer that is said to be reached may be a "
		       "mirror", what);
}

static void one(struct findings *all, const struct site *site, const struct function *function)
{
	struct clique clique;
	char text[64];

	config_clique(&function->config, &clique);
	if (clique.presence == NOT_READ)
		return;
	text_format(text, sizeof(text), clique.presence == ABSENT ? "no P2P capability" :
		    "P2P capability, version %u, clique %u", clique.version, clique.id);
	device_begin(all, function, "clique", "config", text);
	if (device_count(site, is_switch)) {
		finding_says(all, STATE_OK, "the GPUs reach each other by NVLink, without a "
			     "clique");
	} else if (clique.presence == ABSENT) {
		finding_says(all, STATE_WARN, "it is in no clique: NVIDIA's driver lets no GPU of "
			     "a guest reach it by PCI Express. NICs are not concerned");
		remedy(all, "give GPUs that reach each other on the host one clique");
	} else if (is_alone(site, function, clique.id)) {
		finding_says(all, STATE_WARN, "no other GPU is in its clique %u: none reaches it "
			     "by PCI Express. NICs are not concerned", clique.id);
		remedy(all, "give GPUs that reach each other on the host the same clique");
	} else {
		finding_says(all, STATE_OK, "in clique %u with others: the driver lets them reach "
			     "each other, if it sees that it is in a guest; NICs are not concerned",
			     clique.id);
	}
}

void check_clique(struct findings *all, const struct site *site)
{
	if (machine_shows_functions(site) && device_count(site, is_gpu) > 1)
		device_each(all, site, is_gpu, one);
}
