// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Address translation services: without them peer requests of a function that is given to a
 * guest go up to the host's IOMMU instead of turning at a switch. VFIO shows the capability as
 * the function has it, and lets the guest write nothing of it.
 */
#include <errno.h>
#include <string.h>

#include "../util.h"
#include "device.h"

#define VENDOR_MELLANOX	"0x15b3"

/*
 * Where it can be judged. Clouds show what they like and let nobody near the host; on Arm, CPUs
 * say nothing of a hypervisor, and NICs reach GPUs by the SMMU or a data-direct function.
 */
static bool is_judged(const struct site *site)
{
	return machine_shows_functions(site) && site->hypervisor_err != -EOPNOTSUPP;
}

static bool lacks(const struct site *site, const struct function *function)
{
	const struct ats *ats = &function->ats;

	return device_is_rdma(site, function) &&
	       (ats->presence == ABSENT || (ats->presence == PRESENT && !ats->enable));
}

bool all_lack_ats(const struct site *site)
{
	size_t count = device_count(site, lacks);

	return is_judged(site) && count > 1 && count == device_count(site, device_is_rdma);
}

void remedy_ats(struct findings *all, const struct site *site, const struct function *function)
{
	(void)site;
	if (function->ats.presence == PRESENT)
		finding_remedy(all, job_host, "on the host: boot without pci=noats, with ATS of "
			       "the IOMMU on in the firmware setup and intel_iommu=on or AMD-Vi "
			       "on; 'vpeer host check' there tells what is missing");
	else if (!strcmp(function->vendor, VENDOR_MELLANOX))
		finding_remedy(all, job_host, "on the host: 'mlxconfig -d DEVICE set "
			       "ATS_ENABLED=true', then restart the host: rebooting the VM alone "
			       "does not suffice");
	else
		finding_remedy(all, job_device, "switch ATS on in the firmware of the device, if "
			       "its vendor offers that, and restart the host");
}

static void show(const struct ats *ats, char *text, size_t size)
{
	if (ats->presence == PRESENT)
		text_format(text, size, "ATSCtl Enable%c, STU %02x", ats->enable ? '+' : '-',
			    ats->stu);
	else
		text_format(text, size, "%s", ats->presence == ABSENT ? "no ATS" : "not read");
}

static void judge(struct findings *all, const struct site *site, const struct function *function)
{
	const struct ats *ats = &function->ats;

	if (ats->presence == NOT_READ) {
		finding_says(all, STATE_UNKNOWN, "%s", config_missing(&function->config));
		finding_remedy(all, job_vm, "a machine with PCI Express (QEMU: -M q35)");
		if (function->config.length < CONFIG_PLAIN)
			finding_remedy(all, job_guest, "run as root");
	} else if (ats->presence == PRESENT && ats->enable) {
		finding_says(all, STATE_OK, "ATS is on; whether bridges let translated requests "
			     "pass is not measured, see vpeer-selftest(1)");
	} else {
		finding_says(all, STATE_WARN, ats->presence == ABSENT ?
			     "it has no ATS capability: its peer requests go by the root complex" :
			     "it has ATS, which is off: its peer requests go by the root complex");
		remedy_ats(all, site, function);
	}
}

static void one(struct findings *all, const struct site *site, const struct function *function)
{
	char text[64];

	if (device_is_memory(site, function) || !device_is_rdma(site, function))
		return;
	show(&function->ats, text, sizeof(text));
	device_begin(all, function, "ats", "config", text);
	if (is_judged(site))
		judge(all, site, function);
	else if (machine_is_guest(site))
		finding_says(all, STATE_OK, "what a guest sees of it here is not the device's: not "
			     "measured, see vpeer-selftest(1)");
	else
		finding_says(all, STATE_OK, "not judged: a function that is given to no guest "
			     "needs none to reach peers");
}

/* Where all lack it, the host's check tells that once. */
void check_ats(struct findings *all, const struct site *site)
{
	if (!all_lack_ats(site))
		device_each(all, site, site_is_initiator, one);
}
