// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every refusal has a reason code for programs, an errno, and words for the
 * kernel log.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "vpeer.h"

struct vpeer_reason_entry {
	int error;
	const char *text;
};

static const struct vpeer_reason_entry reasons[] = {
	[VPEER_REASON_NONE] = { 0, "no reason" },
	[VPEER_REASON_BAD_ARGUMENT] = { EINVAL, "unknown flag or reserved field set" },
	[VPEER_REASON_BAD_ALIGNMENT] = { EINVAL, "offset or size not aligned" },
	[VPEER_REASON_BEYOND_END] = { EINVAL, "range leaves the aperture" },
	[VPEER_REASON_NOT_PERMITTED] = { EPERM, "needs CAP_SYS_ADMIN" },
	[VPEER_REASON_NO_MEMORY] = { ENOMEM, "out of memory" },
	[VPEER_REASON_NO_DEVICE] = { ENODEV, "no function at this PCI address" },
	[VPEER_REASON_DRIVER_BOUND] = { EBUSY, "another driver owns the function" },
	[VPEER_REASON_ALREADY_ATTACHED] = { EEXIST, "attached already" },
	[VPEER_REASON_NO_SUCH_BAR] = { ENXIO, "no such BAR, or no prefetchable memory BAR" },
	[VPEER_REASON_NOT_MEMORY] = { EINVAL, "I/O port BAR" },
	[VPEER_REASON_UNASSIGNED] = { EADDRNOTAVAIL, "BAR has no address assigned" },
	[VPEER_REASON_TOO_SMALL] = { EMSGSIZE, "BAR smaller than a page" },
	[VPEER_REASON_NO_PAGES] = { EOVERFLOW, "BAR smaller than 2 MiB or not aligned to it" },
	[VPEER_REASON_MSIX_BAR] = { EACCES, "BAR holds the MSI-X table or PBA" },
	[VPEER_REASON_NOT_PREFETCHABLE] = { EACCES, "BAR not prefetchable: registers" },
	[VPEER_REASON_REGION_BUSY] = { EBUSY, "BAR range claimed by another driver" },
	[VPEER_REASON_QUARANTINED] = {
		EBUSY, "BAR range quarantined: DMA pins of an earlier owner remain"
	},
	[VPEER_REASON_SWIOTLB_FORCE] = {
		EOPNOTSUPP, "swiotlb=force bounces DMA that no IOMMU translates"
	},
	[VPEER_REASON_CONFIDENTIAL] = { EOPNOTSUPP, "guest memory is encrypted" },
	[VPEER_REASON_BUS_ADDRESS] = { EOPNOTSUPP, "bus address differs from CPU address" },
	[VPEER_REASON_ADDRESS_RANGE] = { ERANGE, "BAR lies beyond what this kernel can map" },
	[VPEER_REASON_ENABLE_FAILED] = { EIO, "function cannot be enabled" },
	[VPEER_REASON_NOT_ATTACHED] = { ENODEV, "function not attached" },
	[VPEER_REASON_NO_DRIVER] = { ENODEV, "no driver bound to share the BAR with" },
	[VPEER_REASON_RANGE_SHARED] = { EEXIST, "range overlaps another aperture" },
	[VPEER_REASON_MEMORY_TYPE] = {
		EBUSY, "range mapped cached, or in parts of several memory types"
	},
	[VPEER_REASON_PAGES_EXIST] = { EBUSY, "range already has struct pages" },
	[VPEER_REASON_RANGE_OWNED] = { EBUSY, "range already in a window" },
	[VPEER_REASON_RANGE_DRAINING] = { EBUSY, "range released, DMA pins remain" },
	[VPEER_REASON_NO_SPACE] = { ENOSPC, "no free run of granules this long" },
	[VPEER_REASON_USER_LIMIT] = { EDQUOT, "max_bytes_per_user reached" },
	[VPEER_REASON_NOT_OWNER] = { ENOENT, "no window of this open file there" },
	[VPEER_REASON_REVOKED] = { ENODEV, "window revoked" },
	[VPEER_REASON_GONE] = { ENODEV, "aperture detached or unplugged" },
	[VPEER_REASON_PINNED] = { EINPROGRESS, "DMA pins remain" },
	[VPEER_REASON_PRIVATE_MAPPING] = { EINVAL, "MAP_PRIVATE" },
	[VPEER_REASON_EXEC_MAPPING] = { EPERM, "PROT_EXEC" },
	[VPEER_REASON_TOO_MANY_WINDOWS] = { EMFILE, "too many windows on one open file" },
	[VPEER_REASON_NOT_GRANTED] = { EPERM, "beyond the shared range of this BAR" },
	[VPEER_REASON_ASLEEP] = {
		EAGAIN, "function being reset, bus in error, or machine suspended"
	},
	[VPEER_REASON_TRAPPED] = { EOPNOTSUPP, "VMM traps accesses to the BAR" },
	[VPEER_REASON_READ_ONLY] = { EACCES, "node not open for reading and writing" },
	[VPEER_REASON_BEYOND_WINDOW] = { EINVAL, "range leaves its window" },
	[VPEER_REASON_TOO_MANY_FILES] = { EMFILE, "no descriptor left" },
	[VPEER_REASON_INTERRUPTED] = { EINTR, "interrupted by a signal" },
	[VPEER_REASON_NOT_EVENTFD] = { EBADF, "not an eventfd" },
	[VPEER_REASON_EVENTFD_ADDED] = { EEXIST, "eventfd added before" },
	[VPEER_REASON_EVENTFD_NOT_ADDED] = { ENOENT, "eventfd was not added" },
	[VPEER_REASON_TOO_MANY_EVENTFDS] = { ENOSPC, "too many eventfds on one open file" },
	[VPEER_REASON_DMA_MASK] = {
		ERANGE, "beyond the initiator's DMA mask, and no IOMMU translates"
	},
	[VPEER_REASON_NO_DMA_DRIVER] = { ENODEV, "initiator without a driver that does DMA" },
};

/**
 * vpeer_refuse - note a reason and give its errno
 * @reason: where the caller's structure keeps it; may be NULL
 * @why: the reason
 *
 * Return: the negative errno that goes with @why.
 */
int vpeer_refuse(u32 *reason, enum vpeer_reason why)
{
	if (reason)
		*reason = why;
	return -reasons[why].error;
}

const char *vpeer_reason_text(enum vpeer_reason why)
{
	return reasons[why].text;
}
