// SPDX-License-Identifier: GPL-2.0-only
/* Can a function's DMA come out at a BAR? */
#include <linux/device.h>
#include <linux/iommu.h>
#include <linux/minmax.h>
#include <linux/swiotlb.h>

#include "vpeer.h"

/**
 * vpeer_translates - does an IOMMU translate the DMA of a function's driver
 * @dev: function with a driver that leaves the IOMMU to the kernel, and which
 *	does not go meanwhile: else the domain may
 */
bool vpeer_translates(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && domain->type & __IOMMU_DOMAIN_PAGING;
}

/* The last bus address that the function can form, 0 if it does no DMA. */
u64 vpeer_dma_reach(struct device *dev)
{
	return dev->dma_mask ?
	       min_not_zero(*dev->dma_mask, dev->bus_dma_limit) : 0;
}

/**
 * vpeer_reach_check - why the DMA of a function's driver cannot reach a BAR
 * @dev: as above
 * @last: last byte to be reached
 *
 * Without translation the BAR's own address is what the function must form,
 * and what is bounced never gets there.
 *
 * Return: VPEER_REASON_NONE or why not.
 */
enum vpeer_reason vpeer_reach_check(struct device *dev, phys_addr_t last)
{
	bool translates = vpeer_translates(dev);

	if (!translates && is_swiotlb_force_bounce(dev))
		return VPEER_REASON_SWIOTLB_FORCE;
	if (!dev->dma_mask || (!translates && last > vpeer_dma_reach(dev)))
		return VPEER_REASON_DMA_MASK;
	return VPEER_REASON_NONE;
}
