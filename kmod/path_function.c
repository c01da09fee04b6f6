// SPDX-License-Identifier: GPL-2.0-only
/* What the guest sees of one end of a path. */
#include <linux/iommu.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "compat/compat.h"
#include "vpeer.h"

/* A list of capabilities may be a circle. */
#define VPEER_MAX_CAPABILITIES	48

/*
 * NVIDIA's capability for a GPU in a guest: length and "P" in the upper half of
 * its first word, "2P", version and clique in the second.
 */
#define VPEER_CLIQUE_FIRST(word)	((word) >> 24 == 'P')
#define VPEER_CLIQUE_SECOND(word)	(((word) & 0xffff) == ('2' | 'P' << 8))
#define VPEER_CLIQUE_VERSION(word)	((word) >> 16 & 0x7)
#define VPEER_CLIQUE_ID(word)		((word) >> 19 & 0xf)

/**
 * vpeer_path_keeps_domain - is there a driver that does DMA by the kernel's API
 * @pdev: function whose driver does not go meanwhile
 *
 * As long as there is, its IOMMU domain stays. Others, as VFIO, leave the
 * function's DMA to who uses them, or do none.
 */
bool vpeer_path_keeps_domain(const struct pci_dev *pdev)
{
	struct device_driver *driver = pdev->dev.driver;

	return driver && !vpeer_compat_leaves_dma(to_pci_driver(driver));
}

static u32 vpeer_path_iommu(struct pci_dev *pdev)
{
	struct iommu_domain *domain;

	if (!device_iommu_mapped(&pdev->dev))
		return VPEER_IOMMU_NONE;
	if (!vpeer_path_keeps_domain(pdev))
		return VPEER_IOMMU_UNKNOWN;
	domain = iommu_get_domain_for_dev(&pdev->dev);
	if (!domain)
		return VPEER_IOMMU_NONE;
	switch (domain->type) {
	case IOMMU_DOMAIN_IDENTITY:
		return VPEER_IOMMU_IDENTITY;
	case IOMMU_DOMAIN_DMA:
		return VPEER_IOMMU_DMA;
	case IOMMU_DOMAIN_DMA_FQ:
		return VPEER_IOMMU_DMA_LAZY;
	default:
		return VPEER_IOMMU_OTHER;
	}
}

/**
 * vpeer_path_driver - what depends on the function's driver
 * @pdev: function whose driver does not go meanwhile
 * @at: what to fill
 */
void vpeer_path_driver(struct pci_dev *pdev, struct vpeer_path_function *at)
{
	at->iommu = vpeer_path_iommu(pdev);
	at->dma_mask = vpeer_dma_reach(&pdev->dev);
	if (pdev->dev.driver)
		strscpy(at->driver, pdev->dev.driver->name, sizeof(at->driver));
}

/**
 * vpeer_path_whole - the function that bridges are above
 * @pdev: function that does not go meanwhile
 *
 * Return: @pdev, or its PF where it is a VF; referenced, so that all bridges
 * above stay.
 */
struct pci_dev *vpeer_path_whole(struct pci_dev *pdev)
{
	struct pci_dev *pf = pci_physfn(pdev);

	return pci_dev_get(pf ? pf : pdev);
}

/* The next bridge up, or NULL. */
struct pci_dev *vpeer_path_above(struct pci_dev *pdev)
{
	return pci_is_root_bus(pdev->bus) ? NULL : pdev->bus->self;
}

static bool vpeer_path_acs(struct pci_dev *pdev, u16 *cap, u16 *control)
{
	int at = pci_find_ext_capability(pdev, PCI_EXT_CAP_ID_ACS);

	if (!at)
		return false;
	pci_read_config_word(pdev, at + PCI_ACS_CAP, cap);
	pci_read_config_word(pdev, at + PCI_ACS_CTRL, control);
	return true;
}

static void vpeer_path_ats(struct pci_dev *pdev, struct vpeer_path_function *at)
{
	int place = pci_find_ext_capability(pdev, PCI_EXT_CAP_ID_ATS);

	if (!place)
		return;
	at->flags |= VPEER_FUNCTION_ATS;
	pci_read_config_word(pdev, place + PCI_ATS_CAP, &at->ats_cap);
	pci_read_config_word(pdev, place + PCI_ATS_CTRL, &at->ats_control);
}

static void vpeer_path_clique(struct pci_dev *pdev,
			      struct vpeer_path_function *at)
{
	u8 place = pci_find_capability(pdev, PCI_CAP_ID_VNDR);
	int left = VPEER_MAX_CAPABILITIES;
	u32 first, second;

	for (; place && left; left--) {
		pci_read_config_dword(pdev, place, &first);
		pci_read_config_dword(pdev, place + 4, &second);
		if (VPEER_CLIQUE_FIRST(first) && VPEER_CLIQUE_SECOND(second)) {
			at->flags |= VPEER_FUNCTION_CLIQUE;
			at->clique = VPEER_CLIQUE_ID(second);
			at->clique_version = VPEER_CLIQUE_VERSION(second);
			return;
		}
		place = pci_find_next_capability(pdev, place, PCI_CAP_ID_VNDR);
	}
}

static void vpeer_path_bridge(struct pci_dev *pdev,
			      struct vpeer_path_bridge *at)
{
	at->domain = pci_domain_nr(pdev->bus);
	at->bus = pdev->bus->number;
	at->devfn = pdev->devfn;
	at->vendor = pdev->vendor;
	at->device = pdev->device;
	if (pci_is_pcie(pdev)) {
		at->flags |= VPEER_FUNCTION_PCIE;
		at->type = pci_pcie_type(pdev);
	}
	if (vpeer_path_acs(pdev, &at->acs_cap, &at->acs_control))
		at->flags |= VPEER_FUNCTION_ACS;
}

static void vpeer_path_bridges(struct pci_dev *whole,
			       struct vpeer_path_function *at)
{
	struct pci_dev *bridge, *top = whole;

	while ((bridge = vpeer_path_above(top))) {
		if (at->bridge_count < VPEER_PATH_BRIDGES)
			vpeer_path_bridge(bridge, &at->bridges[at->bridge_count]);
		at->bridge_count++;
		top = bridge;
	}
	at->root_bus = top->bus->number;
}

static void vpeer_path_virtual(struct pci_dev *pdev, struct pci_dev *whole,
			       struct vpeer_path_function *at)
{
	if (!pdev->is_virtfn)
		return;
	at->flags |= VPEER_FUNCTION_VIRTUAL;
	if (whole == pdev)
		return;
	at->flags |= VPEER_FUNCTION_PF;
	at->pf_bus = whole->bus->number;
	at->pf_devfn = whole->devfn;
}

/**
 * vpeer_path_registers - where a function is, and what its registers say
 * @pdev: function that does not go meanwhile
 * @whole: what vpeer_path_whole() said
 * @at: what to fill
 */
void vpeer_path_registers(struct pci_dev *pdev, struct pci_dev *whole,
			  struct vpeer_path_function *at)
{
	at->domain = pci_domain_nr(whole->bus);
	at->bus = pdev->bus->number;
	at->devfn = pdev->devfn;
	at->vendor = pdev->vendor;
	at->device = pdev->device;
	at->numa_node = dev_to_node(&pdev->dev);
	if (pci_is_pcie(pdev)) {
		at->flags |= VPEER_FUNCTION_PCIE;
		at->type = pci_pcie_type(pdev);
	}
	if (vpeer_path_acs(pdev, &at->acs_cap, &at->acs_control))
		at->flags |= VPEER_FUNCTION_ACS;
	vpeer_path_virtual(pdev, whole, at);
	vpeer_path_ats(pdev, at);
	vpeer_path_clique(pdev, at);
	vpeer_path_bridges(whole, at);
}
