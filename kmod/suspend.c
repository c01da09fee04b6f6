// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend and hibernation. Device memory need not survive either, so windows
 * are revoked before; what initiators hold pinned cannot be taken back, and
 * stops the suspend. Done while user space still runs, for owned and foreign
 * apertures alike.
 */
#include <linux/notifier.h>
#include <linux/suspend.h>

#include "vpeer.h"

static int vpeer_suspend_pinned(struct vpeer_aperture *ap)
{
	u64 pinned = vpeer_aperture_pinned(ap);

	if (!pinned)
		return 0;
	pci_warn(ap->pdev, "BAR %d: suspend refused: %llu bytes pinned by initiators\n",
		 ap->bar, pinned);
	return -EBUSY;
}

/* What detached or unplugged functions left behind. */
static int vpeer_suspend_quarantined(void)
{
	u64 held = vpeer_quarantine_held();

	if (!held)
		return 0;
	pr_warn("vpeer: suspend refused: %llu quarantined bytes pinned by initiators, see /sys/class/misc/vpeerctl/quarantine\n",
		held);
	return -EBUSY;
}

/* What left the list of apertures, with their pins or without. */
static int vpeer_suspend_departed(void)
{
	unsigned int ending = vpeer_registry_nr_ending();

	if (!ending)
		return vpeer_suspend_quarantined();
	pr_warn("vpeer: suspend refused: %u detached apertures still wait for their pins, at most revoke_wait_ms long\n",
		ending);
	return -EBUSY;
}

static int vpeer_hibernate_used(struct vpeer_aperture *ap)
{
	unsigned int windows = READ_ONCE(ap->nr_windows);

	if (!windows)
		return 0;
	pci_warn(ap->pdev, "BAR %d: hibernation refused: %u windows exist, and their memory would be lost\n",
		 ap->bar, windows);
	return -EBUSY;
}

/* I/O that was in flight may hold pages without a pin, or have come late. */
static int vpeer_suspend_sleep(struct vpeer_aperture *ap)
{
	u64 held = vpeer_aperture_sleep(ap, VPEER_ASLEEP_SUSPEND,
					VPEER_CAUSE_SUSPEND);

	if (!held)
		return 0;
	pci_warn(ap->pdev, "BAR %d: suspend refused: %llu bytes still held by initiators\n",
		 ap->bar, held);
	return -EBUSY;
}

static int vpeer_suspend_wake(struct vpeer_aperture *ap)
{
	vpeer_aperture_wake(ap, VPEER_ASLEEP_SUSPEND);
	return 0;
}

static void vpeer_suspend_end(void)
{
	vpeer_registry_start_asleep(0);
	vpeer_registry_visit(vpeer_suspend_wake);
}

static int vpeer_suspend_prepare(int (*refuse)(struct vpeer_aperture *ap))
{
	int ret;

	ret = vpeer_registry_visit(refuse);
	if (!ret)
		ret = vpeer_suspend_departed();
	if (ret)
		return ret;
	vpeer_registry_start_asleep(VPEER_ASLEEP_SUSPEND);
	ret = vpeer_registry_visit(vpeer_suspend_sleep);
	/* One may have left between the visits. */
	if (!ret)
		ret = vpeer_suspend_departed();
	if (ret)
		vpeer_suspend_end();
	return ret;
}

static int vpeer_suspend_notify(struct notifier_block *nb, unsigned long event,
				void *data)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
		return notifier_from_errno(vpeer_suspend_prepare(vpeer_suspend_pinned));
	case PM_HIBERNATION_PREPARE:
		return notifier_from_errno(vpeer_suspend_prepare(vpeer_hibernate_used));
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		vpeer_suspend_end();
		return NOTIFY_OK;
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block vpeer_suspend_notifier = {
	.notifier_call = vpeer_suspend_notify,
};

int vpeer_suspend_init(void)
{
	return register_pm_notifier(&vpeer_suspend_notifier);
}

void vpeer_suspend_exit(void)
{
	unregister_pm_notifier(&vpeer_suspend_notifier);
}
