/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/importer: each open file imports one DMA-buf at a time for a PCI function. */
#ifndef IMPORTER_H
#define IMPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define IMPORTER_PATH	"/dev/importer"

enum importer_mode {
	IMPORTER_DYNAMIC,	/* told, and unmaps then */
	IMPORTER_REVOCABLE,	/* pins, and is told; EOPNOTSUPP before Linux 7.1 */
	IMPORTER_PINNED,	/* pins, and does nothing when told */
	IMPORTER_STATIC,	/* without operations of an importer */
	IMPORTER_NO_PEER,	/* dynamic, for memory with pages only */
	IMPORTER_MODES,
};

/* What is not 0 changes the function until the file is closed. */
struct importer_setup {
	__u32 domain;
	__u8 bus;
	__u8 devfn;
	__u16 mode;
	__u32 mask_bits;
	__u32 max_segment;
	__u64 boundary;		/* segments do not cross its multiples; a power of 2 */
};

/* Once a file. */
#define IMPORTER_SETUP	_IOW('J', 0, struct importer_setup)

/* A descriptor's DMA-buf; each of these undoes what came after it, too. */
#define IMPORTER_ATTACH	_IOW('J', 1, __s32)
#define IMPORTER_MAP	_IO('J', 2)
#define IMPORTER_UNMAP	_IO('J', 3)
#define IMPORTER_DETACH	_IO('J', 4)

struct importer_segment {
	__u64 address;
	__u64 length;
};

/* Of the mapping; of more segments than there is room for the first ones are given. */
struct importer_segments {
	__u64 segments;		/* the user's struct importer_segment[] */
	__u32 room;
	__u32 count;		/* out */
	__u32 orig_nents;	/* out */
	__u32 pages;		/* out: entries that have a page */
};

#define IMPORTER_SEGMENTS	_IOWR('J', 5, struct importer_segments)
#define IMPORTER_MOST_SEGMENTS	(1u << 20)

/*
 * Where the device comes out with the addresses of the mapping: each segment's
 * bytes at multiples of @step, and its last one.
 */
struct importer_check {
	__u64 physical;		/* where the first one is, or IMPORTER_ITS_PAGES */
	__u64 step;
	__u64 checked;		/* out */
	__u64 wrong;		/* out */
	__u64 offset;		/* out: of the first wrong one in the mapping */
	__u64 found;		/* out: what it is */
};

#define IMPORTER_CHECK		_IOWR('J', 6, struct importer_check)
#define IMPORTER_ITS_PAGES	(~0ULL)

struct importer_state {
	__u32 notified;		/* how often */
	__u32 mapped;
	__u32 pinned;
	__u32 translated;	/* an IOMMU is between function and memory */
};

#define IMPORTER_STATE	_IOR('J', 7, struct importer_state)

/* 1: it unmaps when asked here, not when told; 0 is how it begins. */
#define IMPORTER_SLOW	_IOW('J', 8, __u32)

/* Something that it is still doing with the DMA-buf, until signalled or closed. */
enum importer_usage {
	IMPORTER_READS,
	IMPORTER_BOOKKEEPS,
};

#define IMPORTER_FENCE	_IOW('J', 9, __u32)
#define IMPORTER_SIGNAL	_IO('J', 10)

/* Where the function comes out with an address, mapped or not; 0: nowhere. */
#define IMPORTER_RESOLVE _IOWR('J', 11, __u64)

#endif
