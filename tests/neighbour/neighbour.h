/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NEIGHBOUR_H
#define NEIGHBOUR_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/pci.h>

#include "neighbour_ioctl.h"

/**
 * struct neighbour - one function
 * @refs: one for the driver, one per open file
 * @lock: guards @gone, @files and what the files have mapped
 * @gone: the driver was unbound
 * @requested: the BAR's region is claimed
 */
struct neighbour {
	struct kref refs;
	struct miscdevice misc;
	struct pci_dev *pdev;
	struct mutex lock;	/* see above */
	struct list_head files;
	bool gone;
	bool requested;
	atomic_t reset_prepare;
	atomic_t reset_done;
	atomic_t error_detected;
};

/**
 * struct neighbour_file - an open file and its mapping
 * @node: entry of neighbour.files
 * @mapping: where its VMAs are found
 * @map: what it has mapped; kind NEIGHBOUR_NONE for nothing
 * @io: by ioremap() and its kin
 * @memory: by memremap() or memremap_pages()
 */
struct neighbour_file {
	struct list_head node;
	struct neighbour *owner;
	struct address_space *mapping;
	struct neighbour_map map;
	void __iomem *io;
	void *memory;
	struct dev_pagemap pgmap;
};

/* driver.c */
void neighbour_put(struct neighbour *n);

/* node.c */
int neighbour_node_add(struct neighbour *n);
void neighbour_node_remove(struct neighbour *n);

/* mapping.c: all with the neighbour's lock held */
int neighbour_map(struct neighbour_file *file, const struct neighbour_map *map);
void neighbour_unmap(struct neighbour_file *file);
int neighbour_map_user(struct neighbour_file *file, struct vm_area_struct *vma);
void __iomem *neighbour_address(struct neighbour_file *file, u64 place, u64 size);

/* memory_type.c */
int neighbour_type(struct neighbour_file *file, struct neighbour_type *type);

#endif /* NEIGHBOUR_H */
