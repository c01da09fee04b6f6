/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What vgpu and those who use it agree on. All numbers little endian.
 *
 * BAR 0 holds registers, BAR 2 the aperture, BAR 4 the MSI-X table. Memory is larger than the
 * aperture and consists of pages. A page is kept where it is mapped: mapping one moves its bytes
 * into the aperture, unmapping moves them back and leaves ones in the aperture's page. What is
 * written to a page of the aperture where nothing is mapped never reaches memory and is lost when
 * a page is mapped there. The engine works on memory, wherever it is kept: it is the owner's view.
 *
 * After a reset all memory is zero, page N of memory is mapped at page N of the aperture as far as
 * that goes, these pages are allocated and all others are free.
 */
#ifndef VGPU_REGS_H
#define VGPU_REGS_H

#define VGPU_VENDOR	0x1234
#define VGPU_DEVICE	0x7667
#define VGPU_MAGIC	0x75706776	/* "vgpu" */
#define VGPU_VERSION	1
#define VGPU_NO_PAGE	0xffffffff

/*
 * BAR 0, 4 KiB. R: read only, W: written and read back. Accesses are 4 bytes, or 8 where "u64".
 * Everything else reads as ones.
 */
enum vgpu_register {
	VGPU_REG_MAGIC = 0x00,		/* R */
	VGPU_REG_VERSION = 0x04,	/* R */
	VGPU_REG_MEMORY_SIZE = 0x08,	/* R, u64 */
	VGPU_REG_APERTURE_SIZE = 0x10,	/* R, u64 */
	VGPU_REG_PAGE_SIZE = 0x18,	/* R */
	VGPU_REG_FREE_PAGES = 0x1c,	/* R */
	VGPU_REG_SOURCE = 0x20,		/* W, u64: memory address */
	VGPU_REG_DESTINATION = 0x28,	/* W, u64: memory address */
	VGPU_REG_LENGTH = 0x30,		/* W, u64: bytes */
	VGPU_REG_PATTERN = 0x38,	/* W, u64 */
	VGPU_REG_PAGE = 0x40,		/* W: of memory */
	VGPU_REG_APERTURE_PAGE = 0x44,	/* W */
	VGPU_REG_COUNT = 0x48,		/* W: pages */
	VGPU_REG_OPERATION = 0x4c,	/* W: enum vgpu_operation */
	VGPU_REG_GO = 0x50,		/* W: VGPU_GO_*; ignored while an operation runs */
	VGPU_REG_STATUS = 0x54,		/* R: enum vgpu_status of the last operation */
	VGPU_REG_RESULT = 0x58,		/* R, u64 */
	VGPU_REG_INVALIDATIONS = 0x60,	/* R, u64: pages that were unmapped since the reset */
	VGPU_REG_MAPPED = 0x68,		/* R: page of memory at APERTURE_PAGE, or VGPU_NO_PAGE */
};

#define VGPU_GO_START		(1u << 0)
#define VGPU_GO_INTERRUPT	(1u << 1)	/* vector 0 when it is done, well or not */

enum vgpu_operation {
	VGPU_FILL = 1,		/* LENGTH bytes at DESTINATION: PATTERN's 8, repeated */
	VGPU_COPY,		/* from SOURCE to DESTINATION, which must not overlap */
	VGPU_CHECKSUM,		/* RESULT: FNV-1a, 64 bits, of the bytes from SOURCE */
	VGPU_COMPARE,		/* RESULT: first byte in which they differ, or LENGTH */
	VGPU_ALLOC,		/* RESULT: first of COUNT pages in a row that were free */
	VGPU_FREE,		/* COUNT pages from PAGE, all allocated, none mapped */
	VGPU_MAP,		/* such pages, at APERTURE_PAGE and on, where none is mapped */
	VGPU_UNMAP,		/* COUNT pages from APERTURE_PAGE on, all mapped */
};

enum vgpu_status {
	VGPU_IDLE,		/* nothing was asked for since the reset */
	VGPU_RUNNING,
	VGPU_DONE,
	VGPU_BAD_ARGUMENT,	/* nothing has changed */
	VGPU_NO_MEMORY,		/* no so many free pages in a row */
};

#define VGPU_FNV_BASIS	0xcbf29ce484222325ULL
#define VGPU_FNV_PRIME	0x100000001b3ULL

#endif
