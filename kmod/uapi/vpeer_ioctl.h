/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * vpeer user interface: the control node /dev/vpeerctl and one node per
 * aperture, /dev/vpeerN.
 *
 * Rules that hold for every structure:
 *  - argsz is set by the caller to the size of the structure it was built
 *    with. A larger size is accepted when all bytes beyond the kernel's
 *    structure are zero, otherwise the call fails with E2BIG; a size smaller
 *    than the first released structure fails with EINVAL.
 *  - flags holds only bits defined for that call; any other bit fails with
 *    EINVAL. Reserved fields must be zero.
 *  - When a call fails, reason says why (enum vpeer_reason); it is written
 *    back whenever argsz could be read. On success it is VPEER_REASON_NONE.
 *  - Sizes and offsets are bytes. Offsets count from the start of the aperture,
 *    which is the start of the BAR, or of the range that root shared of it.
 *  - PCI addresses are those the running kernel shows.
 *
 * Opening a node needs its file permission (0660 root:vpeer); attach and
 * detach need CAP_SYS_ADMIN as well.
 */
#ifndef _UAPI_VPEER_IOCTL_H
#define _UAPI_VPEER_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VPEER_API_VERSION	1

#define VPEER_IOCTL_TYPE	0xF7
#define VPEER_IOCTL_BASE	0x40

/* vpeer_query.features */
#define VPEER_FEATURE_WINDOWS		(1ULL << 0)	/* explicit windows */
#define VPEER_FEATURE_IMPLICIT_WINDOWS	(1ULL << 1)	/* plain mmap() claims */
#define VPEER_FEATURE_ROUTE_PAGES	(1ULL << 2)	/* BAR pages that can be pinned */
#define VPEER_FEATURE_HUGE_PAGES	(1ULL << 3)	/* 2 MiB mappings */
#define VPEER_FEATURE_GENERATIONS	(1ULL << 4)	/* generation page */
#define VPEER_FEATURE_FOREIGN		(1ULL << 5)	/* part of a BAR whose driver stays */
#define VPEER_FEATURE_ROUTE_DMABUF	(1ULL << 6)	/* windows as DMA-bufs */
#define VPEER_FEATURE_EVENTS		(1ULL << 7)	/* eventfd and cause of revocations */
#define VPEER_FEATURE_UNMAP_GENERATIONS	(1ULL << 8)	/* munmap() changes the generation */
#define VPEER_FEATURE_MORE_EVENTS	(1ULL << 9)	/* eventfds beside the program's own */
#define VPEER_FEATURE_PATH_REPORT	(1ULL << 10)	/* facts about a pair */

/*
 * Why a call was refused. Numbers are stable; new ones are added at the end.
 */
enum vpeer_reason {
	VPEER_REASON_NONE = 0,
	/* The call itself */
	VPEER_REASON_BAD_ARGUMENT = 1,		/* EINVAL: unknown flag, reserved field set */
	VPEER_REASON_BAD_ALIGNMENT = 2,		/* EINVAL: offset or size not page aligned */
	VPEER_REASON_BEYOND_END = 3,		/* EINVAL: range leaves the aperture */
	VPEER_REASON_NOT_PERMITTED = 4,		/* EPERM: needs CAP_SYS_ADMIN */
	VPEER_REASON_NO_MEMORY = 5,		/* ENOMEM: host memory for bookkeeping */
	/* Attach */
	VPEER_REASON_NO_DEVICE = 16,		/* ENODEV: no function at this PCI address */
	VPEER_REASON_DRIVER_BOUND = 17,		/* EBUSY: another driver owns the function */
	VPEER_REASON_ALREADY_ATTACHED = 18,	/* EEXIST: vpeer owns the function already */
	VPEER_REASON_NO_SUCH_BAR = 19,		/* ENXIO: BAR absent, or upper half of a 64-bit BAR */
	VPEER_REASON_NOT_MEMORY = 20,		/* EINVAL: I/O port BAR */
	VPEER_REASON_UNASSIGNED = 21,		/* EADDRNOTAVAIL: firmware and kernel gave the BAR no address */
	VPEER_REASON_TOO_SMALL = 22,		/* EMSGSIZE: BAR smaller than a page */
	VPEER_REASON_NO_PAGES = 23,		/* EOVERFLOW: BAR under 2 MiB or not 2 MiB aligned */
	VPEER_REASON_MSIX_BAR = 24,		/* EACCES: BAR holds the MSI-X table or PBA; force overrides */
	VPEER_REASON_NOT_PREFETCHABLE = 25,	/* EACCES: BAR holds registers; force overrides */
	VPEER_REASON_REGION_BUSY = 26,		/* EBUSY: BAR range claimed by another driver */
	VPEER_REASON_QUARANTINED = 27,		/* EBUSY: an earlier owner's DMA pins remain */
	VPEER_REASON_SWIOTLB_FORCE = 28,	/* EOPNOTSUPP: swiotlb=force bounces what no IOMMU translates; force overrides */
	VPEER_REASON_CONFIDENTIAL = 29,		/* EOPNOTSUPP: encrypted guest memory */
	VPEER_REASON_BUS_ADDRESS = 30,		/* EOPNOTSUPP: bus address differs from CPU address */
	VPEER_REASON_ADDRESS_RANGE = 31,	/* ERANGE: BAR lies beyond what the kernel can map */
	VPEER_REASON_ENABLE_FAILED = 32,	/* EIO: the function cannot be enabled */
	VPEER_REASON_NOT_ATTACHED = 33,		/* ENODEV: the function has no aperture */
	VPEER_REASON_NO_DRIVER = 34,		/* ENODEV: sharing a BAR needs its driver bound */
	VPEER_REASON_RANGE_SHARED = 35,		/* EEXIST: part of the range is in another aperture */
	VPEER_REASON_MEMORY_TYPE = 36,		/* EBUSY: the driver maps the range cached, or in parts of several memory types */
	VPEER_REASON_PAGES_EXIST = 37,		/* EBUSY: the driver has struct pages for the range */
	/* Windows */
	VPEER_REASON_RANGE_OWNED = 48,		/* EBUSY: part of the range is in a window, of whatever open file */
	VPEER_REASON_RANGE_DRAINING = 49,	/* EBUSY: released, DMA pins remain */
	VPEER_REASON_NO_SPACE = 50,		/* ENOSPC: no free run of granules this long */
	VPEER_REASON_USER_LIMIT = 51,		/* EDQUOT: max_bytes_per_user reached */
	VPEER_REASON_NOT_OWNER = 52,		/* ENOENT: no window of this open file there */
	VPEER_REASON_REVOKED = 53,		/* ENODEV: the window was revoked */
	VPEER_REASON_GONE = 54,			/* ENODEV: the aperture was detached or unplugged */
	VPEER_REASON_PINNED = 55,		/* EINPROGRESS: DMA pins remain; CPU access has stopped */
	VPEER_REASON_PRIVATE_MAPPING = 56,	/* EINVAL: MAP_PRIVATE would copy, not reach the BAR */
	VPEER_REASON_EXEC_MAPPING = 57,		/* EPERM: PROT_EXEC */
	VPEER_REASON_TOO_MANY_WINDOWS = 58,	/* EMFILE: VPEER_MAX_WINDOWS per open file */
	VPEER_REASON_NOT_GRANTED = 59,		/* EPERM: beyond the range that root shared of this BAR */
	VPEER_REASON_ASLEEP = 60,		/* EAGAIN: the function is being reset, or the machine suspended */
	VPEER_REASON_TRAPPED = 61,		/* EOPNOTSUPP: the VMM traps every access instead of mapping the BAR */
	/* DMA-bufs and events */
	VPEER_REASON_READ_ONLY = 80,		/* EACCES: the node was not opened for reading and writing */
	VPEER_REASON_BEYOND_WINDOW = 81,	/* EINVAL: range leaves the window it starts in */
	VPEER_REASON_TOO_MANY_FILES = 82,	/* EMFILE: the process, or the system, has no descriptor left */
	VPEER_REASON_INTERRUPTED = 83,		/* EINTR: a signal came while the call waited, or was to zero memory */
	VPEER_REASON_NOT_EVENTFD = 84,		/* EBADF: not the descriptor of an eventfd */
	VPEER_REASON_EVENTFD_ADDED = 85,	/* EEXIST: this open file has the eventfd already */
	VPEER_REASON_EVENTFD_NOT_ADDED = 86,	/* ENOENT: this open file does not have the eventfd */
	VPEER_REASON_TOO_MANY_EVENTFDS = 87,	/* ENOSPC: VPEER_MAX_EVENTFDS per open file */
	/* Pairs */
	VPEER_REASON_DMA_MASK = 96,		/* ERANGE: beyond the initiator's DMA mask, and no IOMMU translates */
	VPEER_REASON_NO_DMA_DRIVER = 97,	/* ENODEV: the initiator has no driver that does DMA for the kernel */
};

/*
 * Why a window was revoked. Numbers are stable; new ones are added at the end.
 */
enum vpeer_cause {
	VPEER_CAUSE_NONE = 0,			/* it was not */
	VPEER_CAUSE_OWNER = 1,			/* VPEER_IOCTL_WINDOW_REVOKE */
	VPEER_CAUSE_ADMIN = 2,			/* VPEER_REVOKE_ALL */
	VPEER_CAUSE_DETACHED = 3,		/* detached, driver unbound, or function removed */
	VPEER_CAUSE_UNPLUGGED = 4,		/* the function no longer answers */
	VPEER_CAUSE_RESET = 5,			/* the function is reset */
	VPEER_CAUSE_BUS_ERROR = 6,		/* error on the bus of the function */
	VPEER_CAUSE_SUSPEND = 7,		/* the machine is suspended */
};

#define VPEER_BAR_AUTO		0xff	/* the largest prefetchable memory BAR */
#define VPEER_MAX_WINDOWS	512	/* per open file: slots of the generation page */
#define VPEER_MAX_EVENTFDS	64	/* per open file: added by VPEER_EVENT_ADD */

/**
 * struct vpeer_query - VPEER_IOCTL_QUERY, on either node
 * @argsz: size of this structure
 * @flags: 0
 * @reason: out, enum vpeer_reason
 * @api_version: out, VPEER_API_VERSION of the module
 * @features: out, VPEER_FEATURE_* bits
 * @granule: out, window granularity in bytes
 * @max_bytes_per_user: out, limit of window bytes per user, 0 for none
 * @module_version: out, text ended by a zero byte
 */
struct vpeer_query {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
	__u32 api_version;
	__u64 features;
	__u64 granule;
	__u64 max_bytes_per_user;
	char module_version[32];
};

/* vpeer_attach.flags */
#define VPEER_ATTACH_FORCE	(1U << 0)	/* register BAR, or bounced DMA */
#define VPEER_ATTACH_CLEAN	(1U << 1)	/* memory is known to hold no one's data */
#define VPEER_ATTACH_FOREIGN	(1U << 2)	/* share @range of a BAR with its driver */

/**
 * struct vpeer_attach - VPEER_IOCTL_ATTACH, on /dev/vpeerctl
 * @argsz: size of this structure
 * @flags: VPEER_ATTACH_*
 * @reason: out, enum vpeer_reason
 * @domain: PCI segment of the function
 * @bus: bus number
 * @devfn: device number << 3 | function number
 * @bar: BAR index 0-5 or VPEER_BAR_AUTO
 * @reserved: 0
 * @index: out, N of the new node /dev/vpeerN
 * @range_offset: with VPEER_ATTACH_FOREIGN, start of the range in the BAR, a
 *	multiple of the granule; else 0
 * @range_size: with VPEER_ATTACH_FOREIGN, bytes, a multiple of the granule;
 *	else 0
 *
 * Makes vpeer the driver of the function, which must have no driver: the
 * aperture is *owned*. A function bound through sysfs (driver_override or
 * new_id and bind) gets flags 0 and VPEER_BAR_AUTO.
 *
 * With VPEER_ATTACH_FOREIGN the function keeps its driver, which must be
 * bound, and the aperture is the named range: the caller asserts that the
 * driver does not use it as long as the aperture exists, and that its memory
 * may be overwritten. Nothing outside it is ever touched. The aperture ends
 * when the driver is unbound. Resets of the function are not seen.
 */
struct vpeer_attach {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
	__u32 domain;
	__u8 bus;
	__u8 devfn;
	__u8 bar;
	__u8 reserved;
	__u32 index;
	__u64 range_offset;
	__u64 range_size;
};

/**
 * struct vpeer_detach - VPEER_IOCTL_DETACH, on /dev/vpeerctl
 * @argsz: size of this structure
 * @flags: 0
 * @reason: out, enum vpeer_reason
 * @domain: PCI segment of the function
 * @bus: bus number
 * @devfn: device number << 3 | function number
 * @reserved: 0
 * @pinned_bytes: out, bytes that initiators still hold pinned
 *
 * Revokes every window and ends the function's apertures, owned or foreign.
 * Returns 0, or EINPROGRESS when pins outlast the bounded wait: the apertures
 * are gone, their pinned memory stays quarantined until the last pin drops.
 */
struct vpeer_detach {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
	__u32 domain;
	__u8 bus;
	__u8 devfn;
	__u8 reserved[6];
	__u64 pinned_bytes;
};

/* vpeer_aperture_info.memory_type: caching of CPU mappings */
#define VPEER_MEMORY_WRITE_COMBINING	1
#define VPEER_MEMORY_UNCACHED		2

/* vpeer_aperture_info.kind */
#define VPEER_APERTURE_OWNED	1	/* vpeer is the function's driver */
#define VPEER_APERTURE_FOREIGN	2	/* a range of a BAR whose driver stays */

/**
 * struct vpeer_aperture_info - VPEER_IOCTL_APERTURE_INFO, on /dev/vpeerN
 * @argsz: size of this structure
 * @flags: 0
 * @reason: out, enum vpeer_reason
 * @domain: out, PCI segment
 * @bus: out, bus number
 * @devfn: out, device number << 3 | function number
 * @bar: out, BAR index
 * @reserved: 0
 * @memory_type: out, VPEER_MEMORY_*
 * @size: out, bytes of the aperture
 * @granule: out, bytes of a granule
 * @bytes_free: out, bytes no window holds
 * @bytes_pinned: out, bytes initiators hold pinned now; at least, since one
 *	pin may stand for a granule (registered buffers of io_uring)
 * @generation_offset: out, mmap() offset of the generation page
 * @windows: out, windows of all open files
 * @kind: out, VPEER_APERTURE_*
 * @bar_offset: out, where in the BAR the aperture starts
 */
struct vpeer_aperture_info {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
	__u32 domain;
	__u8 bus;
	__u8 devfn;
	__u8 bar;
	__u8 reserved;
	__u32 memory_type;
	__u64 size;
	__u64 granule;
	__u64 bytes_free;
	__u64 bytes_pinned;
	__u64 generation_offset;
	__u32 windows;
	__u32 kind;
	__u64 bar_offset;
};

/* vpeer_window_alloc.flags */
#define VPEER_ALLOC_FIXED	(1U << 0)	/* at @offset or not at all */

/**
 * struct vpeer_window_alloc - VPEER_IOCTL_WINDOW_ALLOC, on /dev/vpeerN
 * @argsz: size of this structure
 * @flags: VPEER_ALLOC_*
 * @reason: out, enum vpeer_reason
 * @slot: out, index of the window's 64-bit generation in the generation page
 * @size: in, bytes wanted, at least 1; out, bytes granted (whole granules)
 * @offset: in with VPEER_ALLOC_FIXED, a multiple of the granule; out, start
 *	of the window, also its mmap() offset
 *
 * The window belongs to the open file description: it is shared by fork()
 * and by passing the descriptor, and ends with VPEER_IOCTL_WINDOW_FREE or the
 * last close(). Its memory reads as zero at first.
 */
struct vpeer_window_alloc {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
	__u32 slot;
	__u64 size;
	__u64 offset;
};

/* vpeer_window_op.flags, revoke only */
#define VPEER_REVOKE_ALL	(1U << 0)	/* every window of the aperture; CAP_SYS_ADMIN */

/**
 * struct vpeer_window_op - VPEER_IOCTL_WINDOW_FREE and _REVOKE, on /dev/vpeerN
 * @argsz: size of this structure
 * @flags: VPEER_REVOKE_* for revoke, else 0
 * @reason: out, enum vpeer_reason
 * @timeout_ms: wait for pins at most this long; bounded by the module's
 *	revoke_wait_ms. Time that importers of DMA-bufs take to let go when
 *	they are told comes on top, without a bound of vpeer's
 * @offset: start of a window of this open file; 0 with VPEER_REVOKE_ALL
 * @pinned_bytes: out, bytes still pinned
 *
 * Both bump the generation, then stop CPU access: from then on every mapping
 * of the range raises SIGBUS. Return 0 when no access is possible from now
 * on, EINPROGRESS when initiators still hold pins after the wait. A revoked
 * window stays with its owner until freed; a freed one is reused once the
 * last pin has dropped and its memory was zeroed.
 */
struct vpeer_window_op {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
	__u32 timeout_ms;
	__u64 offset;
	__u64 pinned_bytes;
};

/**
 * struct vpeer_dmabuf - VPEER_IOCTL_DMABUF, on /dev/vpeerN
 * @argsz: size of this structure
 * @flags: 0
 * @reason: out, enum vpeer_reason
 * @fd: out, descriptor of the DMA-buf, close-on-exec; -1 if there is none, and
 *	unchanged where @argsz or what lies beyond this structure is refused
 * @offset: first byte, a multiple of the page size, in a window of this open
 *	file
 * @size: bytes, a multiple of the page size, at least one page; the range
 *	lies in one window
 *
 * Exports part of a window as a DMA-buf, for ibv_reg_dmabuf_mr() and other
 * importers that declare peer-to-peer DMA. The node must be open for reading
 * and writing.
 * What of the range holds someone's data is zeroed first, so the first export
 * of a large window may take as long as its first faults would.
 *
 * An importer's IOMMU maps the whole granules that the range lies in, and the
 * importer keeps its users to the range: export whole granules to who must not
 * reach the rest by a faulty device.
 *
 * The DMA-buf keeps the open file, and so the window, its place in the owner's
 * limit included, until its last descriptor, mapping and importer are gone. It
 * can be mapped with MAP_SHARED and passed on. A revocation of the window ends
 * it: importers are told and unmap; mappings raise SIGBUS; later ones and
 * DMA_BUF_IOCTL_SYNC fail with ENODEV.
 *
 * The time that importers' drivers take to let go is not part of timeout_ms and
 * revoke_wait_ms. Importers that pinned the memory and take no notice of a revocation keep
 * it, as pins of mapped pages do: EINPROGRESS.
 */
struct vpeer_dmabuf {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
	__s32 fd;
	__u64 offset;
	__u64 size;
};

/* vpeer_event.flags, one of them at most */
#define VPEER_EVENT_ADD		(1U << 0)	/* beside the program's own */
#define VPEER_EVENT_REMOVE	(1U << 1)	/* one that was added */

/**
 * struct vpeer_event - VPEER_IOCTL_EVENT, on /dev/vpeerN
 * @argsz: size of this structure
 * @flags: VPEER_EVENT_*
 * @reason: out, enum vpeer_reason
 * @fd: descriptor of an eventfd; without flags -1 for none from now on
 *
 * Without flags it is the program's own eventfd, of which an open file has one,
 * whoever shares the file; the call replaces it. It counts the windows of this
 * open file that are revoked from now on, each after its generation changed and
 * before its access ends: CPUs and importers may still reach the memory for a
 * moment. A window that is freed is not counted. It lasts as long as the open
 * file does, so while a DMA-buf or a mapping keeps that.
 * VPEER_IOCTL_WINDOW_INFO tells the cause, also when the aperture is gone.
 *
 * Libraries add eventfds of their own beside it, each process that shares the
 * open file as well, VPEER_MAX_EVENTFDS at most. These are signalled, once or
 * more, after the generation of a window of this open file has changed, also
 * when the window is freed or unmapped (see VPEER_MMAP_GENERATION), but not
 * when one is claimed. The generations then tell what is stale. An eventfd that
 * was added lasts as long as the open file does, even when its descriptors are
 * closed and its process has ended, or until it is removed by a descriptor of
 * the same eventfd.
 */
struct vpeer_event {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
	__s32 fd;
};

/* vpeer_window_info.flags */
#define VPEER_INFO_NEXT		(1U << 0)	/* first window at or after @offset */

/* vpeer_window_info.state */
#define VPEER_WINDOW_ACTIVE	1
#define VPEER_WINDOW_REVOKED	2

/**
 * struct vpeer_window_info - VPEER_IOCTL_WINDOW_INFO, on /dev/vpeerN
 * @argsz: size of this structure
 * @flags: VPEER_INFO_*
 * @reason: out, enum vpeer_reason
 * @state: out, VPEER_WINDOW_*
 * @offset: in, any byte of a window of this open file; out, its start
 * @size: out, bytes
 * @pinned_bytes: out, bytes initiators hold pinned now: pages, and DMA-bufs
 *	whose importer takes no notice of revocations; of a revoked window also
 *	what importers that are told have yet to let go. 0 once the aperture
 *	is gone: what is held then is in quarantine, which sysfs lists
 * @generation: out, current generation
 * @slot: out, index in the generation page
 * @mappings: out, live CPU mappings
 * @implicit: out, 1 when claimed by a plain mmap()
 * @cause: out, enum vpeer_cause
 * @mapped_bytes: out, bytes of DMA-bufs that importers have mapped, pinned or
 *	not
 * @dmabufs: out, DMA-bufs of the window
 * @reserved: 0
 */
struct vpeer_window_info {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
	__u32 state;
	__u64 offset;
	__u64 size;
	__u64 pinned_bytes;
	__u64 generation;
	__u32 slot;
	__u32 mappings;
	__u32 implicit;
	__u32 cause;
	__u64 mapped_bytes;
	__u32 dmabufs;
	__u32 reserved;
};

/* vpeer_path_function.iommu: how DMA addresses of the function are treated */
#define VPEER_IOMMU_UNKNOWN	0	/* no driver has it do DMA for this kernel (VFIO) */
#define VPEER_IOMMU_NONE	1	/* it is behind no IOMMU that this kernel drives */
#define VPEER_IOMMU_IDENTITY	2	/* they pass as they are */
#define VPEER_IOMMU_DMA		3	/* translated; what is unmapped ends at once */
#define VPEER_IOMMU_DMA_LAZY	4	/* translated; what is unmapped ends a little later */
#define VPEER_IOMMU_OTHER	5	/* a kind that this list has not */

/* vpeer_path_bridge.flags, vpeer_path_function.flags */
#define VPEER_FUNCTION_PCIE	(1U << 0)	/* type is set */
#define VPEER_FUNCTION_ACS	(1U << 1)	/* has the ACS capability: acs_* are set */

/* vpeer_path_function.flags only */
#define VPEER_FUNCTION_ATS	(1U << 2)	/* has the ATS capability: ats_* are set */
#define VPEER_FUNCTION_CLIQUE	(1U << 3)	/* has a clique capability: clique* are set */
#define VPEER_FUNCTION_VIRTUAL	(1U << 4)	/* this kernel knows it as a VF */
#define VPEER_FUNCTION_PF	(1U << 5)	/* and sees its PF: pf_* are set */

#define VPEER_PATH_BRIDGES	8

/**
 * struct vpeer_path_bridge - a bridge above a function
 * @domain: PCI segment
 * @bus: bus number of its upper side
 * @devfn: device number << 3 | function number
 * @type: PCI_EXP_TYPE_* of linux/pci_regs.h
 * @flags: VPEER_FUNCTION_*
 * @vendor: vendor ID
 * @device: device ID
 * @acs_cap: ACS capability register
 * @acs_control: ACS control register
 */
struct vpeer_path_bridge {
	__u32 domain;
	__u8 bus;
	__u8 devfn;
	__u8 type;
	__u8 flags;
	__u16 vendor;
	__u16 device;
	__u16 acs_cap;
	__u16 acs_control;
};

/**
 * struct vpeer_path_function - one end of a path
 * @domain: PCI segment
 * @bus: bus number
 * @devfn: device number << 3 | function number
 * @type: PCI_EXP_TYPE_* of linux/pci_regs.h
 * @root_bus: number of the bus below its host bridge
 * @flags: VPEER_FUNCTION_*
 * @vendor: vendor ID
 * @device: device ID
 * @acs_cap: ACS capability register
 * @acs_control: ACS control register
 * @ats_cap: ATS capability register; invalidate queue depth in bits 4:0
 * @ats_control: ATS control register; enabled in bit 15, STU in bits 4:0
 * @numa_node: NUMA node, -1 if it is not known
 * @iommu: VPEER_IOMMU_*
 * @pf_bus: bus number of the PF
 * @pf_devfn: device and function number of the PF
 * @clique: number of the group of GPUs that the VMM says reach each other
 * @clique_version: version of that capability
 * @bridge_count: bridges between function and host bridge; may be more than
 *	VPEER_PATH_BRIDGES, of which @bridges has the nearest
 * @dma_mask: addresses that the function can form, as its driver says: all up to
 *	this one; 0 if it does no DMA
 * @bridges: the nearest first. A VF is below its PF's bridges
 * @driver: name of its driver, cut to 31 bytes, ended by a zero byte; empty
 *	for none
 * @reserved: 0
 */
struct vpeer_path_function {
	__u32 domain;
	__u8 bus;
	__u8 devfn;
	__u8 type;
	__u8 root_bus;
	__u32 flags;
	__u16 vendor;
	__u16 device;
	__u16 acs_cap;
	__u16 acs_control;
	__u16 ats_cap;
	__u16 ats_control;
	__s32 numa_node;
	__u32 iommu;
	__u8 pf_bus;
	__u8 pf_devfn;
	__u8 clique;
	__u8 clique_version;
	__u32 bridge_count;
	__u64 dma_mask;
	struct vpeer_path_bridge bridges[VPEER_PATH_BRIDGES];
	char driver[32];
	__u64 reserved[2];
};

/* vpeer_path_report.facts */
#define VPEER_PATH_SAME_ROOT	(1U << 0)	/* both are below one host bridge */
#define VPEER_PATH_COMMON	(1U << 1)	/* both are below bridge common_* */
#define VPEER_PATH_TRANSLATED	(1U << 2)	/* an IOMMU translates the initiator's DMA */
#define VPEER_PATH_REACHES	(1U << 3)	/* the initiator can form every bus address */
#define VPEER_PATH_BOUNCED	(1U << 4)	/* swiotlb=force is on for the initiator */
#define VPEER_PATH_HYPERVISOR	(1U << 5)	/* the CPU says that this is a guest */

/* vpeer_path_report.hypervisor */
#define VPEER_HYPERVISOR_UNKNOWN	0	/* none, hidden, or one this list has not */
#define VPEER_HYPERVISOR_KVM		1
#define VPEER_HYPERVISOR_HYPERV		2
#define VPEER_HYPERVISOR_VMWARE		3
#define VPEER_HYPERVISOR_XEN		4
#define VPEER_HYPERVISOR_JAILHOUSE	5
#define VPEER_HYPERVISOR_ACRN		6
#define VPEER_HYPERVISOR_QEMU		7	/* emulated CPU, no KVM */

/**
 * struct vpeer_path_report - VPEER_IOCTL_PATH_REPORT, on /dev/vpeerN
 * @argsz: size of this structure
 * @flags: 0
 * @reason: out, enum vpeer_reason
 * @domain: PCI segment of the initiator
 * @bus: bus number
 * @devfn: device number << 3 | function number
 * @reserved: 0
 * @bar: out, BAR index of the aperture
 * @address: out, where CPUs find the aperture's start
 * @bus_address: out, where other functions find it, untranslated
 * @size: out, bytes of the aperture
 * @bar_offset: out, where in the BAR the aperture starts
 * @facts: out, VPEER_PATH_*
 * @distance: out, bridges between the two, @common_bus included, host bridges
 *	not
 * @common_domain: out, PCI segment of the lowest bridge above both
 * @common_bus: out, bus number of its upper side
 * @common_devfn: out, device number << 3 | function number
 * @reserved2: 0
 * @dmabuf_reason: out, enum vpeer_reason: why the initiator cannot be given
 *	the aperture as DMA-bufs; VPEER_REASON_NONE if nothing is known against
 *	it
 * @pages_reason: out, the same for mappings that are pinned: DMA there would
 *	fail, or be bounced
 * @hypervisor: out, VPEER_HYPERVISOR_*, as this kernel found it
 * @reserved3: 0
 * @signature: out, the hypervisor's own name in the CPU's leaf 0x40000000,
 *	ended by a zero byte
 * @aperture: out
 * @initiator: out
 * @reserved4: 0
 *
 * What the guest sees of the path between the two; only a transfer proves it.
 * Bridges and IOMMU of the host are not seen. A VF that a VMM passed through
 * looks like any other function: VPEER_FUNCTION_VIRTUAL is of VFs that this
 * kernel made, or that firmware calls so. Reasons are of the whole aperture and
 * of the driver that the initiator has now, which may yet import no DMA-bufs.
 *
 * Registers are read, never written. This shows who may open the node what
 * sysfs shows to everybody, and of ACS, ATS and clique what it shows to root
 * alone.
 */
struct vpeer_path_report {
	__u32 argsz;
	__u32 flags;
	__u32 reason;
	__u32 domain;
	__u8 bus;
	__u8 devfn;
	__u8 reserved[2];
	__u32 bar;
	__u64 address;
	__u64 bus_address;
	__u64 size;
	__u64 bar_offset;
	__u32 facts;
	__u32 distance;
	__u32 common_domain;
	__u8 common_bus;
	__u8 common_devfn;
	__u8 reserved2[2];
	__u32 dmabuf_reason;
	__u32 pages_reason;
	__u32 hypervisor;
	__u32 reserved3;
	char signature[16];
	struct vpeer_path_function aperture;
	struct vpeer_path_function initiator;
	__u64 reserved4[8];
};

#define VPEER_IOCTL_QUERY		_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 0)
#define VPEER_IOCTL_ATTACH		_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 1)
#define VPEER_IOCTL_DETACH		_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 2)
#define VPEER_IOCTL_APERTURE_INFO	_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 3)
#define VPEER_IOCTL_WINDOW_ALLOC	_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 4)
#define VPEER_IOCTL_WINDOW_FREE		_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 5)
#define VPEER_IOCTL_WINDOW_REVOKE	_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 6)
#define VPEER_IOCTL_WINDOW_INFO		_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 7)
#define VPEER_IOCTL_DMABUF		_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 8)
#define VPEER_IOCTL_EVENT		_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 9)
#define VPEER_IOCTL_PATH_REPORT		_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 10)

/*
 * mmap() of /dev/vpeerN
 *
 * Offsets below the aperture's size map the BAR, MAP_SHARED only. A range
 * inside one window of this open file maps it; a range of granules that no
 * one owns claims them as an implicit window, which ends with its last
 * mapping and pin; anything else fails with EBUSY. The mapping is neither
 * dumped in core files nor grown by mremap().
 *
 * VPEER_MMAP_GENERATION maps one read-only page of 64-bit generations, one
 * per window slot of this open file. A window's generation changes before
 * its access is revoked or its slot reused, so a cached registration is good
 * as long as an acquire load of its generation gives the value it was made
 * with.
 *
 * It also changes when a mapping of the window, or of a DMA-buf of it, loses
 * addresses, and before other memory can have them, so that a registration can
 * be cached by address: by munmap() of all or of a part, by a mapping that is
 * put over it, and by mremap() that moves or shrinks it. It does not change by
 * mprotect(), even where that cuts the mapping, nor by madvise(): memory and
 * addresses stay together. Nor does it by exit or exec, after which no one has
 * these addresses. Processes that share the open file by fork() share the
 * generation: when one unmaps its copy, the others have to register anew, which
 * costs time and no more.
 *
 * What is unmapped changes the lower half of a generation only, so a change of
 * the upper half tells that access ends, and who holds a registration need not
 * mind other changes: it goes on reaching the window.
 */
#define VPEER_MMAP_GENERATION	(1ULL << 56)
#define VPEER_GENERATION_ACCESS	(1ULL << 32)	/* the upper half counts these */

#endif /* _UAPI_VPEER_IOCTL_H */
