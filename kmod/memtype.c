// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory type of an aperture's range, reserved while the aperture or its
 * quarantine lasts. memremap_pages() and every later ioremap() take the type
 * that is reserved, so one reservation keeps all CPU mappings alike; without
 * it the linear map would be write-back wherever the MTRRs allow it.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "vpeer.h"

/* Memory type bits of the kernel's mapping at @addr. */
static pgprotval_t vpeer_type_bits(const void __iomem *addr)
{
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)addr, &level);

	return pte ? pte_val(*pte) & _PAGE_CACHE_MASK : 0;
}

/*
 * Is the range, whose type another may have reserved first, uncached? All are
 * where the kernel has no write-combining, as without PAT.
 */
static int vpeer_type_found(struct vpeer_memtype *type)
{
	pgprotval_t combining = pgprot_val(pgprot_writecombine(__pgprot(0)));
	pgprotval_t uncached = pgprot_val(pgprot_noncached(__pgprot(0)));
	void __iomem *probe = ioremap_wc(type->base, PAGE_SIZE);

	if (!probe)
		return -ENOMEM;
	type->uncached = combining == uncached ||
			 vpeer_type_bits(probe) != (combining & _PAGE_CACHE_MASK);
	iounmap(probe);
	return 0;
}

/**
 * vpeer_memtype_reserve - reserve write-combining, or uncached
 * @type: what to fill
 * @base: physical address
 * @size: bytes
 * @uncached: registers, must not be write-combining
 *
 * A range that another driver maps uncached stays so, and @type tells.
 *
 * Return: 0; -EBUSY if the range is mapped write-back, or has several types;
 * -ENOMEM.
 */
int vpeer_memtype_reserve(struct vpeer_memtype *type, resource_size_t base,
			  u64 size, bool uncached)
{
	int ret;

	type->base = base;
	type->size = size;
	type->uncached = uncached;
	if (uncached) {
		type->anchor = ioremap(base, size);
		return type->anchor ? 0 : -ENOMEM;
	}

	ret = arch_io_reserve_memtype_wc(base, size);
	if (ret)
		return ret;
	ret = vpeer_type_found(type);
	if (ret)
		arch_io_free_memtype_wc(base, size);
	return ret;
}

void vpeer_memtype_free(struct vpeer_memtype *type)
{
	if (type->anchor)
		iounmap(type->anchor);
	else
		arch_io_free_memtype_wc(type->base, type->size);
}
