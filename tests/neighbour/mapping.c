// SPDX-License-Identifier: GPL-2.0-only
/* The ways in which drivers map a BAR. */
#include <linux/err.h>
#include <linux/io.h>
#include <linux/mm.h>

#include "neighbour.h"

static int neighbour_map_pages(struct neighbour_file *file, resource_size_t start,
			       u64 size)
{
	memset(&file->pgmap, 0, sizeof(file->pgmap));
	file->pgmap.type = MEMORY_DEVICE_GENERIC;
	file->pgmap.range.start = start;
	file->pgmap.range.end = start + size - 1;
	file->pgmap.nr_range = 1;
	file->memory = memremap_pages(&file->pgmap, NUMA_NO_NODE);
	if (!IS_ERR(file->memory))
		return 0;
	file->memory = NULL;
	return -EBUSY;
}

static int neighbour_map_kernel(struct neighbour_file *file, resource_size_t start,
				u64 size, u32 kind)
{
	switch (kind) {
	case NEIGHBOUR_IOREMAP:
		file->io = ioremap(start, size);
		break;
	case NEIGHBOUR_IOREMAP_WC:
		file->io = ioremap_wc(start, size);
		break;
	case NEIGHBOUR_IOREMAP_UC:
		file->io = ioremap_uc(start, size);
		break;
	case NEIGHBOUR_MEMREMAP_WB:
		file->memory = memremap(start, size, MEMREMAP_WB);
		break;
	case NEIGHBOUR_PAGES:
		return neighbour_map_pages(file, start, size);
	case NEIGHBOUR_USER:
	case NEIGHBOUR_USER_NONCACHED:
	case NEIGHBOUR_USER_WRITECOMBINE:
		return 0;
	default:
		return -EINVAL;
	}
	return file->io || file->memory ? 0 : -EBUSY;
}

int neighbour_map(struct neighbour_file *file, const struct neighbour_map *map)
{
	struct pci_dev *pdev = file->owner->pdev;
	int ret;

	if (file->owner->gone)
		return -ENODEV;
	if (file->map.kind)
		return -EBUSY;
	if (map->reserved || !map->size || !PAGE_ALIGNED(map->offset | map->size) ||
	    map->offset > pci_resource_len(pdev, NEIGHBOUR_BAR) ||
	    map->size > pci_resource_len(pdev, NEIGHBOUR_BAR) - map->offset)
		return -EINVAL;
	ret = neighbour_map_kernel(file, pci_resource_start(pdev, NEIGHBOUR_BAR) + map->offset,
				   map->size, map->kind);
	if (!ret)
		file->map = *map;
	return ret;
}

void neighbour_unmap(struct neighbour_file *file)
{
	switch (file->map.kind) {
	case NEIGHBOUR_NONE:
		return;
	case NEIGHBOUR_MEMREMAP_WB:
		memunmap(file->memory);
		break;
	case NEIGHBOUR_PAGES:
		memunmap_pages(&file->pgmap);
		break;
	case NEIGHBOUR_IOREMAP:
	case NEIGHBOUR_IOREMAP_WC:
	case NEIGHBOUR_IOREMAP_UC:
		iounmap(file->io);
		break;
	default:
		unmap_mapping_range(file->mapping, 0, 0, 1);
	}
	file->io = NULL;
	file->memory = NULL;
	file->map.kind = NEIGHBOUR_NONE;
}

int neighbour_map_user(struct neighbour_file *file, struct vm_area_struct *vma)
{
	resource_size_t start = pci_resource_start(file->owner->pdev, NEIGHBOUR_BAR);
	unsigned long size = vma->vm_end - vma->vm_start;

	switch (file->map.kind) {
	case NEIGHBOUR_USER:
		break;
	case NEIGHBOUR_USER_NONCACHED:
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
		break;
	case NEIGHBOUR_USER_WRITECOMBINE:
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
		break;
	default:
		return -ENXIO;
	}
	if (vma->vm_pgoff || size != file->map.size)
		return -EINVAL;
	return remap_pfn_range(vma, vma->vm_start, PHYS_PFN(start + file->map.offset),
			       size, vma->vm_page_prot);
}

/* Of a place in the kernel's mapping; NULL if it is not all there. */
void __iomem *neighbour_address(struct neighbour_file *file, u64 place, u64 size)
{
	if (place > file->map.size || size > file->map.size - place)
		return NULL;
	if (file->memory)
		return (void __iomem *)file->memory + place;
	return file->io ? file->io + place : NULL;
}
