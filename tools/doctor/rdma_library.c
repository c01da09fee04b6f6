// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What programs need of an RDMA device: libibverbs, its provider, and verbs. */
#include <errno.h>
#include <string.h>

#include "../util.h"
#include "driver.h"
#include "rdma.h"

/* By driver of the PCI function. */
static const struct {
	const char *driver, *provider;
} providers[] = {
	{ "mlx5_core", "mlx5" }, { "mlx4_core", "mlx4" }, { "efa", "efa" },
	{ "ice", "irdma" },	 { "i40e", "irdma" },	  { "idpf", "irdma" },
	{ "iavf", "irdma" },	 { "bnxt_en", "bnxt_re" }, { "mana", "mana" },
	{ "ionic", "ionic" },	 { "erdma", "erdma" },	  { "hns3", "hns" },
	{ "qede", "qedr" },	 { "cxgb4", "cxgb4" },	  { "rxe", "rxe" },
	{ "siw", "siw" },
};

static const char *provider_of(const struct rdma_device *device)
{
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (!strcmp(providers[i].driver, device->driver))
			return providers[i].provider;
	return NULL;
}

/* Directory of the library, such as usr/lib/x86_64-linux-gnu; false for none. */
static bool find_library(const struct site *site, char *directory, size_t size)
{
	static const char *const plain[] = { "usr/lib64", "usr/lib", "usr/local/lib" };
	bool found = false;
	char **names;
	size_t count;

	for (size_t i = 0; !found && i < ARRAY_SIZE(plain); i++) {
		text_format(directory, size, "%s", plain[i]);
		found = site_has(site, "%s/libibverbs.so.1", directory);
	}
	count = found ? 0 : site_names(site, &names, "usr/lib");
	for (size_t i = 0; !found && i < count; i++) {
		text_format(directory, size, "usr/lib/%s", names[i]);
		found = strchr(names[i], '-') && site_has(site, "%s/libibverbs.so.1", directory);
	}
	if (count)
		site_names_free(names, count);
	return found;
}

static bool has_provider(const struct site *site, const char *directory, const char *provider)
{
	char prefix[64], **names;
	size_t count = site_names(site, &names, "%s/libibverbs", directory);
	bool found = false;

	text_format(prefix, sizeof(prefix), "lib%s-rdmav", provider);
	for (size_t i = 0; i < count; i++)
		found |= !strncmp(names[i], prefix, strlen(prefix));
	site_names_free(names, count);
	return found && site_has(site, "etc/libibverbs.d/%s.driver", provider);
}

/* The provider of a device that is not there; NULL when none is missing. */
static const char *missing_provider(const struct site *site, const char *directory,
				    const struct rdma_device **device)
{
	for (size_t i = 0; i < site->rdma_count; i++) {
		const char *provider = provider_of(&site->rdma[i]);

		*device = &site->rdma[i];
		if (provider && !has_provider(site, directory, provider))
			return provider;
	}
	return NULL;
}

void check_rdma_library(struct findings *all, const struct site *site)
{
	const struct rdma_device *device = NULL;
	char directory[PATH_MAX];
	const char *provider;

	if (!site->rdma_count)
		return;
	finding_add(all, "rdma-library", "machine");
	if (!find_library(site, directory, sizeof(directory))) {
		finding_saw(all, "no libibverbs.so.1", "/usr/lib*");
		finding_says(all, STATE_WARN, "the RDMA library of user space is not where systems "
			     "keep it");
		finding_remedy(all, job_guest, "install rdma-core (Debian: libibverbs1, "
			       "ibverbs-providers), in the container's image, too");
		return;
	}
	finding_saw(all, "there", "/%s/libibverbs.so.1", directory);
	finding_says(all, STATE_OK, "libibverbs and what it needs of each device are there");
	provider = missing_provider(site, directory, &device);
	if (!provider)
		return;
	finding_saw(all, "not both there",
		    "/etc/libibverbs.d/%s.driver, /%s/libibverbs/lib%s-rdmav*", provider,
		    directory, provider);
	finding_says(all, STATE_WARN, "libibverbs has no provider %s: programs do not see %s",
		     provider, device->object);
	finding_remedy(all, job_guest, "install it (Debian: ibverbs-providers; others: rdma-core), "
		       "in the container's image, too");
}

static void judge_verbs(struct findings *all, const struct site *site,
			const struct rdma_device *device)
{
	bool loaded = site_has(site, "sys/module/ib_uverbs");

	finding_add(all, "rdma-verbs", device->object);
	if (device->uverbs[0]) {
		site_saw(all, site, "sys/class/infiniband_verbs/%s/ibdev", device->uverbs);
		if (device->kind != RDMA_SOFT &&
		    site_has(site, "sys/class/infiniband/%s/fw_ver", device->name))
			site_saw(all, site, "sys/class/infiniband/%s/fw_ver", device->name);
		if (site_has(site, "sys/class/infiniband/%s/board_id", device->name))
			site_saw(all, site, "sys/class/infiniband/%s/board_id", device->name);
		finding_says(all, STATE_OK, "programs reach it as %s", device->uverbs);
		return;
	}
	finding_saw(all, loaded ? "none of it" : "not there", "/sys/class/infiniband_verbs");
	finding_says(all, STATE_FAIL, "no program can use it: %s",
		     loaded ? "ib_uverbs made no device of it" : "ib_uverbs is not loaded");
	finding_remedy(all, job_guest, "'modprobe ib_uverbs', also at boot");
}

void check_rdma_verbs(struct findings *all, const struct site *site)
{
	for (size_t i = 0; i < site->rdma_count; i++)
		judge_verbs(all, site, &site->rdma[i]);
}

static bool has_hardware(const struct site *site)
{
	for (size_t i = 0; i < site->rdma_count; i++)
		if (site->rdma[i].kind != RDMA_SOFT)
			return true;
	return false;
}

static bool has_gpu(const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++)
		if (site_is_memory(site, &site->functions[i]))
			return true;
	return false;
}

void check_soft_rdma(struct findings *all, const struct site *site)
{
	for (size_t i = 0; i < site->rdma_count; i++) {
		const struct rdma_device *device = &site->rdma[i];

		if (device->kind != RDMA_SOFT)
			continue;
		finding_add(all, "soft-rdma", device->object);
		finding_saw(all, device->netdev[0] ? device->netdev : "not there",
			    "/sys/class/infiniband/%s/parent", device->name);
		finding_says(all, STATE_OK, "%s: the CPU copies, nothing is peer DMA; it takes "
			     "GPU memory only as pages of vpeer.ko", device->driver);
		if (has_hardware(site) || !has_gpu(site))
			continue;
		finding_says(all, STATE_WARN, "%s is the only kind of RDMA here: the CPU copies, "
			     "nothing is peer DMA", device->driver);
		finding_remedy(all, job_vm, "give the guest a VF of an RDMA NIC; for tests, soft "
			       "RDMA takes GPU memory as pages of vpeer.ko");
	}
}
