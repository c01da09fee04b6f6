// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What decides on peer DMA in a guest, and no guest sees. These say so, since silence would
 * read as "it is well".
 */
#include "../util.h"
#include "device.h"
#include "host.h"

static const char *seen(const struct site *site)
{
	return site->hypervisor_err ? "a guest, by the firmware's tables" : site->hypervisor;
}

static bool applies(const struct site *site)
{
	return machine_is_guest(site) && device_count(site, device_is_memory) &&
	       device_count(site, site_is_initiator);
}

void check_host_acs(struct findings *all, const struct site *site)
{
	if (!applies(site))
		return;
	finding_add(all, "host-acs", "machine");
	finding_saw(all, seen(site), "CPUID leaf 0x40000000, /sys/class/dmi/id");
	finding_says(all, STATE_OK, "not visible from a guest, so not measured: the ACS bits of "
		     "physical bridges, which decide whether peer requests turn at a switch. "
		     "'vpeer host check' on the host reads them (DirectTrans above NICs: "
		     "ECAP_ACS+6.w=005d), vpeer-selftest(1) and vpeer-bench(1) measure what comes "
		     "of them");
}

void check_host_bar_mapping(struct findings *all, const struct site *site)
{
	if (!applies(site))
		return;
	finding_add(all, "host-bar-mapping", "machine");
	finding_saw(all, seen(site), "CPUID leaf 0x40000000, /sys/class/dmi/id");
	switch (site->vmm) {
	case VMM_KVM:
		finding_says(all, STATE_OK, "not visible from a guest, so not measured: whether "
			     "the VMM maps BARs for peers. VFIO by iommufd does not before Linux "
			     "6.19 (QEMU warns that 'PCI peer-to-peer transactions on BARs are not "
			     "supported'); 'vpeer host check' on the host tells, vpeer-selftest(1) "
			     "measures");
		break;
	case VMM_VMWARE:
		finding_says(all, STATE_OK, "not visible from a guest, so not measured: whether "
			     "the VM has pciPassthru.allowP2P=TRUE and "
			     "pciPassthru.RelaxACSforP2P=TRUE, and GPU and NIC are below one root "
			     "complex; vpeer-selftest(1) measures");
		break;
	default:
		finding_says(all, STATE_OK, "not visible from a guest, so not measured: whether "
			     "the hypervisor maps BARs for peers; vpeer-selftest(1) measures");
	}
}
