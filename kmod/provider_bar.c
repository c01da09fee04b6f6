// SPDX-License-Identifier: GPL-2.0-only
/*
 * Provider "bar": owned apertures. vpeer is the function's PCI driver, bound
 * by VPEER_IOCTL_ATTACH or, as with vfio-pci, through sysfs (driver_override
 * or new_id, and bind).
 */
#include <linux/cc_platform.h>
#include <linux/memory_hotplug.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/swiotlb.h>

#include "compat/compat.h"
#include "vpeer.h"

/* What probe() needs beyond the function itself, and what it answers. */
struct vpeer_bar_request {
	struct pci_dev *pdev;
	unsigned int flags;
	u8 bar;
	u32 reason;
	unsigned int index;	/* out: N of /dev/vpeerN */
	char *override;		/* the administrator's; taken over by probe() */
};

static DEFINE_MUTEX(vpeer_attach_lock);

/*
 * The attach under way. probe() may run in a worker on the function's NUMA
 * node, and for other functions at the same time, so both sides copy.
 */
static DEFINE_SPINLOCK(vpeer_request_lock);
static struct vpeer_bar_request *vpeer_request;

static void vpeer_request_set(struct vpeer_bar_request *rq)
{
	spin_lock(&vpeer_request_lock);
	vpeer_request = rq;
	spin_unlock(&vpeer_request_lock);
}

static bool vpeer_request_read(struct pci_dev *pdev,
			       struct vpeer_bar_request *rq)
{
	bool asked;

	spin_lock(&vpeer_request_lock);
	asked = vpeer_request && vpeer_request->pdev == pdev;
	if (asked)
		*rq = *vpeer_request;
	spin_unlock(&vpeer_request_lock);
	return asked;
}

static void vpeer_request_answer(const struct vpeer_bar_request *rq)
{
	spin_lock(&vpeer_request_lock);
	if (vpeer_request && vpeer_request->pdev == rq->pdev)
		*vpeer_request = *rq;
	spin_unlock(&vpeer_request_lock);
}

static const struct pci_device_id vpeer_bar_ids[] = {
	{ }
};

/* BAR indicator register values of the MSI-X table and pending bit array. */
static bool vpeer_bar_has_msix(struct pci_dev *pdev, u8 bar)
{
	u32 table, pba;

	if (!pdev->msix_cap)
		return false;
	pci_read_config_dword(pdev, pdev->msix_cap + PCI_MSIX_TABLE, &table);
	pci_read_config_dword(pdev, pdev->msix_cap + PCI_MSIX_PBA, &pba);
	return (table & PCI_MSIX_TABLE_BIR) == bar ||
	       (pba & PCI_MSIX_PBA_BIR) == bar;
}

/*
 * When no address range is left for a BAR, the kernel may forget all about
 * it. The type bits of its register remain.
 */
static bool vpeer_bar_forgotten(struct pci_dev *pdev, u8 bar)
{
	u32 type;
	u8 i;

	for (i = 0; i <= bar; i++) {
		pci_read_config_dword(pdev, PCI_BASE_ADDRESS_0 + 4 * i, &type);
		if (type & PCI_BASE_ADDRESS_SPACE_IO)
			continue;
		if (i == bar)
			return !pci_resource_flags(pdev, bar) &&
			       type & (PCI_BASE_ADDRESS_MEM_PREFETCH |
				       PCI_BASE_ADDRESS_MEM_TYPE_64);
		if (type & PCI_BASE_ADDRESS_MEM_TYPE_64)
			i++;
	}
	return false;
}

/* A prefetchable BAR without a place, or PCI_STD_NUM_BARS. */
static u8 vpeer_bar_choose_forgotten(struct pci_dev *pdev)
{
	u8 bar;

	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
		if (vpeer_bar_forgotten(pdev, bar))
			break;
	return bar;
}

/* The largest prefetchable memory BAR, or PCI_STD_NUM_BARS. */
static u8 vpeer_bar_choose(struct pci_dev *pdev)
{
	unsigned long want = IORESOURCE_MEM | IORESOURCE_PREFETCH;
	resource_size_t best_len = 0;
	u8 bar, best = 0;

	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++) {
		resource_size_t len = pci_resource_len(pdev, bar);

		if ((pci_resource_flags(pdev, bar) & want) != want ||
		    len <= best_len)
			continue;
		best = bar;
		best_len = len;
	}
	return best_len ? best : vpeer_bar_choose_forgotten(pdev);
}

static bool vpeer_bar_assigned(struct pci_dev *pdev, u8 bar)
{
	return pci_resource_start(pdev, bar) && pci_resource_len(pdev, bar) &&
	       !(pci_resource_flags(pdev, bar) & IORESOURCE_UNSET);
}

/* Is this a BAR at all, and of memory? */
static enum vpeer_reason vpeer_bar_shape(struct pci_dev *pdev, u8 bar)
{
	unsigned long flags;

	if (bar >= PCI_STD_NUM_BARS)
		return VPEER_REASON_NO_SUCH_BAR;
	if (vpeer_bar_forgotten(pdev, bar))
		return VPEER_REASON_UNASSIGNED;
	flags = pci_resource_flags(pdev, bar);
	if (!flags)
		return VPEER_REASON_NO_SUCH_BAR;
	if (flags & IORESOURCE_IO)
		return VPEER_REASON_NOT_MEMORY;
	if (!vpeer_bar_assigned(pdev, bar))
		return VPEER_REASON_UNASSIGNED;
	return VPEER_REASON_NONE;
}

/* Can it be an aperture? */
static enum vpeer_reason vpeer_bar_kind(struct pci_dev *pdev, u8 bar,
					bool force)
{
	resource_size_t start = pci_resource_start(pdev, bar);
	resource_size_t len = pci_resource_len(pdev, bar);

	if (len < PAGE_SIZE)
		return VPEER_REASON_TOO_SMALL;
	if (!force && vpeer_bar_has_msix(pdev, bar))
		return VPEER_REASON_MSIX_BAR;
	if (!force && !(pci_resource_flags(pdev, bar) & IORESOURCE_PREFETCH))
		return VPEER_REASON_NOT_PREFETCHABLE;
	if (!IS_ALIGNED(start | len, VPEER_GRANULE))
		return VPEER_REASON_NO_PAGES;
	return VPEER_REASON_NONE;
}

/* Can DMA reach it on this machine, and the kernel map it? */
static enum vpeer_reason vpeer_bar_platform(struct pci_dev *pdev, u8 bar,
					    bool force)
{
	struct range reach = mhp_get_pluggable_range(true);

	if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
		return VPEER_REASON_CONFIDENTIAL;
	if (!force && is_swiotlb_force_bounce(&pdev->dev))
		return VPEER_REASON_SWIOTLB_FORCE;
	if (pci_bus_address(pdev, bar) != pci_resource_start(pdev, bar))
		return VPEER_REASON_BUS_ADDRESS;
	if (pci_resource_end(pdev, bar) > reach.end)
		return VPEER_REASON_ADDRESS_RANGE;
	if (vpeer_quarantine_holds(pci_resource_start(pdev, bar),
				   pci_resource_len(pdev, bar)))
		return VPEER_REASON_QUARANTINED;
	return VPEER_REASON_NONE;
}

static int vpeer_bar_refuse(struct pci_dev *pdev, u8 bar, u32 *reason,
			    enum vpeer_reason why)
{
	if (bar < PCI_STD_NUM_BARS)
		pci_err(pdev, "BAR %d refused: %s\n", bar,
			vpeer_reason_text(why));
	else
		pci_err(pdev, "refused: %s\n", vpeer_reason_text(why));
	return vpeer_refuse(reason, why);
}

/* Refuse with one line in the log, or say which BAR it is. */
static int vpeer_bar_check(struct pci_dev *pdev, struct vpeer_bar_request *rq,
			   u8 *bar)
{
	bool force = rq->flags & VPEER_ATTACH_FORCE;
	enum vpeer_reason why;

	*bar = rq->bar == VPEER_BAR_AUTO ? vpeer_bar_choose(pdev) : rq->bar;
	why = vpeer_bar_shape(pdev, *bar);
	if (!why)
		why = vpeer_bar_kind(pdev, *bar, force);
	if (!why)
		why = vpeer_bar_platform(pdev, *bar, force);
	return why ? vpeer_bar_refuse(pdev, *bar, &rq->reason, why) : 0;
}

static int vpeer_bar_start(struct pci_dev *pdev, u8 bar,
			   struct vpeer_bar_request *rq)
{
	bool uncached = !(pci_resource_flags(pdev, bar) & IORESOURCE_PREFETCH);
	struct vpeer_aperture *ap;
	int ret;

	if (pci_enable_device_mem(pdev))
		return vpeer_bar_refuse(pdev, bar, &rq->reason,
					VPEER_REASON_ENABLE_FAILED);
	if (pci_request_region(pdev, bar, "vpeer")) {
		ret = vpeer_bar_refuse(pdev, bar, &rq->reason,
				       VPEER_REASON_REGION_BUSY);
		goto disable_device;
	}

	ap = vpeer_aperture_create(pdev, bar, uncached,
				   rq->flags & VPEER_ATTACH_CLEAN);
	if (IS_ERR(ap)) {
		ret = vpeer_bar_refuse(pdev, bar, &rq->reason,
				       VPEER_REASON_NO_MEMORY);
		goto release_region;
	}
	ap->override_set = rq->pdev;
	ap->override = rq->override;
	rq->override = NULL;
	rq->bar = bar;
	rq->index = vpeer_chardev_index(ap);
	pci_set_drvdata(pdev, ap);
	pci_info(pdev, "BAR %d: %llu MiB aperture %s\n", bar, ap->size >> 20,
		 dev_name(&ap->dev));
	return 0;

release_region:
	pci_release_region(pdev, bar);
disable_device:
	pci_disable_device(pdev);
	return ret;
}

static int vpeer_bar_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vpeer_bar_request rq = { .bar = VPEER_BAR_AUTO };
	bool asked = vpeer_request_read(pdev, &rq);
	u8 bar;
	int ret;

	ret = vpeer_bar_check(pdev, &rq, &bar);
	if (!ret)
		ret = vpeer_bar_start(pdev, bar, &rq);
	if (asked)
		vpeer_request_answer(&rq);
	return ret;
}

static void vpeer_bar_remove(struct pci_dev *pdev)
{
	struct vpeer_aperture *ap = pci_get_drvdata(pdev);

	vpeer_aperture_destroy(ap);
	pci_disable_device(pdev);
}

static struct pci_driver vpeer_bar_driver = {
	.name = "vpeer",
	.id_table = vpeer_bar_ids,
	.probe = vpeer_bar_probe,
	.remove = vpeer_bar_remove,
};

static int vpeer_bar_bind(struct vpeer_bar_request *rq)
{
	struct pci_dev *pdev = rq->pdev;
	int ret;

	if (!vpeer_compat_override_is(pdev, vpeer_bar_driver.name))
		rq->override = vpeer_compat_get_override(pdev);
	ret = vpeer_compat_set_override(pdev, vpeer_bar_driver.name);
	if (ret) {
		ret = vpeer_refuse(&rq->reason, VPEER_REASON_NO_MEMORY);
		goto free_override;
	}

	vpeer_request_set(rq);
	ret = device_driver_attach(&vpeer_bar_driver.driver, &pdev->dev);
	vpeer_request_set(NULL);
	if (ret)
		vpeer_compat_set_override(pdev, rq->override);
	/* A driver that came between the check and here. */
	if (ret == -EBUSY && !rq->reason)
		rq->reason = VPEER_REASON_DRIVER_BOUND;

free_override:
	kfree(rq->override);
	return ret;
}

static int vpeer_bar_attach_device(struct vpeer_bar_request *rq)
{
	struct device_driver *driver = READ_ONCE(rq->pdev->dev.driver);
	u8 bar;
	int ret;

	if (driver == &vpeer_bar_driver.driver)
		return vpeer_refuse(&rq->reason, VPEER_REASON_ALREADY_ATTACHED);
	if (driver)
		return vpeer_refuse(&rq->reason, VPEER_REASON_DRIVER_BOUND);

	vpeer_quarantine_drain();
	if (vpeer_compat_override_is(rq->pdev, VPEER_HOLD_DRIVER))
		return vpeer_bar_refuse(rq->pdev, rq->bar, &rq->reason,
					VPEER_REASON_QUARANTINED);
	/* Checked here too, so that a refusal leaves no trace on the device. */
	ret = vpeer_bar_check(rq->pdev, rq, &bar);
	return ret ? ret : vpeer_bar_bind(rq);
}

/**
 * vpeer_bar_attach - make vpeer the driver of a function
 * @arg: checked for flags and permission by the caller
 */
int vpeer_bar_attach(struct vpeer_attach *arg)
{
	struct vpeer_bar_request rq = {
		.flags = arg->flags,
		.bar = arg->bar,
	};
	int ret;

	if (arg->bar != VPEER_BAR_AUTO && arg->bar >= PCI_STD_NUM_BARS)
		return vpeer_refuse(&arg->reason, VPEER_REASON_NO_SUCH_BAR);

	rq.pdev = pci_get_domain_bus_and_slot(arg->domain, arg->bus, arg->devfn);
	if (!rq.pdev)
		return vpeer_refuse(&arg->reason, VPEER_REASON_NO_DEVICE);

	mutex_lock(&vpeer_attach_lock);
	ret = vpeer_bar_attach_device(&rq);
	mutex_unlock(&vpeer_attach_lock);
	pci_dev_put(rq.pdev);

	arg->reason = rq.reason;
	if (!ret) {
		arg->bar = rq.bar;
		arg->index = rq.index;
	}
	return ret;
}

/* Is the function ours, and what driver_override does attach owe it? */
static bool vpeer_bar_owned(struct pci_dev *pdev, bool *override_set,
			    char **override)
{
	struct vpeer_aperture *ap;
	bool owned;

	device_lock(&pdev->dev);
	owned = pdev->dev.driver == &vpeer_bar_driver.driver;
	if (owned) {
		ap = pci_get_drvdata(pdev);
		*override_set = ap->override_set;
		*override = kstrdup(ap->override, GFP_KERNEL);
	}
	device_unlock(&pdev->dev);
	return owned;
}

/* Leaves the function as attach found it; false if it is not ours. */
static bool vpeer_bar_give_up(struct pci_dev *pdev)
{
	bool override_set;
	char *override;

	if (!vpeer_bar_owned(pdev, &override_set, &override))
		return false;
	device_release_driver(&pdev->dev);
	if (override_set)
		vpeer_compat_set_override(pdev, override);
	kfree(override);
	return true;
}

static int vpeer_bar_detach_device(struct pci_dev *pdev,
				   struct vpeer_detach *arg)
{
	if (!vpeer_bar_give_up(pdev))
		return vpeer_refuse(&arg->reason, VPEER_REASON_NOT_ATTACHED);
	/* Set through sysfs, or left there by an unbind through sysfs. */
	if (vpeer_compat_override_is(pdev, vpeer_bar_driver.name))
		vpeer_compat_set_override(pdev, NULL);

	arg->pinned_bytes = vpeer_quarantine_pinned(pdev);
	return arg->pinned_bytes ?
	       vpeer_refuse(&arg->reason, VPEER_REASON_PINNED) : 0;
}

/**
 * vpeer_bar_detach - give a function up
 * @arg: checked for flags and permission by the caller
 */
int vpeer_bar_detach(struct vpeer_detach *arg)
{
	struct pci_dev *pdev;
	int ret;

	pdev = pci_get_domain_bus_and_slot(arg->domain, arg->bus, arg->devfn);
	if (!pdev)
		return vpeer_refuse(&arg->reason, VPEER_REASON_NO_DEVICE);

	mutex_lock(&vpeer_attach_lock);
	ret = vpeer_bar_detach_device(pdev, arg);
	mutex_unlock(&vpeer_attach_lock);
	pci_dev_put(pdev);
	return ret;
}

int vpeer_bar_init(void)
{
	return pci_register_driver(&vpeer_bar_driver);
}

void vpeer_bar_exit(void)
{
	struct pci_dev *pdev = NULL;

	for_each_pci_dev(pdev)
		vpeer_bar_give_up(pdev);
	pci_unregister_driver(&vpeer_bar_driver);
}
