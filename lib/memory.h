/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a pointer points to, and how to reach it. One file a kind of memory; what
 * registers knows kinds only through struct vpeer_memory_ops.
 */
#ifndef VPEER_MEMORY_H
#define VPEER_MEMORY_H

#include <stdbool.h>

#include "internal.h"

struct vpeer_maps;	/* what is mapped around a range */
struct vpeer_finder;	/* what finding memory needs: owners of windows, the CUDA driver */
struct vpeer_memory_ops;
struct vpeer_owner;	/* an open file of a node, through a descriptor of our own */
struct vpeer_cuda_memory;

/*
 * Memory that was identified. vpeer_memory_release() gives back what it holds:
 * a registration keeps it as long as it lives, since word must stay readable.
 */
struct vpeer_memory {
	const struct vpeer_memory_ops *ops;
	uint32_t kind;		/* enum vpeer_memory_kind */
	uint64_t start;		/* as asked */
	uint64_t length;
	uint64_t base;		/* allocation, or what of the window is mapped in one piece */
	uint64_t base_length;
	bool writable;		/* CPUs may write it, or it does not matter */
	bool cacheable;		/* a registration of it can be known to be good */
	const char *uncached;	/* why it is not, where one would expect it; or NULL */
	bool exportable;	/* export() has a chance */
	bool device_known;
	struct vpeer_pci_address device;
	char who[128];		/* for messages: PCI address and BAR, GPU, or address range */

	/*
	 * A registration is good while *word == seen, or, if there is no word,
	 * while ops->valid() says so. Read before anything that it vouches for.
	 */
	const uint64_t *word;
	uint64_t seen;
	uint64_t aperture_id;	/* windows: whose share it counts against: dev << 32 | inode */
	uint64_t aperture_size;

	union {
		struct {
			struct vpeer_owner *owner;	/* NULL: nobody's descriptor is left: pages only */
			uint64_t offset;		/* of base, from the start of the aperture */
			char node[64];			/* path, as the mapping has it */
		} window;
		struct {
			int fd;				/* a descriptor of our own, or -1: a mapping of one */
			uint64_t offset;		/* of start, in the DMA-buf */
			uint64_t size;
			char name[64];
		} dmabuf;
		struct vpeer_cuda_memory *cuda;
	};
};

/* vpeer_memory_ops.export() */
#define VPEER_EXPORT_PCIE	(1U << 0)	/* CUDA: the mapping type that is not the first choice */

struct vpeer_memory_ops {
	const char *name;
	uint32_t routes;	/* mask of VPEER_ROUTE_BIT() that can make sense */

	/*
	 * 1: it is of this kind, and @memory, whose start and length are set, is filled in;
	 * 0: it is not; -EAGAIN: mappings changed meanwhile; -errno: it is, but cannot be used.
	 * @maps: of the range; NULL for CUDA memory, which mappings tell nothing of.
	 */
	int (*identify)(struct vpeer_finder *finder, const struct vpeer_maps *maps,
			struct vpeer_memory *memory, struct vpeer_error *error);

	/* A DMA-buf of whole pages around a range of it; the caller closes @fd. @offset: of @start in it. */
	int (*export)(struct vpeer_memory *memory, uint64_t start, uint64_t length,
		      unsigned int flags, int *fd, uint64_t *offset, struct vpeer_error *error);

	/* Before its first registration; NULL if nothing is to be done. */
	int (*prepare)(struct vpeer_memory *memory, struct vpeer_error *error);

	/* For staging: between host memory and it. NULL: CPUs copy. */
	int (*copy)(struct vpeer_memory *memory, uint64_t address, void *host, size_t length,
		    bool to_host, struct vpeer_error *error);

	/* See vpeer_memory.word; called on any thread, at each hit. NULL: good until invalidated. */
	bool (*valid)(const struct vpeer_memory *memory);

	/* Why ibv_reg_mr() gave @err for it, more precisely than errno: 0 if nothing better is known. */
	unsigned int (*explain)(const struct vpeer_memory *memory, unsigned int route, int err);

	/* What is known beside @reason; NULL: nothing. Static text. */
	const char *(*remark)(const struct vpeer_memory *memory, unsigned int reason);

	/* @memory is a copy: takes holds of its own. NULL, and no release(): it holds nothing. */
	int (*share)(struct vpeer_memory *memory);

	void (*release)(struct vpeer_memory *memory);
};

/*
 * @eventfd: signalled when the generation of a window changes that was found
 * through this finder; -1 for none. Finders are used by several threads.
 */
int vpeer_finder_create(struct vpeer_finder **finder, int eventfd, struct vpeer_error *error);
void vpeer_finder_destroy(struct vpeer_finder *finder);

/* In a child of fork(): frees memory, touches nothing that is shared with the parent. */
void vpeer_finder_abandon(struct vpeer_finder *finder);

/* Gives up descriptors and pages of open files of which no memory is left. */
void vpeer_finder_trim(struct vpeer_finder *finder);

/* What [start, start + length) is; start + length does not wrap. */
int vpeer_memory_identify(struct vpeer_finder *finder, uint64_t start, uint64_t length,
			  struct vpeer_memory *memory, struct vpeer_error *error);

/* What a descriptor of a DMA-buf is: duplicated, @memory->start is @iova. */
int vpeer_memory_from_dmabuf(int fd, uint64_t offset, uint64_t length, uint64_t iova,
			     struct vpeer_memory *memory, struct vpeer_error *error);

bool vpeer_memory_valid(const struct vpeer_memory *memory);
int vpeer_memory_export(struct vpeer_memory *memory, uint64_t start, uint64_t length,
			unsigned int flags, int *fd, uint64_t *offset, struct vpeer_error *error);
void vpeer_memory_release(struct vpeer_memory *memory);

/* A second hold on the same memory, for a second registration. */
int vpeer_memory_share(const struct vpeer_memory *memory, struct vpeer_memory *shared);

extern const struct vpeer_memory_ops vpeer_memory_host;
extern const struct vpeer_memory_ops vpeer_memory_window;
extern const struct vpeer_memory_ops vpeer_memory_dmabuf;
extern const struct vpeer_memory_ops vpeer_memory_cuda;

#endif /* VPEER_MEMORY_H */
