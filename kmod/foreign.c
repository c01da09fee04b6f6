// SPDX-License-Identifier: GPL-2.0-only
/*
 * Foreign apertures: a range of a BAR whose own driver stays bound. Root
 * asserts that the driver does not use the range; nothing outside it is
 * touched. The range is reclaimed when that driver is unbound.
 */
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>

#include "vpeer.h"

static enum vpeer_reason vpeer_range_check(struct pci_dev *pdev, u8 bar,
					   u64 offset, u64 size)
{
	u64 len = pci_resource_len(pdev, bar);
	resource_size_t start = pci_resource_start(pdev, bar) + offset;

	if (!size)
		return VPEER_REASON_BAD_ARGUMENT;
	if (!IS_ALIGNED(offset | size, VPEER_GRANULE))
		return VPEER_REASON_BAD_ALIGNMENT;
	if (offset >= len || size > len - offset)
		return VPEER_REASON_BEYOND_END;
	if (vpeer_registry_overlaps(start, size))
		return VPEER_REASON_RANGE_SHARED;
	if (vpeer_pages_exist(start, size))
		return VPEER_REASON_PAGES_EXIST;
	return VPEER_REASON_NONE;
}

/*
 * The driver may have the function sleep while it is idle; each aperture keeps
 * it awake. -EACCES: there is no runtime power management.
 */
static bool vpeer_foreign_wake(struct pci_dev *pdev)
{
	int ret = pm_runtime_get_sync(&pdev->dev);

	if (ret >= 0 || ret == -EACCES)
		return true;
	pci_err(pdev, "vpeer: function cannot be woken: error %d\n", ret);
	pm_runtime_put_noidle(&pdev->dev);
	return false;
}

static bool vpeer_decodes_memory(struct pci_dev *pdev)
{
	u16 command;

	pci_read_config_word(pdev, PCI_COMMAND, &command);
	return command & PCI_COMMAND_MEMORY;
}

static int vpeer_foreign_create(struct pci_dev *pdev, struct vpeer_attach *arg)
{
	struct vpeer_aperture_spec spec = {
		.pdev = pdev,
		.bar = arg->bar,
		.offset = arg->range_offset,
		.size = arg->range_size,
		.foreign = true,
		.clean = arg->flags & VPEER_ATTACH_CLEAN,
	};
	struct vpeer_aperture *ap;
	enum vpeer_reason why;

	why = vpeer_range_check(pdev, spec.bar, spec.offset, spec.size);
	if (why)
		goto refuse;
	why = VPEER_REASON_ENABLE_FAILED;
	if (!vpeer_foreign_wake(pdev))
		goto refuse;
	if (vpeer_decodes_memory(pdev))
		why = vpeer_aperture_create(&spec, &ap);
	if (why)
		goto let_sleep;

	arg->index = vpeer_chardev_index(ap);
	pci_info(pdev, "BAR %d: %llu MiB at %#llx shared as aperture %s\n",
		 spec.bar, ap->size >> 20, ap->bar_offset, dev_name(&ap->dev));
	return 0;

let_sleep:
	pm_runtime_put(&pdev->dev);
refuse:
	return vpeer_bar_refuse(pdev, spec.bar, &arg->reason, why);
}

/**
 * vpeer_foreign_attach - make an aperture of a range beside the driver
 * @pdev: function
 * @arg: checked for flags and permission by the caller
 */
int vpeer_foreign_attach(struct pci_dev *pdev, struct vpeer_attach *arg)
{
	int ret;

	/* The driver neither goes nor comes meanwhile. */
	device_lock(&pdev->dev);
	if (!pdev->dev.driver) {
		ret = vpeer_refuse(&arg->reason, VPEER_REASON_NO_DRIVER);
		goto unlock;
	}
	if (vpeer_bar_owns(pdev)) {
		ret = vpeer_refuse(&arg->reason, VPEER_REASON_ALREADY_ATTACHED);
		goto unlock;
	}
	ret = vpeer_bar_check(pdev, &arg->bar, arg->flags & VPEER_ATTACH_FORCE,
			      &arg->reason);
	if (!ret)
		ret = vpeer_foreign_create(pdev, arg);
unlock:
	device_unlock(&pdev->dev);
	return ret;
}

/* The device's lock is held, so that its driver stays until all is revoked. */
static bool vpeer_foreign_revoke(struct pci_dev *pdev)
{
	struct vpeer_aperture *ap;
	bool any = false;

	while ((ap = vpeer_registry_take_foreign(pdev))) {
		vpeer_aperture_destroy(ap);
		pm_runtime_put(&pdev->dev);
		any = true;
	}
	return any;
}

/* Ends the function's foreign apertures; false if it has none. */
bool vpeer_foreign_detach(struct pci_dev *pdev)
{
	bool any;

	device_lock(&pdev->dev);
	any = vpeer_foreign_revoke(pdev);
	device_unlock(&pdev->dev);
	return any;
}

static int vpeer_foreign_notify(struct notifier_block *nb,
				unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	switch (action) {
	case BUS_NOTIFY_UNBIND_DRIVER:
		if (vpeer_foreign_revoke(pdev))
			pci_info(pdev, "vpeer: shared ranges revoked, since the driver is unbound\n");
		return NOTIFY_OK;
	case BUS_NOTIFY_UNBOUND_DRIVER:
		vpeer_quarantine_take_region(pdev);
		return NOTIFY_OK;
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block vpeer_foreign_notifier = {
	.notifier_call = vpeer_foreign_notify,
};

int vpeer_foreign_init(void)
{
	return bus_register_notifier(&pci_bus_type, &vpeer_foreign_notifier);
}

void vpeer_foreign_exit(void)
{
	struct pci_dev *pdev = NULL;

	for_each_pci_dev(pdev)
		vpeer_foreign_detach(pdev);
	bus_unregister_notifier(&pci_bus_type, &vpeer_foreign_notifier);
}
