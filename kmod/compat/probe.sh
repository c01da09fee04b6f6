#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Build-time feature tests: compiles each probe against the kernel the module
# is built for and writes a header with one VPEER_HAVE_* per probe that
# compiles. Called by Kbuild as: probe.sh OUTPUT COMPILER [FLAGS...]
#
# A kernel without what the module cannot do without fails the build here,
# with the reason.

set -eu

out=$1
shift
work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work"' EXIT

strict='-Werror=implicit-function-declaration -Werror=int-conversion
	-Werror=incompatible-pointer-types -Wno-unused -Wno-missing-prototypes'

# probe NAME: compiles standard input
probe()
{
	name=$1
	shift
	cat > "$work/$name.c"
	# shellcheck disable=SC2086
	"$cc" "$@" $strict -c -o "$work/$name.o" "$work/$name.c" \
		> "$work/$name.log" 2>&1
}

cc=$1
shift

have()
{
	probe "$@" || rm -f "$work/$1.o"
}

need()
{
	what=$2
	name=$1
	shift 2
	if ! probe "$name" "$@"; then
		echo "vpeer: this kernel cannot be served: $what" >&2
		[ "$name" != base ] || cat "$work/$name.log" >&2
		exit 1
	fi
}

# Before any other header: those of another architecture may compile with no known compiler.
need architecture 'only x86-64 can reserve the memory type of a BAR' "$@" <<'C'
#include <linux/kconfig.h>
#ifndef CONFIG_X86_64
#error elsewhere the pages of a BAR would be write-back
#endif
C

need base 'its headers do not compile a minimal source file' "$@" <<'C'
#include <linux/module.h>
#include <linux/pci.h>
C

need zone_device 'it needs CONFIG_ZONE_DEVICE and CONFIG_PCI' "$@" <<'C'
#include <linux/kconfig.h>
#if !IS_ENABLED(CONFIG_ZONE_DEVICE) || !IS_ENABLED(CONFIG_PCI)
#error CONFIG_ZONE_DEVICE and CONFIG_PCI must be set
#endif
C

# Windows are mapped by huge pages. A PREEMPT_RT kernel has none.
need huge_pages 'it needs CONFIG_TRANSPARENT_HUGEPAGE' "$@" <<'C'
#include <linux/kconfig.h>
#if !IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE)
#error CONFIG_TRANSPARENT_HUGEPAGE must be set
#endif
C

need compound_pagemap 'it is older than 5.17 (no dev_pagemap.vmemmap_shift)' "$@" <<'C'
#include <linux/memremap.h>
unsigned long shift(struct dev_pagemap *p) { return p->vmemmap_shift; }
C

need dma_buf 'it needs CONFIG_DMA_SHARED_BUFFER' "$@" <<'C'
#include <linux/kconfig.h>
#if !IS_ENABLED(CONFIG_DMA_SHARED_BUFFER)
#error CONFIG_DMA_SHARED_BUFFER must be set
#endif
C

need memory_type 'it has no arch_io_reserve_memtype_wc()' "$@" <<'C'
#include <linux/io.h>
int reserve(resource_size_t a, resource_size_t b)
{
	return arch_io_reserve_memtype_wc(a, b);
}
C

have VM_FLAGS_MOD "$@" <<'C' &
#include <linux/mm.h>
void f(struct vm_area_struct *v) { vm_flags_mod(v, 0, 0); }
C

have RELEASE_FAULT_LOCK "$@" <<'C' &
#include <linux/mm.h>
void f(struct vm_fault *v) { release_fault_lock(v); }
C

have PFN_T "$@" <<'C' &
#include <linux/pfn_t.h>
pfn_t f(phys_addr_t a) { return phys_to_pfn_t(a, PFN_DEV | PFN_MAP); }
C

have INSERT_PAGE_MKWRITE "$@" <<'C' &
#include <linux/mm.h>
#include <linux/huge_mm.h>
vm_fault_t f(struct vm_fault *v, struct page *p)
{
	return vmf_insert_page_mkwrite(v, p, true);
}
vm_fault_t g(struct vm_fault *v, struct folio *p)
{
	return vmf_insert_folio_pmd(v, p, true);
}
C

have VMA_FLAGS_T "$@" <<'C' &
#include <linux/shmem_fs.h>
struct file *f(void) { return shmem_file_setup("", 0, (vma_flags_t){ }); }
C

# An enum and an unsigned int are the same to the compiler in a prototype.
have PAGE_ENTRY_SIZE "$@" <<'C' &
#include <linux/mm.h>
int f(void) { return PE_SIZE_PMD; }
C

have FOLIO_PINCOUNT "$@" <<'C' &
#include <linux/mm.h>
int f(struct folio *folio) { return atomic_read(&folio->_pincount); }
C
wait

have PAGE_FREE "$@" <<'C' &
#include <linux/memremap.h>
void f(struct page *page);
struct dev_pagemap_ops ops = { .page_free = f };
C

have CONST_DEVNODE "$@" <<'C' &
#include <linux/device/class.h>
char *f(const struct device *dev, umode_t *mode);
struct class c = { .devnode = f };
C

have NAMESPACE_TOKEN "$@" <<'C' &
#include <linux/module.h>
MODULE_IMPORT_NS(DMA_BUF);
C

have INVALIDATE_MAPPINGS "$@" <<'C' &
#include <linux/dma-buf.h>
bool f(struct dma_buf_attachment *a)
{
	a->importer_ops->invalidate_mappings(a);
	return dma_buf_attach_revocable(a);
}
C

have RESV_USAGE "$@" <<'C' &
#include <linux/dma-resv.h>
bool f(struct dma_resv *r)
{
	return dma_resv_test_signaled(r, DMA_RESV_USAGE_BOOKKEEP);
}
C

have DRIVER_MANAGED_DMA "$@" <<'C' &
#include <linux/pci.h>
bool f(struct pci_driver *d) { return d->driver_managed_dma; }
C

have DMA_MAP_PHYS "$@" <<'C' &
#include <linux/dma-mapping.h>
dma_addr_t f(struct device *d, phys_addr_t a)
{
	return dma_map_phys(d, a, 1, DMA_BIDIRECTIONAL, DMA_ATTR_MMIO);
}
C

have EVENTFD_SIGNAL_ONE "$@" <<'C' &
#include <linux/eventfd.h>
void f(struct eventfd_ctx *e) { eventfd_signal(e); }
C
wait

have DEVICE_DRIVER_OVERRIDE "$@" <<'C' &
#include <linux/device.h>
int f(struct device *dev) { return device_set_driver_override(dev, "x"); }
C
wait

{
	echo '/* SPDX-License-Identifier: GPL-2.0-only */'
	echo '/* Made by probe.sh. */'
	for name in VMA_FLAGS_T VM_FLAGS_MOD RELEASE_FAULT_LOCK PFN_T \
		    INSERT_PAGE_MKWRITE PAGE_ENTRY_SIZE FOLIO_PINCOUNT PAGE_FREE CONST_DEVNODE \
		    NAMESPACE_TOKEN INVALIDATE_MAPPINGS RESV_USAGE DMA_MAP_PHYS \
		    EVENTFD_SIGNAL_ONE DEVICE_DRIVER_OVERRIDE DRIVER_MANAGED_DMA; do
		if [ -e "$work/$name.o" ]; then
			echo "#define VPEER_HAVE_$name 1"
		fi
	done
} > "$work/features.h"
mv "$work/features.h" "$out"
