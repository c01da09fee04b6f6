// SPDX-License-Identifier: GPL-2.0-only
/*
 * Path report: what the guest sees of the way between an aperture and an
 * initiator, and why the initiator cannot be given the aperture. Nothing is
 * written.
 *
 * The aperture's function and its driver stay while the aperture's lock is held
 * and it is not gone; the initiator's while its device's lock is held. Neither
 * is held inside the other. Registers are read under them, too: a host bridge
 * that is another driver's may be gone once all functions below are. What is in
 * memory of the bridges stays as long as a function is referenced that is on no
 * bus of VFs.
 */
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/string.h>
#include <linux/swiotlb.h>
#include <asm/cpufeature.h>
#include <asm/hypervisor.h>
#include <asm/processor.h>

#include "vpeer.h"

#define VPEER_HYPERVISOR_LEAF	0x40000000

/* Both ends' functions without their VFs, referenced. */
struct vpeer_path_ends {
	struct pci_dev *aperture;
	struct pci_dev *initiator;
};

static bool vpeer_path_asks_well(const struct vpeer_path_report *arg)
{
	return !arg->flags && !arg->reserved[0] && !arg->reserved[1] &&
	       !arg->reserved2[0] && !arg->reserved2[1] && !arg->reserved3 &&
	       !memchr_inv(arg->reserved4, 0, sizeof(arg->reserved4)) &&
	       !memchr_inv(arg->aperture.reserved, 0,
			   sizeof(arg->aperture.reserved)) &&
	       !memchr_inv(arg->initiator.reserved, 0,
			   sizeof(arg->initiator.reserved));
}

/* All that the caller need not have cleared. */
static void vpeer_path_clear(struct vpeer_path_report *arg)
{
	u8 bus = arg->bus, devfn = arg->devfn;
	u32 argsz = arg->argsz, domain = arg->domain;

	memset(arg, 0, sizeof(*arg));
	arg->argsz = argsz;
	arg->domain = domain;
	arg->bus = bus;
	arg->devfn = devfn;
}

/* What keeps every initiator from being given the aperture, if anything does. */
static int vpeer_path_aperture(struct vpeer_aperture *ap,
			       struct vpeer_path_report *arg,
			       struct vpeer_path_ends *ends, u32 *why)
{
	int ret = 0;

	down_read(&ap->lock);
	if (ap->gone) {
		ret = vpeer_refuse(&arg->reason, VPEER_REASON_GONE);
		goto unlock;
	}
	vpeer_aperture_usable(ap, why);
	arg->bar = ap->bar;
	arg->address = ap->base;
	arg->bus_address = pci_bus_address(ap->pdev, ap->bar) + ap->bar_offset;
	arg->size = ap->size;
	arg->bar_offset = ap->bar_offset;
	ends->aperture = vpeer_path_whole(ap->pdev);
	vpeer_path_driver(ap->pdev, &arg->aperture);
	vpeer_path_registers(ap->pdev, ends->aperture, &arg->aperture);
unlock:
	up_read(&ap->lock);
	return ret;
}

/* As who reads registers through sysfs: those of a function in D3cold are ones. */
static void vpeer_path_wake(struct pci_dev *pdev)
{
	if (pdev->dev.parent)
		pm_runtime_get_sync(pdev->dev.parent);
	pm_runtime_get_noresume(&pdev->dev);
	pm_runtime_barrier(&pdev->dev);
	if (pdev->current_state == PCI_D3cold)
		pm_runtime_resume(&pdev->dev);
}

static void vpeer_path_let_sleep(struct pci_dev *pdev)
{
	pm_runtime_put(&pdev->dev);
	if (pdev->dev.parent)
		pm_runtime_put_sync(pdev->dev.parent);
}

/*
 * Is the function on its bus, and does it answer? As long as its lock is held,
 * which who removes it takes after it is off the bus, PF and bridges stay.
 */
static bool vpeer_path_is_there(struct pci_dev *pdev,
				const struct vpeer_path_report *arg)
{
	struct pci_dev *found = pci_get_domain_bus_and_slot(arg->domain,
							    arg->bus, arg->devfn);

	pci_dev_put(found);
	return found == pdev;
}

static void vpeer_path_facts(struct pci_dev *pdev,
			     struct vpeer_path_report *arg)
{
	u64 last = arg->bus_address + arg->size - 1;

	if (vpeer_path_keeps_domain(pdev) && vpeer_translates(&pdev->dev))
		arg->facts |= VPEER_PATH_TRANSLATED;
	if (last <= vpeer_dma_reach(&pdev->dev))
		arg->facts |= VPEER_PATH_REACHES;
	if (is_swiotlb_force_bounce(&pdev->dev))
		arg->facts |= VPEER_PATH_BOUNCED;
}

/* Why the initiator cannot be given the aperture, in whatever way. */
static u32 vpeer_path_refusal(struct pci_dev *pdev,
			      const struct vpeer_path_report *arg)
{
	if (!vpeer_path_keeps_domain(pdev) || vpeer_bar_owns(pdev))
		return VPEER_REASON_NO_DMA_DRIVER;
	return vpeer_reach_check(&pdev->dev, arg->address + arg->size - 1);
}

static int vpeer_path_initiator_locked(struct pci_dev *pdev,
				       struct vpeer_path_report *arg,
				       struct vpeer_path_ends *ends, u32 *why)
{
	if (!vpeer_path_is_there(pdev, arg))
		return vpeer_refuse(&arg->reason, VPEER_REASON_NO_DEVICE);
	vpeer_path_wake(pdev);
	if (!pci_device_is_present(pdev)) {
		vpeer_path_let_sleep(pdev);
		return vpeer_refuse(&arg->reason, VPEER_REASON_NO_DEVICE);
	}
	ends->initiator = vpeer_path_whole(pdev);
	vpeer_path_driver(pdev, &arg->initiator);
	vpeer_path_registers(pdev, ends->initiator, &arg->initiator);
	vpeer_path_let_sleep(pdev);
	vpeer_path_facts(pdev, arg);
	if (!*why)
		*why = vpeer_path_refusal(pdev, arg);
	return 0;
}

static int vpeer_path_initiator(struct vpeer_path_report *arg,
				struct vpeer_path_ends *ends, u32 *why)
{
	struct pci_dev *pdev = pci_get_domain_bus_and_slot(arg->domain, arg->bus,
							   arg->devfn);
	int ret;

	if (!pdev)
		return vpeer_refuse(&arg->reason, VPEER_REASON_NO_DEVICE);
	/* A driver that comes or goes may hold it as long as it likes. */
	if (device_lock_interruptible(&pdev->dev)) {
		vpeer_refuse(&arg->reason, VPEER_REASON_INTERRUPTED);
		ret = -ERESTARTSYS;
		goto put_function;
	}
	ret = vpeer_path_initiator_locked(pdev, arg, ends, why);
	device_unlock(&pdev->dev);
put_function:
	pci_dev_put(pdev);
	return ret;
}

/* Bridges below @bridge on the way to @whole; -1 if it is not above. */
static int vpeer_path_below(struct pci_dev *whole, const struct pci_dev *bridge)
{
	int below = 0;

	while ((whole = vpeer_path_above(whole))) {
		if (whole == bridge)
			return below;
		below++;
	}
	return -1;
}

static const struct pci_bus *vpeer_path_root(struct pci_dev *pdev)
{
	struct pci_dev *bridge;

	while ((bridge = vpeer_path_above(pdev)))
		pdev = bridge;
	return pdev->bus;
}

static void vpeer_path_way(const struct vpeer_path_ends *ends,
			   struct vpeer_path_report *arg)
{
	struct pci_dev *bridge = ends->aperture;
	int to_aperture = 0, to_initiator;

	if (vpeer_path_root(ends->aperture) == vpeer_path_root(ends->initiator))
		arg->facts |= VPEER_PATH_SAME_ROOT;
	for (; (bridge = vpeer_path_above(bridge)); to_aperture++) {
		to_initiator = vpeer_path_below(ends->initiator, bridge);
		if (to_initiator < 0)
			continue;
		arg->facts |= VPEER_PATH_COMMON;
		arg->common_domain = arg->aperture.domain;
		arg->common_bus = bridge->bus->number;
		arg->common_devfn = bridge->devfn;
		arg->distance = to_aperture + to_initiator + 1;
		return;
	}
	arg->distance = arg->aperture.bridge_count + arg->initiator.bridge_count;
}

static void vpeer_path_hypervisor(struct vpeer_path_report *arg)
{
	static const struct {
		enum x86_hypervisor_type type;
		u32 kind;
	} kinds[] = {
		{ X86_HYPER_KVM, VPEER_HYPERVISOR_KVM },
		{ X86_HYPER_MS_HYPERV, VPEER_HYPERVISOR_HYPERV },
		{ X86_HYPER_VMWARE, VPEER_HYPERVISOR_VMWARE },
		{ X86_HYPER_XEN_PV, VPEER_HYPERVISOR_XEN },
		{ X86_HYPER_XEN_HVM, VPEER_HYPERVISOR_XEN },
		{ X86_HYPER_JAILHOUSE, VPEER_HYPERVISOR_JAILHOUSE },
		{ X86_HYPER_ACRN, VPEER_HYPERVISOR_ACRN },
	};
	u32 leaf, words[3];
	size_t i;

	if (!boot_cpu_has(X86_FEATURE_HYPERVISOR))
		return;
	arg->facts |= VPEER_PATH_HYPERVISOR;
	cpuid(VPEER_HYPERVISOR_LEAF, &leaf, &words[0], &words[1], &words[2]);
	memcpy(arg->signature, words, sizeof(words));
	if (!strcmp(arg->signature, "TCGTCGTCGTCG"))
		arg->hypervisor = VPEER_HYPERVISOR_QEMU;
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (hypervisor_is_type(kinds[i].type))
			arg->hypervisor = kinds[i].kind;
}

int vpeer_ioctl_path_report(void *context, void *data)
{
	struct vpeer_file *file = context;
	struct vpeer_path_report *arg = data;
	struct vpeer_path_ends ends = { };
	u32 why = VPEER_REASON_NONE;
	int ret;

	if (!vpeer_path_asks_well(arg))
		return vpeer_refuse(&arg->reason, VPEER_REASON_BAD_ARGUMENT);
	vpeer_path_clear(arg);
	ret = vpeer_path_aperture(file->ap, arg, &ends, &why);
	if (!ret)
		ret = vpeer_path_initiator(arg, &ends, &why);
	if (!ret) {
		vpeer_path_way(&ends, arg);
		vpeer_path_hypervisor(arg);
		arg->dmabuf_reason = why;
		arg->pages_reason = why;
	}
	pci_dev_put(ends.aperture);
	pci_dev_put(ends.initiator);
	return ret;
}
