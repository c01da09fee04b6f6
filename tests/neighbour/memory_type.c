// SPDX-License-Identifier: GPL-2.0-only
/* Memory types as the page tables have them. */
#include <linux/mm.h>
#include <linux/sched.h>

#include <asm/msr.h>
#include <asm/msr-index.h>

#include "neighbour.h"

/* A page table entry selects one of the eight types in this register. */
static int neighbour_decode(u64 entry, unsigned int level, u32 *type)
{
	u64 high_bit = level == PG_LEVEL_4K ? _PAGE_PAT : _PAGE_PAT_LARGE;
	unsigned int index = 0;
	u32 types[2];

	if (!(entry & _PAGE_PRESENT))
		return -ENXIO;
	if (entry & _PAGE_PWT)
		index |= 1;
	if (entry & _PAGE_PCD)
		index |= 2;
	if (entry & high_bit)
		index |= 4;
	rdmsr(MSR_IA32_CR_PAT, types[0], types[1]);
	*type = types[index / 4] >> (8 * (index % 4)) & 0xff;
	return 0;
}

static int neighbour_kernel_type(unsigned long address, u32 *type)
{
	unsigned int level;
	pte_t *pte = lookup_address(address, &level);

	return pte ? neighbour_decode(pte_val(*pte), level, type) : -ENXIO;
}

/* With the caller's mmap lock held: page tables stay. */
static int neighbour_walk(struct mm_struct *mm, unsigned long address, u32 *type)
{
	pgd_t *pgd = pgd_offset(mm, address);
	p4d_t *p4d;
	pud_t *pud;
	pmd_t *pmd;

	if (pgd_none(*pgd))
		return -ENXIO;
	p4d = p4d_offset(pgd, address);
	if (p4d_none(*p4d))
		return -ENXIO;
	pud = pud_offset(p4d, address);
	if (pud_none(*pud))
		return -ENXIO;
	if (pud_leaf(*pud))
		return neighbour_decode(pud_val(*pud), PG_LEVEL_1G, type);
	pmd = pmd_offset(pud, address);
	if (pmd_none(*pmd))
		return -ENXIO;
	if (pmd_leaf(*pmd))
		return neighbour_decode(pmd_val(*pmd), PG_LEVEL_2M, type);
	return neighbour_decode(pte_val(*pte_offset_kernel(pmd, address)),
				PG_LEVEL_4K, type);
}

static int neighbour_user_type(unsigned long address, u32 *type)
{
	struct mm_struct *mm = current->mm;
	int ret;

	if (address >= TASK_SIZE)
		return -EINVAL;
	mmap_read_lock(mm);
	ret = neighbour_walk(mm, address, type);
	mmap_read_unlock(mm);
	return ret;
}

static int neighbour_driver_type(struct neighbour_file *file, u64 place, u32 *type)
{
	void __iomem *io;
	int ret = -ENXIO;

	mutex_lock(&file->owner->lock);
	io = neighbour_address(file, place, 1);
	if (io)
		ret = neighbour_kernel_type((unsigned long)io, type);
	mutex_unlock(&file->owner->lock);
	return ret;
}

static int neighbour_linear_type(struct neighbour *n, u64 place, u32 *type)
{
	phys_addr_t start;
	int ret = -ENODEV;

	mutex_lock(&n->lock);
	if (!n->gone && place < pci_resource_len(n->pdev, NEIGHBOUR_BAR)) {
		start = pci_resource_start(n->pdev, NEIGHBOUR_BAR);
		ret = neighbour_kernel_type((unsigned long)__va(start + place), type);
	}
	mutex_unlock(&n->lock);
	return ret;
}

int neighbour_type(struct neighbour_file *file, struct neighbour_type *type)
{
	switch (type->side) {
	case NEIGHBOUR_SIDE_DRIVER:
		return neighbour_driver_type(file, type->place, &type->type);
	case NEIGHBOUR_SIDE_LINEAR:
		return neighbour_linear_type(file->owner, type->place, &type->type);
	case NEIGHBOUR_SIDE_USER:
		return neighbour_user_type(type->place, &type->type);
	default:
		return -EINVAL;
	}
}
