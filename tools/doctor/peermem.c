// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* NVIDIA's peer-memory client: its file, loaded, registered. */
#include <string.h>

#include "../finding.h"
#include "../util.h"
#include "nvidia.h"

#define PEERS	"sys/kernel/mm/memory_peers"

static const char *const clients[] = { "nv_mem", "nv_mem_nc" };
static const char *const modules[] = { "nvidia_peermem", "nv_peer_mem" };

static const char *first_of(const struct site *site, const char *const names[2],
			    const char *directory)
{
	for (size_t i = 0; i < 2; i++)
		if (site_has(site, "%s/%s", directory, names[i]))
			return names[i];
	return NULL;
}

enum peermem nvidia_peermem(const struct site *site)
{
	if (first_of(site, clients, PEERS))
		return PEERMEM_REGISTERED;
	return first_of(site, modules, "sys/module") ? PEERMEM_LOADED : PEERMEM_ABSENT;
}

bool nvidia_has_ofed(const struct site *site)
{
	return site_has(site, "sys/module/mlx_compat");
}

static void saw_parameters(struct findings *all, const struct site *site, const char *module)
{
	static const char *const names[] = { "peerdirect_support", "persistent_api_support" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (site_has(site, "sys/module/%s/parameters/%s", module, names[i]))
			site_saw(all, site, "sys/module/%s/parameters/%s", module, names[i]);
}

static void say_registered(struct findings *all, const struct site *site)
{
	const char *module = first_of(site, modules, "sys/module");

	site_saw(all, site, PEERS "/%s/version", first_of(site, clients, PEERS));
	if (module)
		saw_parameters(all, site, module);
	finding_says(all, STATE_OK, "registered at the RDMA core, OFED's; whether its DMA arrives "
		     "is not measured (vpeer selftest)");
}

/*
 * Without OFED's symbols at its build, its init does nothing but fail, and says nothing. NCCL
 * takes a module that is there for one that works.
 */
static void say_loaded(struct findings *all, const struct site *site, const char *needed)
{
	const char *module = first_of(site, modules, "sys/module");

	site_saw(all, site, "sys/module/%s/version", module);
	finding_saw(all, "nothing of NVIDIA's", "/" PEERS);
	finding_says(all, needed ? STATE_FAIL : STATE_WARN, "%s is loaded, but not registered at "
		     "the RDMA core: it was built without OFED's symbols, or for another stack; "
		     "NCCL takes it for working%s%s", module,
		     needed ? "; no other route is there for " : "", needed ? needed : "");
	if (nvidia_has_ofed(site))
		finding_remedy(all, job_guest, "build NVIDIA's modules anew, now that OFED is "
			       "there ('dkms build --force nvidia/VERSION'), then 'modprobe -r "
			       "%s; modprobe nvidia-peermem'", module);
	else
		finding_remedy(all, job_guest, "'modprobe -r %s': the RDMA stack of the kernel has "
			       "no peer-memory clients; DMA-bufs of the open kernel modules, or "
			       "OFED and nvidia-peermem built after it", module);
}

/* Where it is needed, that is told of the device that needs it. */
static void say_absent(struct findings *all)
{
	finding_saw(all, "not there", "/sys/module/nvidia_peermem");
	finding_says(all, STATE_OK, "not loaded, and not needed: RDMA devices here have other "
		     "routes; NCCL up to 2.22.3 looks for this module only, and reports GPU "
		     "Direct RDMA as disabled");
}

void nvidia_say_peermem(struct findings *all, const struct site *site, const char *needed)
{
	enum peermem state = nvidia_peermem(site);

	if (state == PEERMEM_ABSENT && needed)
		return;
	finding_add(all, "nvidia-peermem", "machine");
	switch (state) {
	case PEERMEM_REGISTERED:
		say_registered(all, site);
		break;
	case PEERMEM_LOADED:
		say_loaded(all, site, needed);
		break;
	default:
		say_absent(all);
		break;
	}
}
