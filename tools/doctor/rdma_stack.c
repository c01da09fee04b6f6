// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whose RDMA modules are loaded, the kernel's own or OFED's, and whether all of them are. */
#include <errno.h>
#include <string.h>

#include "../util.h"
#include "driver.h"
#include "rdma.h"

/* OFED's modules hang on this one of its own. */
#define OFED_BASE	"sys/module/mlx_compat"

static bool is_ofed(const struct site *site, const char *module)
{
	return site_has(site, OFED_BASE "/holders/%s", module);
}

/* A module of the other stack than ib_core's; NULL for none. */
static const char *odd_one(const struct site *site)
{
	static const char *const modules[] = { "mlx5_core", "mlx5_ib", "ib_uverbs", "rdma_cm" };
	bool ofed = is_ofed(site, "ib_core");

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		if (site_has(site, "sys/module/%s/holders", modules[i]) &&
		    is_ofed(site, modules[i]) != ofed)
			return modules[i];
	return NULL;
}

static void say_mixed(struct findings *all, const struct site *site, const char *module)
{
	bool ofed = is_ofed(site, "ib_core");

	finding_saw(all, ofed ? "ib_core" : module, "/" OFED_BASE "/holders");
	finding_says(all, STATE_FAIL, "modules of two RDMA stacks: ib_core is %s, %s is %s",
		     ofed ? "OFED's" : "the kernel's own", module,
		     ofed ? "the kernel's own" : "OFED's");
	finding_remedy(all, job_guest, "make the initramfs anew ('update-initramfs -u', 'dracut "
		       "-f') after OFED was installed or removed, and reboot");
}

/*
 * The version that is loaded is not the one that modprobe would load: mlx5_core of the kernel
 * comes from the initramfs, say, and OFED's others do not fit it.
 */
static bool say_stale(struct findings *all, const struct site *site, const char *version)
{
	const struct site_place *place = site->place;
	struct site_module file;

	if (place->calls->module_file(place->data, "mlx5_core", &file) ||
	    !strcmp(file.version, version))
		return false;
	finding_saw(all, file.version, "%s",
		    file.path[0] ? file.path : "the file of module mlx5_core");
	finding_says(all, STATE_WARN, "loaded is mlx5_core %s, installed is %s: other modules of "
		     "the installed stack do not fit the one that is loaded",
		     version[0] ? version : "of the kernel itself",
		     file.version[0] ? file.version : "the kernel's own");
	finding_remedy(all, job_guest, "make the initramfs anew ('update-initramfs -u', 'dracut "
		       "-f') and reboot");
	return true;
}

static void say_one_stack(struct findings *all, const struct site *site, const char *version)
{
	bool ofed = is_ofed(site, "ib_core");

	if (ofed)
		finding_says(all, STATE_OK, "OFED %s", version);
	else
		finding_says(all, STATE_OK, "the RDMA stack of the kernel, %s", site->release);
	if (ofed || !site_has(site, "usr/src/ofa_kernel"))
		return;
	finding_saw(all, "there", "/usr/src/ofa_kernel");
	finding_says(all, STATE_WARN, "OFED is installed, but the RDMA stack of the kernel is "
		     "loaded: OFED's modules were not built for %s", site->release);
	finding_remedy(all, job_guest, "'dkms autoinstall', or remove OFED, and reboot");
}

void check_rdma_stack(struct findings *all, const struct site *site)
{
	char version[64];
	const char *odd;

	if (!site_has(site, "sys/module/ib_core") && !site->rdma_count)
		return;
	finding_add(all, "rdma-stack", "machine");
	if (site_text(site, version, sizeof(version), "sys/module/mlx5_core/version"))
		version[0] = '\0';
	site_saw(all, site, "proc/sys/kernel/osrelease");
	if (version[0])
		site_saw(all, site, "sys/module/mlx5_core/version");
	odd = odd_one(site);
	if (odd)
		say_mixed(all, site, odd);
	else if (!site_has(site, "sys/module/mlx5_core") || !say_stale(all, site, version))
		say_one_stack(all, site, version);
}

static bool has_rdma(const struct site *site, const struct function *function)
{
	for (size_t i = 0; i < site->rdma_count; i++)
		if (site->rdma[i].function == function)
			return true;
	return false;
}

/* A function whose driver makes an RDMA device, and has none. */
static void judge_missing(struct findings *all, const struct site *site,
			  const struct function *function)
{
	bool efa = !strcmp(function->driver, "efa");
	enum state state = site->rdma_count ? STATE_WARN : STATE_FAIL;

	finding_add(all, "rdma-device", function->pci);
	finding_saw(all, function->driver, "/sys/bus/pci/devices/%s/driver", function->pci);
	if (site_has(site, "sys/bus/pci/devices/%s/infiniband", function->pci)) {
		finding_saw(all, "not here", "/sys/class/infiniband");
		finding_says(all, state, "its RDMA device is in another network namespace");
		finding_remedy(all, job_container, "give it to the container ('rdma dev set NAME "
			       "netns PID'), or 'rdma system set netns shared'");
		return;
	}
	finding_saw(all, "not there", "/sys/bus/pci/devices/%s/infiniband", function->pci);
	finding_says(all, state, "driver %s has it, and made no RDMA device", function->driver);
	finding_remedy(all, job_guest, "%s; 'dmesg' says why it does not load%s",
		       efa ? "'modprobe efa'" : "'modprobe mlx5_ib'",
		       efa ? "" : "; 'devlink dev param show' tells whether RDMA is off "
				  "(enable_rdma, enable_roce)");
}

void check_rdma_missing(struct findings *all, const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if ((!strcmp(function->driver, "mlx5_core") || !strcmp(function->driver, "efa")) &&
		    !has_rdma(site, function))
			judge_missing(all, site, function);
	}
}
