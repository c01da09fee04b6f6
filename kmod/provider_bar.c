// SPDX-License-Identifier: GPL-2.0-only
/*
 * Provider "bar": owned apertures. vpeer is the function's PCI driver, bound
 * by VPEER_IOCTL_ATTACH or, as with vfio-pci, through sysfs (driver_override
 * or new_id, and bind).
 */
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "compat/compat.h"
#include "vpeer.h"

/* What probe() needs beyond the function itself, and what it answers. */
struct vpeer_bar_request {
	struct pci_dev *pdev;
	unsigned int flags;
	u8 bar;
	u32 reason;
	bool bound;		/* out: probe() was here, and succeeded */
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

static int vpeer_bar_start(struct pci_dev *pdev, u8 bar,
			   struct vpeer_bar_request *rq)
{
	struct vpeer_aperture_spec spec = {
		.pdev = pdev,
		.bar = bar,
		.size = pci_resource_len(pdev, bar),
		.clean = rq->flags & VPEER_ATTACH_CLEAN,
	};
	struct vpeer_aperture *ap;
	enum vpeer_reason why;

	if (pci_enable_device_mem(pdev))
		return vpeer_bar_refuse(pdev, bar, &rq->reason,
					VPEER_REASON_ENABLE_FAILED);
	why = vpeer_aperture_create(&spec, &ap);
	if (why) {
		pci_disable_device(pdev);
		return vpeer_bar_refuse(pdev, bar, &rq->reason, why);
	}
	/* What a slot reset restores. */
	pci_save_state(pdev);
	ap->override_set = rq->pdev;
	ap->override = rq->override;
	rq->override = NULL;
	rq->bar = bar;
	rq->bound = true;
	rq->index = vpeer_chardev_index(ap);
	pci_set_drvdata(pdev, ap);
	pci_info(pdev, "BAR %d: %llu MiB aperture %s\n", bar, ap->size >> 20,
		 dev_name(&ap->dev));
	return 0;
}

static int vpeer_bar_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vpeer_bar_request rq = { .bar = VPEER_BAR_AUTO };
	bool asked = vpeer_request_read(pdev, &rq);
	u8 bar;
	int ret;

	bar = rq.bar;
	ret = vpeer_bar_check(pdev, &bar, rq.flags & VPEER_ATTACH_FORCE,
			      &rq.reason);
	if (!ret)
		ret = vpeer_bar_start(pdev, bar, &rq);
	if (asked)
		vpeer_request_answer(&rq);
	return ret;
}

static void vpeer_bar_remove(struct pci_dev *pdev)
{
	struct vpeer_aperture *ap = pci_get_drvdata(pdev);

	/* Reset, but the bus's recovery failed before slot_reset(). */
	if (READ_ONCE(ap->asleep) & VPEER_ASLEEP_ERROR)
		pci_restore_state(pdev);
	vpeer_aperture_destroy(ap);
	pci_disable_device(pdev);
}

static void vpeer_bar_sleep(struct pci_dev *pdev, unsigned int why,
			    enum vpeer_cause cause)
{
	struct vpeer_aperture *ap = pci_get_drvdata(pdev);
	u64 held = vpeer_aperture_sleep(ap, why, cause);

	if (held)
		pci_warn(pdev, "BAR %d: reset while initiators hold %llu bytes\n",
			 ap->bar, held);
}

static void vpeer_bar_reset_prepare(struct pci_dev *pdev)
{
	vpeer_bar_sleep(pdev, VPEER_ASLEEP_RESET, VPEER_CAUSE_RESET);
}

static void vpeer_bar_reset_done(struct pci_dev *pdev)
{
	/* What was saved was used up by this reset. */
	pci_save_state(pdev);
	vpeer_aperture_wake(pci_get_drvdata(pdev), VPEER_ASLEEP_RESET);
}

static pci_ers_result_t vpeer_bar_error_detected(struct pci_dev *pdev,
						 pci_channel_state_t state)
{
	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	pci_warn(pdev, "vpeer: bus error: no windows until the bus has recovered; if that fails, detach and attach the function\n");
	vpeer_bar_sleep(pdev, VPEER_ASLEEP_ERROR, VPEER_CAUSE_BUS_ERROR);
	return state == pci_channel_io_frozen ? PCI_ERS_RESULT_NEED_RESET :
						PCI_ERS_RESULT_DISCONNECT;
}

static pci_ers_result_t vpeer_bar_slot_reset(struct pci_dev *pdev)
{
	/* An error that left the function reachable may end here as well. */
	vpeer_bar_sleep(pdev, VPEER_ASLEEP_ERROR, VPEER_CAUSE_BUS_ERROR);
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void vpeer_bar_resume(struct pci_dev *pdev)
{
	vpeer_aperture_wake(pci_get_drvdata(pdev), VPEER_ASLEEP_ERROR);
}

static const struct pci_error_handlers vpeer_bar_error_handlers = {
	.error_detected = vpeer_bar_error_detected,
	.slot_reset = vpeer_bar_slot_reset,
	.resume = vpeer_bar_resume,
	.reset_prepare = vpeer_bar_reset_prepare,
	.reset_done = vpeer_bar_reset_done,
};

static struct pci_driver vpeer_bar_driver = {
	.name = "vpeer",
	.id_table = vpeer_bar_ids,
	.probe = vpeer_bar_probe,
	.remove = vpeer_bar_remove,
	.err_handler = &vpeer_bar_error_handlers,
};

/* Is vpeer its driver? The device's lock is held. */
bool vpeer_bar_owns(const struct pci_dev *pdev)
{
	return pdev->dev.driver == &vpeer_bar_driver.driver;
}

/* Puts back what was there before attach. */
static void vpeer_bar_restore(struct pci_dev *pdev, const char *override)
{
	if (vpeer_compat_set_override(pdev, override))
		pci_warn(pdev, "vpeer: no memory to put driver_override back to %s\n",
			 override);
}

static int vpeer_bar_bind(struct vpeer_bar_request *rq)
{
	struct pci_dev *pdev = rq->pdev;
	int ret = 0;

	if (!vpeer_compat_override_is(pdev, vpeer_bar_driver.name))
		ret = vpeer_compat_get_override(pdev, &rq->override);
	if (ret)
		return vpeer_refuse(&rq->reason, VPEER_REASON_NO_MEMORY);
	/* From the override on, a bus that just adds the function may probe it. */
	vpeer_request_set(rq);
	ret = vpeer_compat_set_override(pdev, vpeer_bar_driver.name);
	if (ret) {
		vpeer_request_set(NULL);
		ret = vpeer_refuse(&rq->reason, VPEER_REASON_NO_MEMORY);
		goto free_override;
	}

	ret = device_driver_attach(&vpeer_bar_driver.driver, &pdev->dev);
	vpeer_request_set(NULL);
	if (ret == -EBUSY && rq->bound)
		ret = 0;
	if (ret)
		vpeer_bar_restore(pdev, rq->override);
	/* A driver that came between the check and here. */
	if (ret == -EBUSY && !rq->reason)
		rq->reason = VPEER_REASON_DRIVER_BOUND;

free_override:
	kfree(rq->override);
	return ret;
}

/* The lock waits for a driver that only tries whether the function is its. */
static struct device_driver *vpeer_bar_driver_of(struct pci_dev *pdev)
{
	struct device_driver *driver;

	device_lock(&pdev->dev);
	driver = pdev->dev.driver;
	device_unlock(&pdev->dev);
	return driver;
}

static int vpeer_bar_attach_device(struct vpeer_bar_request *rq)
{
	struct device_driver *driver = vpeer_bar_driver_of(rq->pdev);
	u8 bar = rq->bar;
	int ret;

	if (driver == &vpeer_bar_driver.driver)
		return vpeer_refuse(&rq->reason, VPEER_REASON_ALREADY_ATTACHED);
	if (driver)
		return vpeer_refuse(&rq->reason, VPEER_REASON_DRIVER_BOUND);

	if (vpeer_compat_override_is(rq->pdev, VPEER_HOLD_DRIVER))
		return vpeer_bar_refuse(rq->pdev, rq->bar, &rq->reason,
					VPEER_REASON_QUARANTINED);
	/* Checked here too, so that a refusal leaves no trace on the device. */
	ret = vpeer_bar_check(rq->pdev, &bar, rq->flags & VPEER_ATTACH_FORCE,
			      &rq->reason);
	return ret ? ret : vpeer_bar_bind(rq);
}

static int vpeer_bar_attach_owned(struct pci_dev *pdev,
				  struct vpeer_attach *arg)
{
	struct vpeer_bar_request rq = {
		.pdev = pdev,
		.flags = arg->flags,
		.bar = arg->bar,
	};
	int ret;

	ret = vpeer_bar_attach_device(&rq);
	arg->reason = rq.reason;
	if (!ret) {
		arg->bar = rq.bar;
		arg->index = rq.index;
	}
	return ret;
}

static int vpeer_bar_attach_found(struct vpeer_attach *arg)
{
	struct pci_dev *pdev;
	int ret;

	/* User space hears of a new function before its BARs have addresses. */
	pci_lock_rescan_remove();
	pdev = pci_get_domain_bus_and_slot(arg->domain, arg->bus, arg->devfn);
	pci_unlock_rescan_remove();
	if (!pdev)
		return vpeer_refuse(&arg->reason, VPEER_REASON_NO_DEVICE);
	if (arg->flags & VPEER_ATTACH_FOREIGN)
		ret = vpeer_foreign_attach(pdev, arg);
	else
		ret = vpeer_bar_attach_owned(pdev, arg);
	pci_dev_put(pdev);
	return ret;
}

/**
 * vpeer_bar_attach - make vpeer the driver of a function, or share a BAR
 * @arg: checked for flags and permission by the caller
 */
int vpeer_bar_attach(struct vpeer_attach *arg)
{
	int ret;

	if (arg->bar != VPEER_BAR_AUTO && arg->bar >= PCI_STD_NUM_BARS)
		return vpeer_refuse(&arg->reason, VPEER_REASON_NO_SUCH_BAR);

	mutex_lock(&vpeer_attach_lock);
	vpeer_quarantine_drain();
	ret = vpeer_bar_attach_found(arg);
	mutex_unlock(&vpeer_attach_lock);
	return ret;
}

/*
 * Is the function ours, and what driver_override does attach owe it? The
 * caller, who ends the aperture, takes the name over.
 */
static bool vpeer_bar_owned(struct pci_dev *pdev, bool *override_set,
			    char **override)
{
	struct vpeer_aperture *ap;
	bool owned;

	device_lock(&pdev->dev);
	owned = vpeer_bar_owns(pdev);
	if (owned) {
		ap = pci_get_drvdata(pdev);
		*override_set = ap->override_set;
		*override = ap->override;
		ap->override = NULL;
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
		vpeer_bar_restore(pdev, override);
	kfree(override);
	return true;
}

static int vpeer_bar_detach_device(struct pci_dev *pdev,
				   struct vpeer_detach *arg)
{
	if (!vpeer_bar_give_up(pdev) && !vpeer_foreign_detach(pdev))
		return vpeer_refuse(&arg->reason, VPEER_REASON_NOT_ATTACHED);
	/* Set through sysfs, or left there by an unbind through sysfs. */
	if (vpeer_compat_override_is(pdev, vpeer_bar_driver.name))
		vpeer_compat_set_override(pdev, NULL);

	arg->pinned_bytes = vpeer_quarantine_pinned(pdev);
	return arg->pinned_bytes ?
	       vpeer_refuse(&arg->reason, VPEER_REASON_PINNED) : 0;
}

/**
 * vpeer_bar_detach - end a function's apertures
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
