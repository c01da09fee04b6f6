// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "reason.h"

#include "vpeer.h"

#define REASON(symbol, name, text, remedy) \
	[VPEER_REASON_##symbol] = { name, text, remedy }

static const struct vpeer_reason_words reasons[] = {
	REASON(NONE, "none", "no reason was given", "look at the errno"),
	REASON(BAD_ARGUMENT, "bad-argument",
	       "an argument has an unknown flag or a reserved field set",
	       "set only flags that the header has, and the rest to 0; library and module must be "
	       "of one release"),
	REASON(BAD_ALIGNMENT, "bad-alignment",
	       "an offset or size is not a multiple of the page or granule",
	       "round to the granule that 'vpeer list' shows"),
	REASON(BEYOND_END, "beyond-end", "the range leaves the aperture or window",
	       "ask for a range inside the size that 'vpeer list' shows"),
	REASON(NOT_PERMITTED, "not-permitted", "the call needs the CAP_SYS_ADMIN capability",
	       "run it as root"),
	REASON(NO_MEMORY, "no-memory", "the kernel has no memory for the bookkeeping",
	       "free host memory; page structures take 16 MiB per GiB of aperture"),
	REASON(NO_DEVICE, "no-device", "there is no PCI function at this address",
	       "check the address with lspci -D; rescan by 'echo 1 > /sys/bus/pci/rescan'"),
	REASON(DRIVER_BOUND, "driver-bound", "another driver owns the function",
	       "unbind that driver from the function first"),
	REASON(ALREADY_ATTACHED, "already-attached", "vpeer owns the function already",
	       "use it as 'vpeer list' shows it, or 'vpeer detach' it first"),
	REASON(NO_SUCH_BAR, "no-such-bar",
	       "the function has no such BAR, or it is the upper half of a 64-bit BAR",
	       "pick one of the memory BARs that lspci -v shows"),
	REASON(NOT_MEMORY, "not-memory", "the BAR is an I/O port range, not memory",
	       "pick one of the memory BARs that lspci -v shows"),
	REASON(UNASSIGNED, "unassigned", "neither firmware nor kernel gave the BAR an address",
	       "enlarge the 64-bit MMIO window of the machine, or boot with pci=realloc"),
	REASON(TOO_SMALL, "too-small", "the BAR is smaller than a page",
	       "pick a BAR that holds memory ('vpeer list --all' shows candidates)"),
	REASON(NO_PAGES, "no-pages", "the BAR is under 2 MiB or not 2 MiB aligned",
	       "pick a BAR that holds memory ('vpeer list --all' shows candidates), or give the "
	       "device a larger one on the host"),
	REASON(MSIX_BAR, "msix-bar", "the BAR holds the device's MSI-X table",
	       "pick the BAR that holds memory; --force only if the table is known to be unused"),
	REASON(NOT_PREFETCHABLE, "not-prefetchable",
	       "the BAR is not prefetchable, so it holds registers",
	       "pick the BAR that holds memory; --force only if it is known to be memory"),
	REASON(REGION_BUSY, "region-busy", "another driver claimed the BAR's address range",
	       "find the claim in /proc/iomem and unload that driver"),
	REASON(QUARANTINED, "quarantined", "DMA pins of an earlier owner remain in the BAR",
	       "end the processes that hold memory registrations of it; 'vpeer list' shows the "
	       "rest"),
	REASON(SWIOTLB_FORCE, "swiotlb-force",
	       "swiotlb=force on the kernel command line: DMA that no IOMMU translates goes "
	       "through bounce buffers in host memory",
	       "remove swiotlb=force and reboot; --force attaches all the same, and 'vpeer "
	       "selftest' tells which initiators bounce"),
	REASON(CONFIDENTIAL, "confidential", "guest memory is encrypted and DMA is bounced",
	       "peer-to-peer DMA needs a guest without memory encryption"),
	REASON(BUS_ADDRESS, "bus-address", "the BAR's bus address differs from its CPU address",
	       "this host bridge is not supported; attach the device below another one"),
	REASON(ADDRESS_RANGE, "address-range", "the BAR lies beyond what the kernel can map",
	       "place the 64-bit MMIO window lower, or give the guest more physical address bits"),
	REASON(ENABLE_FAILED, "enable-failed", "the function cannot be enabled",
	       "see the kernel log for the PCI error; reset or replug the device"),
	REASON(NOT_ATTACHED, "not-attached", "the function has no aperture",
	       "'vpeer list' shows the functions that are attached"),
	REASON(NO_DRIVER, "no-driver", "no driver is bound to share the BAR with",
	       "attach the whole BAR, without a range, or bind the function's driver first"),
	REASON(RANGE_SHARED, "range-shared", "part of the range is in another aperture",
	       "'vpeer list' shows the ranges that are shared; take another one"),
	REASON(MEMORY_TYPE, "memory-type",
	       "the range is mapped cached by the kernel, or in parts of several memory types",
	       "/sys/kernel/debug/x86/pat_memtype_list shows who maps what; share a range that "
	       "the driver does not map"),
	REASON(PAGES_EXIST, "pages-exist",
	       "the function's driver keeps struct pages for the range itself",
	       "share a range for which it has none, or use that driver's own dma-buf export"),
	REASON(RANGE_OWNED, "range-owned",
	       "this or another open file already has a window there",
	       "allocate with VPEER_ANY_OFFSET or elsewhere, free the window that is there, or "
	       "use it through its owner's descriptor"),
	REASON(RANGE_DRAINING, "range-draining", "the range was released but DMA pins remain",
	       "wait until the initiators deregister it, or end their processes"),
	REASON(NO_SPACE, "no-space", "the aperture has no free run of granules this long",
	       "ask for less, or end other users of the aperture"),
	REASON(USER_LIMIT, "user-limit", "the limit of window bytes per user is reached",
	       "free windows, or raise the module parameter max_bytes_per_user"),
	REASON(NOT_OWNER, "not-owner", "this open file has no window at that offset",
	       "use the offset that the allocation returned"),
	REASON(REVOKED, "revoked", "the window was revoked",
	       "free it and allocate another one"),
	REASON(GONE, "gone", "the aperture was detached or unplugged",
	       "close it; attach the function again"),
	REASON(PINNED, "pinned", "CPU access has stopped but DMA pins remain",
	       "deregister the memory, or end the processes that hold registrations"),
	REASON(PRIVATE_MAPPING, "private-mapping", "a private mapping would copy device memory",
	       "map with MAP_SHARED"),
	REASON(EXEC_MAPPING, "exec-mapping", "device memory must not be executable",
	       "map without PROT_EXEC"),
	REASON(TOO_MANY_WINDOWS, "too-many-windows",
	       "this open file has no slot for another window",
	       "free windows, or open the aperture a second time"),
	REASON(NOT_GRANTED, "not-granted", "the offset lies beyond what root shared of this BAR",
	       "stay inside the size that 'vpeer list' shows, or have root share more"),
	REASON(ASLEEP, "asleep", "the function is being reset, or the machine is suspended",
	       "try again when 'vpeer list' shows the status ok; if it does not after a bus error "
	       "that the kernel could not recover from, detach and attach the function"),
	REASON(TRAPPED, "trapped",
	       "the VMM does not map this BAR: it traps every access, so the BAR is in no IOMMU "
	       "mapping of the host and peer DMA cannot reach it",
	       "on the host, have the VMM map the BAR for CPUs and peer DMA: no x-no-mmap=on for "
	       "this device, every region of it mappable; see vpeer-host(7)"),
	REASON(READ_ONLY, "read-only", "the node is not open for reading and writing",
	       "open it with O_RDWR: an importer may do both to the memory"),
	REASON(BEYOND_WINDOW, "beyond-window", "the range leaves the window it starts in",
	       "export a range inside one window"),
	REASON(TOO_MANY_FILES, "too-many-files",
	       "the process, or the system, has no descriptor left",
	       "close descriptors of DMA-bufs once they are registered, or raise RLIMIT_NOFILE"),
	REASON(INTERRUPTED, "interrupted", "a signal came while the call waited",
	       "call again"),
	REASON(NOT_EVENTFD, "not-eventfd", "the descriptor is not one of an eventfd",
	       "pass what eventfd() returned, or -1"),
	REASON(EVENTFD_ADDED, "eventfd-added", "the eventfd was added to this open file before",
	       "add each eventfd once, or make another one with eventfd()"),
	REASON(EVENTFD_NOT_ADDED, "eventfd-not-added",
	       "the eventfd is none of those that were added to this open file",
	       "remove what was added, through the same aperture"),
	REASON(TOO_MANY_EVENTFDS, "too-many-eventfds",
	       "this open file has no place for another eventfd",
	       "remove eventfds before their process ends, or open the aperture a second time"),
	REASON(DMA_MASK, "dma-mask",
	       "the aperture lies beyond the addresses that the initiator can form, and no IOMMU "
	       "translates for it",
	       "give the guest a translating IOMMU, or the BAR a lower address"),
	REASON(NO_DMA_DRIVER, "no-dma-driver",
	       "the initiator has no driver that does DMA for this kernel: none at all, or one that "
	       "hands the function to a program, as vfio-pci does",
	       "bind the function to its own driver"),
};

static const struct vpeer_reason_words unknown = {
	"unknown",
	"the module gave a reason that this library does not know",
	"use the library and module of one release",
};

static const struct vpeer_reason_words *lookup(unsigned int reason)
{
	const struct vpeer_reason_words *words = vpeer_reg_reason_words(reason);

	if (words)
		return words;
	if (reason >= sizeof(reasons) / sizeof(reasons[0]) || !reasons[reason].name)
		return &unknown;
	return &reasons[reason];
}

const char *vpeer_reason_name(unsigned int reason)
{
	return lookup(reason)->name;
}

const char *vpeer_reason_text(unsigned int reason)
{
	return lookup(reason)->text;
}

const char *vpeer_reason_remedy(unsigned int reason)
{
	return lookup(reason)->remedy;
}
