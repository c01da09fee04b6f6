/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /dev/neighbour-ADDRESS: what a GPU's own driver may do with its BAR. An open
 * file has at most one mapping, which lasts until the file is closed or the
 * driver unbound. read() and write() go through it.
 */
#ifndef NEIGHBOUR_IOCTL_H
#define NEIGHBOUR_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The BAR of the lab's ivshmem function. */
#define NEIGHBOUR_BAR	2

enum neighbour_kind {
	NEIGHBOUR_NONE,
	NEIGHBOUR_IOREMAP,
	NEIGHBOUR_IOREMAP_WC,
	NEIGHBOUR_IOREMAP_UC,
	NEIGHBOUR_MEMREMAP_WB,
	NEIGHBOUR_PAGES,	/* struct pages of its own */
	/* mmap() of the file, with vm_page_prot as it is, or changed. */
	NEIGHBOUR_USER,
	NEIGHBOUR_USER_NONCACHED,
	NEIGHBOUR_USER_WRITECOMBINE,
};

/**
 * struct neighbour_map - NEIGHBOUR_MAP
 * @offset: in the BAR
 * @size: bytes
 * @kind: enum neighbour_kind
 * @reserved: 0
 */
struct neighbour_map {
	__u64 offset;
	__u64 size;
	__u32 kind;
	__u32 reserved;
};

/* Memory types as the processor's page attribute table encodes them. */
#define NEIGHBOUR_TYPE_UC	0
#define NEIGHBOUR_TYPE_WC	1
#define NEIGHBOUR_TYPE_WB	6
#define NEIGHBOUR_TYPE_UC_MINUS	7

enum neighbour_side {
	NEIGHBOUR_SIDE_DRIVER,	/* @place: offset in the file's mapping */
	NEIGHBOUR_SIDE_LINEAR,	/* @place: offset in the BAR, in the kernel's linear map */
	NEIGHBOUR_SIDE_USER,	/* @place: address in the caller */
};

/**
 * struct neighbour_type - NEIGHBOUR_TYPE
 * @place: as @side says
 * @side: enum neighbour_side
 * @type: out, NEIGHBOUR_TYPE_*
 *
 * Fails with ENXIO where nothing is mapped.
 */
struct neighbour_type {
	__u64 place;
	__u32 side;
	__u32 type;
};

/**
 * struct neighbour_events - NEIGHBOUR_EVENTS
 * @reset_prepare: out, calls of that handler since the driver was bound
 * @reset_done: out
 * @error_detected: out
 * @reserved: 0
 */
struct neighbour_events {
	__u32 reset_prepare;
	__u32 reset_done;
	__u32 error_detected;
	__u32 reserved;
};

#define NEIGHBOUR_MAP		_IOW('n', 0x40, struct neighbour_map)
#define NEIGHBOUR_TYPE		_IOWR('n', 0x41, struct neighbour_type)
#define NEIGHBOUR_EVENTS	_IOR('n', 0x42, struct neighbour_events)

#endif /* NEIGHBOUR_IOCTL_H */
