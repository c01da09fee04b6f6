// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generation page of an open file: one 64-bit counter per window slot,
 * changed before the window's access is revoked, addresses of its mappings are
 * free for others, or its slot is reused. A cached registration is checked by
 * one acquire load.
 */
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/mm.h>

#include "compat/compat.h"
#include "vpeer.h"

static_assert(VPEER_MAX_WINDOWS * sizeof(u64) <= PAGE_SIZE);

int vpeer_generation_init(struct vpeer_file *file)
{
	file->generation_page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!file->generation_page)
		return -ENOMEM;
	file->generations = page_address(file->generation_page);
	return 0;
}

void vpeer_generation_exit(struct vpeer_file *file)
{
	__free_page(file->generation_page);
}

/**
 * vpeer_generation_take - take a free slot
 * @file: open file, its aperture's lock held for writing
 *
 * Return: the slot or -EMFILE.
 */
int vpeer_generation_take(struct vpeer_file *file)
{
	unsigned int slot = find_first_zero_bit(file->slots, VPEER_MAX_WINDOWS);

	if (slot == VPEER_MAX_WINDOWS)
		return -EMFILE;
	__set_bit(slot, file->slots);
	vpeer_generation_bump(file, slot);
	return slot;
}

static void vpeer_generation_add(struct vpeer_file *file, unsigned int slot,
				 u64 step)
{
	u64 *generation = &file->generations[slot];

	/* Pairs with user space's acquire load: what follows is seen after. */
	smp_store_release(generation, *generation + step);
}

/**
 * vpeer_generation_bump - access to the window is about to end
 * @file: open file, its aperture's lock held for writing
 * @slot: of the window
 */
void vpeer_generation_bump(struct vpeer_file *file, unsigned int slot)
{
	vpeer_generation_add(file, slot, VPEER_GENERATION_ACCESS);
}

/**
 * vpeer_generation_unmap - some addresses of the window are about to be free
 * @file: open file, its aperture's lock held for writing
 * @slot: of the window
 *
 * Access by what was registered before goes on. So many unmappings that they
 * reach the upper half are taken for its end, which costs no more than time.
 */
void vpeer_generation_unmap(struct vpeer_file *file, unsigned int slot)
{
	vpeer_generation_add(file, slot, 1);
}

void vpeer_generation_give(struct vpeer_file *file, unsigned int slot)
{
	vpeer_generation_bump(file, slot);
	__clear_bit(slot, file->slots);
}

int vpeer_generation_mmap(struct vpeer_file *file, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;

	vpeer_compat_vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP,
				  VM_MAYWRITE | VM_MAYEXEC);
	return vm_insert_page(vma, vma->vm_start, file->generation_page);
}
