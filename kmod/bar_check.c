// SPDX-License-Identifier: GPL-2.0-only
/* Which BAR of a function can be an aperture, and why another cannot. */
#include <linux/cc_platform.h>
#include <linux/memory_hotplug.h>
#include <linux/pci.h>
#include <linux/swiotlb.h>

#include "vpeer.h"

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

/* Refuse with one line in the log. @bar may be none. */
int vpeer_bar_refuse(struct pci_dev *pdev, u8 bar, u32 *reason,
		     enum vpeer_reason why)
{
	if (bar < PCI_STD_NUM_BARS)
		pci_err(pdev, "vpeer: BAR %d refused: %s\n", bar,
			vpeer_reason_text(why));
	else
		pci_err(pdev, "vpeer: refused: %s\n",
			vpeer_reason_text(why));
	return vpeer_refuse(reason, why);
}

/**
 * vpeer_bar_check - can this be an aperture
 * @pdev: function
 * @bar: in, BAR index or VPEER_BAR_AUTO; out, BAR index
 * @force: register BARs and bounced DMA too
 * @reason: where to note why not
 *
 * Return: 0 or the errno of the reason, with one line in the log.
 */
int vpeer_bar_check(struct pci_dev *pdev, u8 *bar, bool force, u32 *reason)
{
	enum vpeer_reason why;

	if (*bar == VPEER_BAR_AUTO)
		*bar = vpeer_bar_choose(pdev);
	why = vpeer_bar_shape(pdev, *bar);
	if (!why)
		why = vpeer_bar_kind(pdev, *bar, force);
	if (!why)
		why = vpeer_bar_platform(pdev, *bar, force);
	return why ? vpeer_bar_refuse(pdev, *bar, reason, why) : 0;
}
